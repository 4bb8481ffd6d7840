"""A report page makes the same number of DynamoDB calls for short and long lists."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.cards.authorization import activity_record
from chalicelib.cards.authorization.activity_record import AUTHORIZES
from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.ledger import transaction_record
from chalicelib.cards.reports import addendum_record
from chalicelib.cards.storage.time_ordered import Timeline, shard_of
from chalicelib.foundation.requests.facts import Key
from tests.cards.issuer import EUR, MANAGER, Issuer
from tests.causeway import Causeway
from tests.kit.storage import record_calls

FEW, MANY, PAGE = 100, 1000, 100
SPACING = 10
"""The milliseconds between consecutive rows."""
FIRST = 10**10
"""The number of the first row, which is higher than the number of any other record."""
OWNED = {"manager_id": MANAGER, "access_level": 0}
TRANSACTION = {
    **dict.fromkeys(("account_id", "amount", "holder_amount", "base_rate", "holder_rate"), 1),
    **dict.fromkeys(("transaction_type", "entry_mode", "conversion_fee", "fee"), 0),
    **dict.fromkeys(("currency", "holder_currency"), EUR),
    "direction": "debit",
    "trans_link": "1",
    "mti": 1240,
    "conversion_fee_blended": False,
}


@dataclass(frozen=True)
class Report:
    action: str
    timelines: Callable[[int], list[Timeline]]
    record: Callable[[int], Key]
    members: Callable[[int, int], Mapping[str, Any]]
    of_card: bool = True
    dates: tuple[str, str] = ("date_from", "date_to")

    def key(self, card: int, at: int, number: int) -> Key:
        lists = self.timelines(card)
        found = lists[0] if self.of_card else next(each for each in lists if each.owner == shard_of(MANAGER, number))
        return found.key(at, number)


def message(card: int, number: int) -> Mapping[str, Any]:
    lists = ["activity", "authorize"]
    return {"is_conversion_fee_blended": 0, "blended_fee": 0, "lists": lists, "authorize_id": number, "card_id": card}


def transaction(card: int, number: int) -> Mapping[str, Any]:
    return {**TRANSACTION, "id": number, "card_id": card}


def addendum(card: int, number: int) -> Mapping[str, Any]:
    return {"transaction_id": 1, "addendum_type": "lodging", "data": "{}", "id": number}


REPORTS = {
    "activity of a card": Report(
        "getCardsActivity", lambda card: [activity_record.of_card(card)], Authorization.key, message
    ),
    "activity of all cards": Report(
        "getCardsActivity", lambda _: [*activity_record.of_manager(MANAGER)], Authorization.key, message, of_card=False
    ),
    "authorizations of a card": Report(
        "getFinancialAuthorizes", lambda card: [activity_record.of_card(card, AUTHORIZES)], Authorization.key, message
    ),
    "transactions of a card": Report(
        "getTransactions",
        lambda card: [transaction_record.timeline(None, card)],
        transaction_record.transaction_key,
        transaction,
    ),
    "addendums of all cards": Report(
        "getFinancialDetailAddendums",
        lambda _: [*addendum_record.of_manager(MANAGER)],
        addendum_record.addendum_key,
        addendum,
        of_card=False,
        dates=("date_imported_from", "date_imported_to"),
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_report_pages_make_the_same_dynamodb_calls_for_short_and_long_lists(causeway: Causeway, name: str) -> None:
    issuer, report = Issuer(causeway), REPORTS[name]
    card = issuer.card().card_id
    start = causeway.clock.time() * 1000 - 3_600_000

    calls = []
    for first, last in ((0, FEW), (FEW, MANY)):
        for row in range(first + 1, last + 1):
            put_row(issuer, report, report.key(card, start + row * SPACING, FIRST + row), card, start, row)
        put_row(issuer, report, report.record(FIRST + last // 2), card, start, last // 2)
        calls.append(calls_of_page(issuer, report, card, start // 1000, last))

    expected = {"BatchGetItem": 1, "Query": 1 if report.of_card else 16}
    assert calls == [expected, expected]


def put_row(issuer: Issuer, report: Report, key: Key, card: int, start: int, row: int) -> None:
    table, names = key
    at = start + row * SPACING
    issuer.hub.store.put(table, {**names, **OWNED, "at": at, **report.members(card, FIRST + row)})


def calls_of_page(issuer: Issuer, report: Report, card: int, start: int, rows: int) -> Mapping[str, int]:
    """Return the DynamoDB calls that fetch the page after the middle row of a list."""
    members = dict(zip(report.dates, (start, start + rows), strict=True))
    members |= {"card_id": card} if report.of_card else {}
    with record_calls(issuer.causeway) as calls:
        answer = issuer.do(report.action, **members, item_count=PAGE, last_id=FIRST + rows // 2)
    left = rows - rows // 2
    shown = (len(answer.data), answer.members["has_more_records"])
    assert shown == (min(PAGE, left), "Y" if left > PAGE else "N"), answer.raw[:500]
    return Counter(calls)
