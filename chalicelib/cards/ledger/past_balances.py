"""The settled balance of an account at an earlier time, from its numbered ledger rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chalicelib.cards.ledger.account_record import LedgerAccount
from chalicelib.cards.ledger.entries import movement_key
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.requests.facts import Key

AT_ONCE = 100
"""Rows per read."""


def balance_before(read: Callable[[Sequence[Key]], list[Item | None]], account: LedgerAccount, at: int) -> int:
    """The settled balance before the first movement at or after ``at`` (Unix milliseconds).

    The rows' times grow with their numbers, so each read of ``AT_ONCE`` rows leaves a hundredth of them: two
    reads for 10,000 movements, three for a million.
    """
    first, last, balance = 1, account.movements, 0
    while first <= last:
        step = max(1, -(-(last - first + 1) // AT_ONCE))
        numbers = [*range(first, last + 1, step)][:AT_ONCE]
        rows = read([movement_key(account, number) for number in numbers])
        earlier = [(number, row) for number, row in zip(numbers, rows, strict=True) if row and row["at"] < at]
        if not earlier:
            return balance
        found, row = earlier[-1]
        balance = row["settled"]
        first, last = found + 1, min(last, found + step - 1)
    return balance
