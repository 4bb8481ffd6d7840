"""The whole requests of the reports and of what feeds them, and the rows that they list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.foundation.clock import milliseconds
from tests.cards.issuer import Issuer
from tests.cards.money_requests import LEVEL, Requests
from tests.cards.reports.rows import FEES_APART, WHOLE_MESSAGE, WHOLE_TRANSACTION, message, transaction

if TYPE_CHECKING:
    from tests.cards.whole_requests import Cast

_DATES = {"date_from": 0, "date_to": 99_999_999_999}
_IMPORTED = {f"date_imported_{name[5:]}": value for name, value in _DATES.items()}
_TOLD = {"addendum_type": "lodging", "data": {"check_in": "2026-03-01", "nights": 2}}
_PAGE = {"item_count": 100, **LEVEL}
_OF_ADDENDUMS = ("getFinancialDetailAddendums", "simulateAddendum")

WHOLE: Mapping[str, Requests] = {
    **dict.fromkeys(
        ("getCardsActivity", "getFinancialAuthorizes"),
        lambda cast: [{"card_id": cast.card_id, **_DATES, **_PAGE, "last_id": cast.authorize_id}],
    ),
    "getTransactions": lambda cast: [
        {
            "card_id": cast.card_id,
            "account_id": cast.account_id,
            "transaction_id": cast.transaction_id,
            **_DATES,
            **_PAGE,
            "last_id": cast.earlier_transaction_id,
        },
        {"card_id": cast.card_id, **_DATES, **_PAGE},
    ],
    "getFinancialDetailAddendums": lambda cast: [
        {"transaction_id": cast.transaction_id, **_IMPORTED, **_PAGE, "last_id": cast.addendum_id}
    ],
    "simulateAddendum": lambda cast: [{"transaction_id": cast.transaction_id, **_TOLD, **LEVEL}],
}


def provided(issuer: Issuer, action: str, made: Cast) -> Cast:
    """A cast with the rows that a report lists: one that the page follows, and the richest that there is."""
    at = milliseconds(issuer.clock) - 5000
    if action in ("getCardsActivity", "getFinancialAuthorizes"):
        first = message(issuer, made.card_id, at)
        message(issuer, made.card_id, at + 1, **WHOLE_MESSAGE | FEES_APART)
        return replace(made, authorize_id=first)
    if action not in ("getTransactions", *_OF_ADDENDUMS):
        return made
    first, second = (
        transaction(issuer, made.card_id, made.account_id, at + each, WHOLE_TRANSACTION) for each in (0, 1)
    )
    made = replace(made, transaction_id=second, earlier_transaction_id=first)
    if action != "getFinancialDetailAddendums":
        return made
    told = [issuer.data("simulateAddendum", transaction_id=second, **_TOLD)["id"] for _ in range(2)]
    return replace(made, addendum_id=told[0])
