"""Ways to ask for reports, and to feed one."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.clock import milliseconds
from tests.cards.case import LOOK, QUERY, RESERVE, SHARDS, Case
from tests.cards.issuer import Issuer
from tests.cards.reports.rows import message

DATES = {"date_from": 0, "date_to": 99_999_999_999, "item_count": 2}
IMPORTED = {"date_imported_from": 0, "date_imported_to": 99_999_999_999, "item_count": 2}
LODGING = {"addendum_type": "lodging", "data": {"nights": 2}}


def of_used_card(issuer: Issuer) -> dict[str, Any]:
    card, at = issuer.card().card_id, milliseconds(issuer.clock) - 5000
    first, *_ = (message(issuer, card, at + each) for each in range(3))
    return {"card_id": card, **DATES, "last_id": first}


def of_every_card(issuer: Issuer) -> dict[str, Any]:
    return {name: value for name, value in of_used_card(issuer).items() if name != "card_id"}


def of_account(issuer: Issuer) -> dict[str, Any]:
    return {"account_id": issuer.funded_address(500)["account_id"], **DATES}


def of_card_and_account(issuer: Issuer) -> dict[str, Any]:
    card = issuer.card()
    return {"card_id": card.card_id, "account_id": card.account_id, **DATES}


def of_one(issuer: Issuer) -> dict[str, Any]:
    address = issuer.address()
    came = issuer.inbound(address, 500)
    return {"account_id": address["account_id"], "transaction_id": came["transaction_id"], "item_count": 1}


def of_transaction(**members: Any) -> Any:
    return lambda issuer: {"transaction_id": issuer.inbound(issuer.address(), 500)["transaction_id"], **members}


def of_every_addendum(issuer: Issuer) -> dict[str, Any]:
    """The list over all shows what is a second old."""
    told = issuer.data("simulateAddendum", **of_transaction(**LODGING)(issuer))
    issuer.clock.advance(1)
    return {"last_id": told["id"], **IMPORTED}


PAGE, PAGE_OF_ALL = (LOOK, QUERY), (LOOK, *SHARDS)
REPORT_CASES = [
    Case("getCardsActivity", of_used_card, looks=PAGE, writes=False),
    Case("getCardsActivity of all cards", of_every_card, looks=PAGE_OF_ALL, writes=False),
    Case("getFinancialAuthorizes", of_used_card, looks=PAGE, writes=False),
    Case("getTransactions", of_account, looks=PAGE, writes=False),
    Case("getTransactions of a card and an account", of_card_and_account, looks=PAGE, writes=False),
    Case("getTransactions by its id", of_one, looks=(LOOK, LOOK), writes=False),
    Case("getFinancialDetailAddendums", of_transaction(**IMPORTED), looks=PAGE, writes=False),
    Case("getFinancialDetailAddendums of all", of_every_addendum, looks=PAGE_OF_ALL, writes=False),
    Case("simulateAddendum", of_transaction(**LODGING), looks=(LOOK, RESERVE)),
]
