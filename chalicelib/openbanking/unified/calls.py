"""The unified calls of TPPs. Each row names its unified scope; ``versions`` has the native call of each version."""

from __future__ import annotations

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.webhooks import RelayedCall


@dataclass(frozen=True)
class UnifiedCall(RelayedCall):
    """A unified call that is passed to the bank. ``scope`` is the unified scope that it needs."""

    scope: str


UNIFIED_ACCOUNTS = UnifiedCall("accounts", "GET", "/tpp/unified/accounts", "AISP", "accounts:read")
"""List the PSU's accounts. The accounts that the PSU approved, in the same shape at every bank."""
UNIFIED_ACCOUNT = UnifiedCall("account", "GET", "/tpp/unified/account", "AISP", "accounts:read")
"""Read one account. The details of an account, identified by the ``account_id`` of the list."""
UNIFIED_BALANCES = UnifiedCall("balances", "GET", "/tpp/unified/balances", "AISP", "balances:read")
"""Read an account's balances. One entry per type of balance; banks of version 1 have one balance."""
UNIFIED_TRANSACTIONS = UnifiedCall("transactions", "GET", "/tpp/unified/transactions", "AISP", "transactions:read")
"""List an account's transactions. A page of booked and pending transactions; ``next_cursor`` leads to the next page.
One page of the bank is one page here, so a page may have fewer transactions than ``limit``, or none.
"""
UNIFIED_READS: tuple[UnifiedCall, ...] = (UNIFIED_ACCOUNTS, UNIFIED_ACCOUNT, UNIFIED_BALANCES, UNIFIED_TRANSACTIONS)
