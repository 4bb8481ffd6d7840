"""Balances of an account, as the simulator's answers show them."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.issuing.account_record import LedgerAccount
from chalicelib.cards.requests.request_context import RequestContext


def balances(
    context: RequestContext, account: LedgerAccount, names: Sequence[str] = ("available", "settled")
) -> dict[str, int]:
    """Balances in minor units of the account's currency; 0 for those of an account that the caller may not see."""
    seen = account.access_level <= context.level
    return {f"{name}_balance": getattr(account, name) if seen else 0 for name in names}
