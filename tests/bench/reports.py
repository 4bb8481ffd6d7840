"""Pages of reports from lists of 100 and of 100 000 rows: which calls of DynamoDB each takes, and how long.

The rows are written in batches, with little more than their place: what is in them does not change how they are found.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from chalicelib.bootstrap import Hub
from chalicelib.cards.authorization import activity_record
from chalicelib.cards.authorization.activity_record import AUTHORIZES
from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.ledger import transaction_record
from chalicelib.cards.reports import addendum_record
from chalicelib.cards.storage.time_ordered import Timeline, shard_of
from chalicelib.foundation.aws.calls import Call, send
from chalicelib.foundation.dynamodb.items import pack
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.requests.facts import Key
from tests.bench.against_bare import Service
from tests.cards.issuer import EUR, EVERYDAY, GERMANY, HOLDER_BLOCK, MANAGER
from tests.kit.storage import observe_calls

SIZES = (100, 100_000)
PAGE = 100
ROUNDS = 30
_BATCH, _WRITERS = 25, 8
_SPACING = 10
"""Milliseconds between two rows."""
_FIRST = 10**10
"""The numbers of rows are higher: nothing else has them."""

Row = Mapping[str, Any]
Place = Callable[[int], Timeline]

_MESSAGE = {"is_conversion_fee_blended": 0, "blended_fee": 0, "lists": ["activity", "authorize"]}
_TRANSACTION = {
    "transaction_type": 0,
    "direction": "debit",
    "trans_link": "1",
    "entry_mode": 0,
    "mti": 1240,
    "account_id": 1,
    "amount": 1,
    "currency": EUR,
    "holder_amount": 1,
    "holder_currency": EUR,
    "base_rate": 1,
    "holder_rate": 1,
    "conversion_fee": 0,
    "conversion_fee_blended": False,
    "fee": 0,
}
_ADDENDUM = {"transaction_id": 1, "addendum_type": "lodging", "data": "{}"}


@dataclass(frozen=True)
class Report:
    """A report and its list: where a row of a number stands, what is in it, and where its number leads."""

    name: str
    asked: Mapping[str, Any]
    place: Place
    lead: Callable[[int], Key]
    row: Callable[[int], Row]
    dates: tuple[str, str] = ("date_from", "date_to")


@dataclass(frozen=True)
class Page:
    """What a page took: the calls of DynamoDB, and the median of its milliseconds."""

    calls: Mapping[str, int]
    milliseconds: float

    def __str__(self) -> str:
        calls = " + ".join(f"{count} {name}" for name, count in self.calls.items())
        return f"{calls}, {self.milliseconds:5.1f} ms"


class Reports(Service):
    """The reports of a programme manager; their lists have ``rows`` each."""

    def __init__(self, hub: Hub, credentials: Mapping[str, str]) -> None:
        super().__init__(hub, credentials)
        self.rows = 0
        self.every = _reports(self.data("createCard", **_NEW_CARD)["card_id"])
        self._start = int(hub.clock.time()) * 1000 - SIZES[-1] * _SPACING - 3_600_000

    def fill(self, rows: int) -> None:
        """Have every list so many rows; the number of the one in the middle leads there."""
        for report in self.every:
            with ThreadPoolExecutor(_WRITERS) as pool:
                list(pool.map(self._write, pieces([*self._items(report, rows)], _BATCH)))
        self.rows = rows

    def page(self, report: Report, rounds: int = ROUNDS) -> Page:
        """A page from the middle of a list. Raises: AssertionError, unless it is full, or all that is left."""
        span = self._start // 1000, self._at(self.rows) // 1000
        members = {**report.asked, **dict(zip(report.dates, span, strict=True)), "item_count": PAGE}
        members["last_id"] = _FIRST + _middle(self.rows)
        took: list[float] = []
        with _counted(self._hub) as calls:
            for _ in range(rounds):
                started = time.perf_counter()
                answer = self._ask(report.name.partition(" ")[0], **members)
                took.append((time.perf_counter() - started) * 1000)
        left = self.rows - _middle(self.rows)
        if (len(answer["data"]), answer["has_more_records"]) != (min(PAGE, left), "Y" if left > PAGE else "N"):
            raise AssertionError(f"{report.name}: {len(answer['data'])} rows")
        return Page({name: count // rounds for name, count in calls.items()}, statistics.median(took))

    # -- inside

    def _at(self, row: int) -> int:
        return self._start + row * _SPACING

    def _items(self, report: Report, rows: int) -> Iterator[tuple[str, Any]]:
        """The new rows of a list, and where the number of its middle leads."""
        for row in range(self.rows + 1, rows + 1):
            table, key = report.place(_FIRST + row).key(self._at(row), _FIRST + row)
            yield table, {**key, **_SEEN, "at": self._at(row), **report.row(_FIRST + row)}
        middle = _middle(rows)
        table, key = report.lead(_FIRST + middle)
        yield table, {**key, **_SEEN, "at": self._at(middle), **report.row(_FIRST + middle)}

    def _write(self, items: Sequence[tuple[str, Any]]) -> None:
        asked: dict[str, list[Any]] = {}
        for table, item in items:
            asked.setdefault(f"{self._hub.settings.prefix}-{table}", []).append({"PutRequest": {"Item": pack(item)}})
        while asked:
            asked = send("dynamodb", "BatchWriteItem", {"RequestItems": asked}).get("UnprocessedItems") or {}


def _middle(rows: int) -> int:
    return (rows + 1) // 2


@contextlib.contextmanager
def _counted(hub: Hub) -> Iterator[Counter[str]]:
    """How many calls of DynamoDB are made inside, by their names."""
    made = Counter[str]()

    def note(call: Call) -> None:
        made[call.operation] += 1

    with observe_calls(note):
        yield made


_SEEN = {"manager_id": MANAGER, "access_level": 0}
_NEW_CARD = {"card_program_id": EVERYDAY, "card_country_ison": GERMANY, "card_virtual": 1, "card_name_line_3": "BENCH"}
_NEW_CARD |= HOLDER_BLOCK


def _reports(card: int) -> Sequence[Report]:
    def message(number: int) -> Row:
        return {**_MESSAGE, "authorize_id": number, "card_id": card}

    def over_all(lists: Sequence[Timeline]) -> Place:
        return lambda number: next(each for each in lists if each.owner == shard_of(MANAGER, number))

    of_card, over_cards = {"card_id": card}, over_all(activity_record.of_manager(MANAGER))
    lead = Authorization.key
    return [
        Report("getCardsActivity", of_card, lambda _: activity_record.of_card(card), lead, message),
        Report("getCardsActivity of all cards", {}, over_cards, lead, message),
        Report("getFinancialAuthorizes", of_card, lambda _: activity_record.of_card(card, AUTHORIZES), lead, message),
        Report(
            "getTransactions",
            of_card,
            lambda _: transaction_record.timeline(None, card),
            transaction_record.transaction_key,
            lambda number: {**_TRANSACTION, "id": number, "card_id": card},
        ),
        Report(
            "getFinancialDetailAddendums",
            {},
            over_all(addendum_record.of_manager(MANAGER)),
            addendum_record.addendum_key,
            lambda number: {**_ADDENDUM, "id": number},
            ("date_imported_from", "date_imported_to"),
        ),
    ]


def compared(reports: Reports, sizes: Sequence[int] = SIZES, rounds: int = ROUNDS) -> Mapping[str, list[Page]]:
    """A page of every report from lists of every size."""
    pages: dict[str, list[Page]] = {report.name: [] for report in reports.every}
    for size in sizes:
        reports.fill(size)
        for report in reports.every:
            pages[report.name].append(reports.page(report, rounds))
    return pages
