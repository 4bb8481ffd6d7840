"""Balances of an account, as the simulator's answers show them."""

from __future__ import annotations

from chalicelib.cards.issuing.account_record import LedgerAccount
from chalicelib.cards.protocol.simulator_messages import Balances
from chalicelib.cards.requests.request_context import RequestContext


def balances(context: RequestContext, account: LedgerAccount) -> Balances:
    """Balances in minor units of the account's currency; 0 for those of an account that the caller may not see."""
    if account.access_level > context.level:
        return {"available_balance": 0, "settled_balance": 0}
    return {"available_balance": account.available, "settled_balance": account.settled}
