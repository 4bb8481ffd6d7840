"""The unified calls of TPPs. Each row names its unified scope.

``versions`` has the native call of each read in each version. The native call of a payment is that of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol import webhooks
from chalicelib.openbanking.protocol.webhooks import BULK_PAYMENT, PAYMENTS, RELAYED, PaymentCall, RelayedCall


@dataclass(frozen=True)
class UnifiedCall(RelayedCall):
    """A unified call that is passed to the bank. ``scope`` is the unified scope that it needs."""

    scope: str


@dataclass(frozen=True, slots=True)
class UnifiedPaymentCall(PaymentCall):
    """A kind of unified payment. ``scope`` is the unified scope that it needs, ``None`` without a consent."""

    scheme_member: ClassVar[str] = "scheme"

    scope: str | None = None


def unified_scope(call: RelayedCall | PaymentCall) -> str | None:
    """Return the unified scope that a call needs; ``None`` for a native call."""
    return call.scope if isinstance(call, UnifiedCall | UnifiedPaymentCall) else None


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
UNIFIED_FUNDS = UnifiedCall("funds_confirmations", "POST", "/tpp/unified/funds_confirmations", "CBPII", "funds:read")
"""Confirm the availability of funds. The account may have all identifiers that the list of accounts returned; each bank
gets those that its version takes.
"""
UNIFIED_READS: tuple[UnifiedCall, ...] = (
    UNIFIED_ACCOUNTS,
    UNIFIED_ACCOUNT,
    UNIFIED_BALANCES,
    UNIFIED_TRANSACTIONS,
    UNIFIED_FUNDS,
)
UNIFIED_PAYMENT = UnifiedPaymentCall("single", "/tpp/unified/payments", scope="payments:write")
"""Initiate a payment. Returns the bank's URL where the PSU confirms the payment; open it in the PSU's browser. The
redirect to ``callback_url`` comes from the bank and can be forged, so check the status with
``GET /tpp/unified/payments``. A member that the bank's version cannot carry is refused before anything is sent.
"""
UNIFIED_BULK_PAYMENT = UnifiedPaymentCall(
    "bulk", "/tpp/unified/bulk_payments", BULK_PAYMENT.body_bytes, scope="bulk_payments:write"
)
"""Initiate a bulk payment. Up to 1000 payments in one currency that the PSU confirms together."""
UNIFIED_DIRECT_PAYMENT = UnifiedPaymentCall("direct", "/tpp/unified/direct_payments")
"""Initiate a payment without a consent. Like a payment, at the bank identified by ``bic``. No bearer is needed, because
the PSU authorizes the payment directly at the bank.
"""
UNIFIED_PAYMENTS: tuple[UnifiedPaymentCall, ...] = (UNIFIED_PAYMENT, UNIFIED_BULK_PAYMENT, UNIFIED_DIRECT_PAYMENT)
UNIFIED_STATUS_PATH = UNIFIED_PAYMENT.path
"""Read a payment's status. The same statuses at every bank, also of a payment that was made with a native call: at
banks of version 2 the current status, requested from the bank, and at banks of version 1 the last reported one. For a
direct payment, pass ``bic`` and no bearer. With ``request_id`` instead of ``payment_id``, the payment is found by the
X-Request-Id of its order, for 90 days.
"""
READS: tuple[RelayedCall, ...] = (*RELAYED, *UNIFIED_READS)
"""The native and the unified reads."""
INITIATIONS: Mapping[str, PaymentCall] = {call.path: call for call in (*PAYMENTS, *UNIFIED_PAYMENTS)}
"""The native and the unified initiations of payments, by path."""
NEEDING_TOKEN = webhooks.NEEDING_TOKEN | {
    *(call.path for call in UNIFIED_READS),
    *(call.path for call in UNIFIED_PAYMENTS if call.scope is not None),
}
"""The paths of calls that need an access token; a payment's status needs none after a direct payment."""
