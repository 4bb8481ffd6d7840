"""Tests of lists of all cards with late commits: no page skips a row that can still be committed."""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.storage.reserved_rows import (
    ABANDONED_AFTER,
    AHEAD,
    CONFIRMED_WITHIN,
    MARK_RETENTION,
    cancel_abandoned,
)
from chalicelib.cards.storage.time_ordered import CANCELLED, RESERVED_BY
from chalicelib.foundation.dynamodb.store import (
    ConditionFailed,
    Conflict,
    Item,
    Operation,
    Put,
    Store,
    StoreUnavailable,
)
from tests.cards.case import SHARDS
from tests.cards.issuer import EUR, Envelope, Issuer
from tests.cards.reports.test_addendum_record import LODGING
from tests.kit.storage import record_calls

PAGE = 3


@dataclass
class Poller:
    """A client that reads pages of a list of all cards. The list starts at the time of the client's first request."""

    issuer: Issuer
    action: str
    name: str
    dates: dict[str, Any]
    seen: list[int] = field(default_factory=list)

    def poll(self, **members: Any) -> list[int]:
        last = {"last_id": self.seen[-1]} if self.seen else {}
        rows = self.issuer.data(self.action, **{"item_count": PAGE} | self.dates | last | members)
        self.seen += (new := [int(row[self.name]) for row in rows])
        return new

    def follow(self) -> list[int]:
        before = len(self.seen)
        while self.poll():
            pass
        return self.seen[before:]


class NotWritten(Exception):
    """An error that is raised when a write returns an error."""


@dataclass
class ListOfAll:
    """A list of all cards. ``write`` adds a row and returns the row id. ``rival`` adds a row in a second process.

    Both functions raise ``NotWritten`` if the write returns an error.
    """

    poller: Poller
    write: Callable[[], int]
    rival: Callable[[], int]


def activity(issuer: Issuer) -> ListOfAll:
    cards = [issuer.spendable(900_00) for _ in range(2)]
    others = issuer.another_process()

    def advise(where: Issuer, card: Any) -> int:
        use = {"card_id": card.card_id, "transaction_type": 0, "amount": 100, "currency_ison": EUR}
        return _written(where.sim("simulateAdvice", response_code="00", **use), "authorize_id")

    issuer.clock.advance(5)
    dates = {"date_from": issuer.clock.time(), "date_to": issuer.clock.time() + 36_000}
    poller = Poller(issuer, "getCardsActivity", "authorize_id", dates)
    return ListOfAll(poller, lambda: advise(issuer, cards[0]), lambda: advise(others, cards[1]))


def addendums(issuer: Issuer) -> ListOfAll:
    booked = [issuer.inbound(issuer.address(), 1000)["transaction_id"] for _ in range(2)]
    others = issuer.another_process()

    def tell(where: Issuer, number: int) -> int:
        members = {"transaction_id": number, "addendum_type": "lodging", "data": LODGING}
        return _written(where.sim("simulateAddendum", **members), "id")

    issuer.clock.advance(5)
    dates = {"date_imported_from": issuer.clock.time(), "date_imported_to": issuer.clock.time() + 36_000}
    poller = Poller(issuer, "getFinancialDetailAddendums", "id", dates)
    return ListOfAll(poller, lambda: tell(issuer, booked[0]), lambda: tell(others, booked[1]))


@pytest.fixture(params=[activity, addendums], ids=["activity of all cards", "addendums of all"])
def listed(request: pytest.FixtureRequest, issuer: Issuer) -> ListOfAll:
    of_all: ListOfAll = request.param(issuer)
    return of_all


@contextlib.contextmanager
def landing(after: Callable[[], None]) -> Iterator[None]:
    """Delay each transaction until ``after`` has run. Transactions in ``after`` are not delayed."""
    transact = Store.transact

    def late(self: Store, operations: Sequence[Operation]) -> None:
        with patch.object(Store, "transact", transact):
            after()
        transact(self, operations)

    with patch.object(Store, "transact", late):
        yield


@pytest.mark.parametrize("seconds", [3, 10, 14.5])
def test_a_row_that_is_committed_late_is_listed_on_a_later_page(
    issuer: Issuer, listed: ListOfAll, seconds: float
) -> None:
    poller, others = listed.poller, []

    def go_on() -> None:
        for _ in range(3):
            others.append(listed.rival())
            issuer.clock.advance(seconds / 3)
            poller.poll()

    with landing(go_on):
        late = listed.write()
    issuer.clock.advance(2)
    poller.follow()

    assert sorted(poller.seen) == sorted([late, *others])


def test_a_list_stops_before_a_row_that_is_being_written(issuer: Issuer, listed: ListOfAll) -> None:
    poller, shown = listed.poller, []

    def look() -> None:
        listed.rival()
        issuer.clock.advance(5)
        shown.append(poller.poll())

    first = listed.rival()
    issuer.clock.advance(0.1)
    with landing(look):
        listed.write()

    assert shown == [[first]]


def test_a_page_reports_more_records_while_a_row_in_the_date_range_is_being_written(
    issuer: Issuer, listed: ListOfAll
) -> None:
    until, more = issuer.clock.time() + 1, list[str]()
    ends = {name: until if name.endswith("to") else value for name, value in listed.poller.dates.items()}

    def look() -> str:
        more.append(issuer.do(listed.poller.action, **ends | {"item_count": PAGE}).members["has_more_records"])
        return more[-1]

    def look_later() -> None:
        issuer.clock.advance(5)
        look()

    with landing(look_later):
        listed.write()

    assert [*more, look()] == ["Y", "N"]


@pytest.mark.parametrize("seconds", [0, 5, 14])
def test_a_transaction_with_a_lost_storage_response_is_listed_after_the_commit(
    issuer: Issuer, listed: ListOfAll, seconds: float
) -> None:
    with sent_but_not_applied() as sent, contextlib.suppress(NotWritten):
        listed.write()
    other = listed.rival()
    issuer.clock.advance(seconds)
    listed.poller.follow()

    issuer.hub.store.transact(sent[-1])
    issuer.clock.advance(2)
    listed.poller.follow()

    assert len(listed.poller.seen) == len(set(listed.poller.seen)) == 2
    assert other in listed.poller.seen


def test_a_list_waits_15_seconds_for_the_row_of_a_failed_writer_and_then_rejects_the_row(
    issuer: Issuer, listed: ListOfAll
) -> None:
    with sent_but_not_applied() as sent, contextlib.suppress(NotWritten):
        listed.write()
    other = listed.rival()

    issuer.clock.advance(ABANDONED_AFTER / 1000 - 0.01)
    assert listed.poller.follow() == []
    issuer.clock.advance(0.01)
    assert listed.poller.follow() == []
    assert listed.poller.follow() == [other]

    with pytest.raises(ConditionFailed):
        issuer.hub.store.transact(sent[-1])
    issuer.clock.advance(60)
    assert listed.poller.follow() == []


def test_cancelling_the_row_of_a_failed_writer_requires_one_additional_round_trip(
    issuer: Issuer, listed: ListOfAll
) -> None:
    calls = []
    issuer.clock.advance(61)
    listed.poller.poll()  # reads anew what is cached for a minute
    with sent_but_not_applied(), contextlib.suppress(NotWritten):
        listed.write()
    for seconds in (5, 10, 1):
        issuer.clock.advance(seconds)
        with record_calls(issuer.causeway) as made:
            listed.poller.poll()
        calls.append(made)

    assert calls == [[*SHARDS], [*SHARDS, "PutItem"], [*SHARDS]]


def test_a_transaction_slower_than_15_seconds_fails_and_its_row_is_never_listed(
    issuer: Issuer, listed: ListOfAll
) -> None:
    """A request retries a transaction for at most ten seconds."""

    def look() -> None:
        issuer.clock.advance(ABANDONED_AFTER / 1000)
        listed.poller.follow()

    with landing(look), pytest.raises(NotWritten):
        listed.write()
    issuer.clock.advance(2)

    assert listed.poller.follow() == []
    after = listed.write()
    issuer.clock.advance(2)
    assert listed.poller.follow() == [after]


def test_a_request_reserves_a_new_row_after_a_cancelled_reservation(issuer: Issuer, listed: ListOfAll) -> None:
    """A second process with a clock that is ahead cancels the first reservation."""
    cancel = [lambda: cancel_abandoned(issuer.hub.store, "card-activity", reserved_rows(issuer), 10**13)]
    with landing(lambda: cancel.pop()() if cancel else None):
        row = listed.write()
    issuer.clock.advance(2)

    assert listed.poller.follow() == [row]


@pytest.mark.parametrize("milliseconds", [CONFIRMED_WITHIN, CONFIRMED_WITHIN + 1, 8_000])
def test_a_row_with_a_late_reservation_is_not_skipped(issuer: Issuer, listed: ListOfAll, milliseconds: int) -> None:
    """A page that is read before the reservation exists does not contain the reservation."""
    other = listed.rival()
    with slow_reservations(issuer, milliseconds, listed.poller.follow):
        late = listed.write()
    issuer.clock.advance(20)
    listed.poller.follow()

    assert sorted(listed.poller.seen) == sorted([late, other])


def test_a_failed_write_whose_reservations_are_confirmed_late_leaves_no_reservation(
    issuer: Issuer, listed: ListOfAll
) -> None:
    before = reserved_rows(issuer)
    with late_confirmations(issuer), pytest.raises(NotWritten, match="8003"):
        listed.write()

    assert reserved_rows(issuer) == before
    other = listed.rival()
    issuer.clock.advance(2)
    assert listed.poller.follow() == [other]


def test_the_cancellation_mark_of_a_row_that_was_not_written_expires_after_a_day(
    issuer: Issuer, listed: ListOfAll
) -> None:
    with patch.object(Store, "transact", side_effect=Conflict("busy")), pytest.raises(NotWritten):
        listed.write()

    marks = [row for row in issuer.hub.store.scan("card-activity") if CANCELLED in row]
    assert marks
    assert {row["expires_at"] - int(row["part"].split("#")[1]) // 1000 for row in marks} == {MARK_RETENTION}


def test_a_request_that_fails_with_conflicts_leaves_no_reservation(issuer: Issuer, listed: ListOfAll) -> None:
    with patch.object(Store, "transact", side_effect=Conflict("busy")), pytest.raises(NotWritten):
        listed.write()
    other = listed.rival()
    issuer.clock.advance(2)

    assert listed.poller.follow() == [other]


def test_a_request_for_a_card_number_above_the_access_level_leaves_no_reservation(issuer: Issuer) -> None:
    listed, card = activity(issuer), issuer.card_in("A", access_level=30)
    use = {"pan": card.pan, "transaction_type": 0, "amount": 1, "currency_ison": EUR, "access_level": 0}
    assert issuer.sim("simulateAuthorization", **use).data["response_code"] == "14"
    assert issuer.sim("simulateAdvice", response_code="00", **use).status_code == 3002
    other = listed.rival()
    issuer.clock.advance(2)

    assert listed.poller.follow() == [other]


@pytest.mark.parametrize("seed", range(6))
def test_pages_list_every_row_once_although_rows_are_committed_late_or_never(
    issuer: Issuer, listed: ListOfAll, seed: int
) -> None:
    dice, poller = random.Random(seed), listed.poller
    written: list[int] = []
    pending: list[Sequence[Operation]] = []

    def meanwhile() -> None:
        written.extend(listed.rival() for _ in range(dice.randint(0, 3)))
        issuer.clock.advance(dice.choice((0, 0.2, 1, 3, 9)))
        poller.poll()

    def land() -> None:
        for operations in pending:
            with contextlib.suppress(ConditionFailed):
                issuer.hub.store.transact(operations)
                written.extend(_numbers(operations))
        pending.clear()

    for _ in range(20):
        if dice.random() < 0.3:
            with sent_but_not_applied() as sent, contextlib.suppress(NotWritten):
                listed.write()
            pending += sent[-1:]
        else:
            with landing(meanwhile):
                written.append(listed.write())
        if dice.random() < 0.3:
            land()
        meanwhile()
    land()
    for _ in range(4):
        issuer.clock.advance(20)
        poller.follow()

    assert len(poller.seen) == len(set(poller.seen))
    assert sorted(poller.seen) == sorted(written)


# -- internals


def _written(answer: Envelope, name: str) -> int:
    if answer.status != "success":
        raise NotWritten(answer.raw)
    return int(answer.data[name])


@contextlib.contextmanager
def sent_but_not_applied() -> Iterator[list[Sequence[Operation]]]:
    """Lose every transaction before storage applies the transaction. Yield the lost transactions."""
    sent: list[Sequence[Operation]] = []

    def lose(self: Store, operations: Sequence[Operation]) -> None:
        sent.append(operations)
        raise StoreUnavailable("lost")

    with patch.object(Store, "transact", lose):
        yield sent


@contextlib.contextmanager
def slow_reservations(issuer: Issuer, milliseconds: int, meanwhile: Callable[[], object]) -> Iterator[None]:
    """Delay the first reservation by ``milliseconds``. Run ``meanwhile`` during the delay."""
    put, slow = Store.put, [True]

    def slowly(self: Store, table: str, item: Item, condition: Any = None) -> None:
        if RESERVED_BY in item and slow:
            slow.clear()
            issuer.clock.advance(milliseconds / 1000)
            meanwhile()
        put(self, table, item, condition)

    with patch.object(Store, "put", slowly):
        yield


@contextlib.contextmanager
def late_confirmations(issuer: Issuer) -> Iterator[None]:
    """Confirm each reservation only after readers have stopped waiting for the reservation."""
    put, transact = Store.put, Store.transact

    def wait(is_reserving: bool) -> None:
        issuer.clock.advance((AHEAD + CONFIRMED_WITHIN + 1) / 1000 if is_reserving else 0)

    def put_late(self: Store, table: str, item: Item, condition: Any = None) -> None:
        put(self, table, item, condition)
        wait(RESERVED_BY in item)

    def transact_late(self: Store, operations: Sequence[Operation]) -> None:
        transact(self, operations)
        wait(any(isinstance(each, Put) and RESERVED_BY in each.item for each in operations))

    with patch.object(Store, "put", put_late), patch.object(Store, "transact", transact_late):
        yield


def reserved_rows(issuer: Issuer) -> list[Item]:
    return [row for row in issuer.hub.store.scan("card-activity") if RESERVED_BY in row]


def _numbers(operations: Sequence[Operation]) -> list[int]:
    [row] = [each.item for each in operations if isinstance(each, Put) and each.item["owner"].startswith("manager#")]
    return [int(row["part"].split("#")[2])]
