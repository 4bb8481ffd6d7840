"""Storage faults during card use: no hold, booking, count or report is duplicated or lost."""

import contextlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from chalicelib.cards.authorization import hold_release
from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.storage.reserved_rows import AHEAD
from chalicelib.cards.storage.time_ordered import RESERVED_BY
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, Store, StoreError, StoreUnavailable
from tests.cards.case import Case
from tests.cards.cases import NETWORK_CASES, REPORT_CASES, warmed
from tests.cards.fault_runs import MANNERS, NETWORK, REPEATED, WITHOUT, CaseRun, Targets, failed
from tests.cards.issuer import EUR, MANAGER, Envelope, Issuer, NewCard
from tests.cards.slow_storage import SlowStorage, every
from tests.cards.stored_cards import TABLES, check, shape
from tests.causeway import Causeway
from tests.kit.source_code import within
from tests.openbanking.call_sites import CARDS, STORE, call_sites
from tests.openbanking.faults import Fault, Snapshot, items

pytestmark = pytest.mark.faults

TARGETS = Targets()
_HOLD_SECONDS = 7 * 24 * 3600
_UNTIL_IT_IS_TRIED_AGAIN = 61


@pytest.fixture
def issuer(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Issuer:
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    return Issuer(causeway)


class NetworkRun(CaseRun):
    """A run of a network or report case. A retry returns exactly the same response."""

    tables = TABLES

    def _shape(self) -> list[str]:
        return shape(self._causeway)

    def _check(self) -> None:
        check(self._causeway, self._known)

    def _is_late(self, answer: Envelope, fault: Fault) -> bool:
        """Return whether the request got code 91.

        After code 91, check that a worker records the decline and releases the hold.
        """
        if not (
            self._case.name.startswith("simulateAuthorization") and (answer.data or {}).get("response_code") == "91"
        ):
            return False
        assert fault.lasting, "what fails once is repaired"
        for _ in range(2):
            work(self._causeway)
        self._check()
        if self._manner == REPEATED:
            assert self._shape() == self._after, "a repeat is no other authorization"
            return True
        assert _held(self._causeway) == self._held_before
        if self._manner != WITHOUT:
            repeats = [self._do().raw for _ in range(2)]
            assert repeats == [answer.raw.replace('"duplicated":0', '"duplicated":1', 1)] * 2
        return True

    def _begin(self) -> None:
        super()._begin()
        self._causeway.queued()
        self._held_before = _held(self._causeway)

    def _repeated(self, answer: Envelope) -> None:
        super()._repeated(answer)
        repeats = [self._do().raw for _ in range(2)]
        assert repeats[0] == repeats[1]
        if not failed(answer):
            assert repeats[0] == answer.raw.replace('"duplicated":0', '"duplicated":1', 1)


def work(causeway: Causeway) -> None:
    for task in causeway.queued():
        for _ in range(2):
            causeway.hub.delivery.worker.attempt(task)


def _held(causeway: Causeway) -> int:
    return sum(row["held"] for row in items(causeway, "cards") if row["part"] == "account")


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", NETWORK_CASES + REPORT_CASES, ids=str)
def test_a_storage_fault_neither_loses_nor_duplicates_a_network_write(issuer: Issuer, case: Case, manner: str) -> None:
    TARGETS.run(f"{case} {manner}", NetworkRun(issuer, case, manner), issuer.causeway)


# -- people of the programme manager look at it


class Look(NamedTuple):
    name: str
    action: str
    members: Callable[[NewCard, Issuer], Mapping[str, Any]]


LOOKS = (
    Look("the cards", "listCards", lambda card, issuer: {"item_count": 20}),
    Look(
        "the cards with the end of a number",
        "listCards",
        lambda card, issuer: {"item_count": 20, "last_four": card.pan[-4:]},
    ),
    Look("a card", "showCard", lambda card, issuer: {"card_id": card.card_id, "item_count": 10, "balance_count": 10}),
    Look("activity", "listActivity", lambda card, issuer: {"item_count": 10}),
    Look("activity that was approved", "listActivity", lambda card, issuer: {"item_count": 10, "approved": 1}),
    Look(
        "a statement",
        "showStatement",
        lambda card, issuer: {"card_id": card.card_id, "date_from": 0, "date_to": issuer.clock.time()},
    ),
)


class DeskRun:
    """A run of a portal page about used cards. The run returns the complete page or an error."""

    def __init__(self, issuer: Issuer, look: Look) -> None:
        card = issuer.spendable(500)
        issuer.clearing(issuer.purchase(card.card_id, 300), 100, final=0)
        self._portal, self._action, self._members = issuer.hub.cards.portal, look.action, look.members(card, issuer)
        self.untouched = Fault(issuer.causeway)
        with self.untouched:
            self._seen = self._see()
        assert self._seen["data"]

    def with_fault(self, fault: Fault) -> None:
        with fault:
            if not fault.lasting:
                assert self._see() == self._seen
                return
            with pytest.raises(Refused) as refusal:
                self._see()
        assert refusal.value.status is Status.INTERNAL

    def _see(self) -> Mapping[str, Any]:
        return self._portal.read(MANAGER, self._action, **self._members)


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_a_storage_fault_returns_the_whole_portal_page_or_an_error(issuer: Issuer, look: Look) -> None:
    TARGETS.run(look.name, DeskRun(issuer, look), issuer.causeway)


# -- the schedule


def a_hold(issuer: Issuer) -> None:
    issuer.purchase(issuer.spendable(500).card_id, 300)


def a_hold_that_was_collected_in_part(issuer: Issuer) -> None:
    asked = issuer.purchase(issuer.spendable(500).card_id, 300)
    issuer.clearing(asked, 100, final=0)


def holds_of_two_cards(issuer: Issuer) -> None:
    for amount in (300, 100):
        issuer.purchase(issuer.spendable(500).card_id, amount)


def a_hold_that_cannot_be_released(issuer: Issuer) -> None:
    a_hold(issuer)


def a_late_decline(issuer: Issuer) -> None:
    card, read, delays = issuer.spendable(500), Store.batch_get, [2.1]

    def read_slowly(self: Store, keys: Any) -> Any:
        found = read(self, keys)
        issuer.clock.advance(delays.pop() if delays else 0)
        return found

    with patch.object(Store, "batch_get", read_slowly):
        assert issuer.purchase(card.card_id, 300)["response_code"] == "91"


DUE: dict[Callable[[Issuer], None], int] = {
    a_late_decline: 1,
    a_hold: 1,
    a_hold_that_was_collected_in_part: 1,
    holds_of_two_cards: 2,
    a_hold_that_cannot_be_released: 0,
}
"""Functions that create holds or late declines. Each value is the number of items that the scheduled job then
completes.
"""
_USE = {"transaction_type": 0, "amount": 1, "currency_ison": EUR}
LISTS: Mapping[str, Sequence[float]] = {
    "a page after a writer died": [],
    "a page after a slow reservation": [2],
    "a page after two slow reservations": [2, AHEAD / 1000 + 1],
}
"""The delays of the first reservations of a row in each case, in seconds."""


class Run:
    """A run of the scheduled job with expired holds. The run sends events to the programme manager."""

    def __init__(self, issuer: Issuer, due: Callable[[Issuer], None]) -> None:
        self._issuer, self._due = issuer, due
        warmed(issuer)
        due(issuer)
        issuer.clock.advance(_HOLD_SECONDS)
        issuer.hub.cards.programmes.catalogue(MANAGER)
        self._beginning = Snapshot(issuer.causeway, TABLES)
        self.untouched = Fault(issuer.causeway)
        assert self._expire(self.untouched) == DUE[due]
        self._settle()
        self._after = self._shape()

    def with_fault(self, fault: Fault) -> None:
        self._beginning.restore()
        with contextlib.suppress(StoreError) if fault.lasting else contextlib.nullcontext():
            self._expire(fault)
        self._settle()
        assert self._shape() == self._after
        check(self._issuer.causeway)

    def _expire(self, fault: Fault) -> int:
        broken = patch.object(hold_release, "release", side_effect=ArithmeticError("something is wrong with it"))
        is_broken = self._due is a_hold_that_cannot_be_released
        with broken if is_broken else contextlib.nullcontext(), fault:
            return self._issuer.hub.cards.call(expire_holds)

    def _shape(self) -> list[str]:
        return [re.sub(r'"(updated_at|last_at)": \d+', "", row) for row in shape(self._issuer.causeway)]

    def _settle(self) -> None:
        """Run the scheduled job three times, so that postponed holds are also released."""
        for _ in range(3):
            self._issuer.clock.advance(_UNTIL_IT_IS_TRIED_AGAIN)
            self._issuer.hub.cards.call(expire_holds)


@pytest.mark.parametrize("due", DUE)
def test_the_scheduled_job_releases_an_expired_hold_once_despite_storage_faults(
    issuer: Issuer, due: Callable[[Issuer], None]
) -> None:
    with issuer.causeway.manager_wants_events():
        TARGETS.run(due.__name__, Run(issuer, due), issuer.causeway)


# -- a worker that records what a request could not


RECOVERIES = tuple(itertools.product((False, True), repeat=2))
"""Combinations of two flags: whether storage wrote the hold late, and whether the request used the card number."""


class Recovery:
    """A run of a worker that receives the decline of an authorization.

    Storage wrote the authorization late or not at all.
    """

    def __init__(self, issuer: Issuer, *, by_number: bool, lands: bool) -> None:
        self._issuer = issuer
        card = warmed(issuer).spendable(500)
        named = {"pan": card.pan} if by_number else {"card_id": card.card_id}
        issuer.causeway.queued()
        lost = every("later", "TransactWriteItems") if lands else every("never", "TransactWriteItems")
        with SlowStorage(issuer, lost) as storage:
            answer = issuer.authorization(
                transaction_type=0, amount=300, request_reference_id=issuer.reference(), **named
            )
            storage.land()
        assert answer["response_code"] == "91"
        [self._task] = issuer.causeway.queued()
        self._beginning = Snapshot(issuer.causeway, TABLES)
        self.untouched = Fault(issuer.causeway)
        with self.untouched:
            self._work()
        self._after = self._shape()
        assert _held(issuer.causeway) == 0

    def with_fault(self, fault: Fault) -> None:
        self._beginning.restore()
        with contextlib.suppress(StoreError), fault:
            self._work()
        for _ in range(2):
            self._work()
        assert self._shape() == self._after
        check(self._issuer.causeway)

    def _work(self) -> None:
        self._issuer.hub.delivery.worker.attempt(self._task)

    def _shape(self) -> list[str]:
        return [row for row in shape(self._issuer.causeway) if RESERVED_BY not in row]


@pytest.mark.parametrize(("lands", "by_number"), RECOVERIES)
def test_a_worker_records_a_decline_once_despite_storage_faults(issuer: Issuer, lands: bool, by_number: bool) -> None:
    with issuer.causeway.manager_wants_events():
        TARGETS.run(
            f"recovery {lands} {by_number}", Recovery(issuer, by_number=by_number, lands=lands), issuer.causeway
        )


# -- lists over all cards


class ListRun:
    """A run that adds a row to the list of all cards after another writer failed, and then reads the list.

    A further request reserves a row for a card that the caller cannot access.
    """

    def __init__(self, issuer: Issuer, *, slow: Sequence[float]) -> None:
        self._issuer, self._slow = issuer, list[float]()
        self._card = warmed(issuer).spendable(50_00).card_id
        self._hidden = issuer.card_in("A", access_level=30).pan
        issuer.clock.advance(2)
        self._known_rows = [row["authorize_id"] for row in self._poll()]
        with patch.object(Store, "transact", side_effect=StoreUnavailable("lost")):
            self._advise()
        self._slow = [*slow]
        issuer.clock.advance(20)
        issuer.hub.cards.programmes.catalogue(MANAGER)
        self._beginning = Snapshot(issuer.causeway, TABLES)
        self.untouched = Fault(issuer.causeway)
        self.with_fault(self.untouched)

    def with_fault(self, fault: Fault) -> None:
        self._beginning.restore()
        with fault:
            written = self._advise()
            self._issuer.sim("simulateAdvice", response_code="00", pan=self._hidden, access_level=0, **_USE)
            self._poll()
        self._issuer.clock.advance(40)
        for _ in range(3):
            self._poll()
        listed = [number for row in self._poll() if (number := row["authorize_id"]) not in self._known_rows]
        assert len(listed) <= 1
        assert written is None or listed == [written]

    def _advise(self) -> int | None:
        put, transact, slow = Store.put, Store.transact, [*self._slow]

        def confirm_late(store: Store, table: str, item: Item, condition: Any = None) -> None:
            if RESERVED_BY in item and slow:
                self._issuer.clock.advance(slow.pop(0))
            put(store, table, item, condition)

        def confirm_again_late(store: Store, operations: Sequence[Operation]) -> None:
            if any(isinstance(each, Put) and RESERVED_BY in each.item for each in operations) and slow:
                self._issuer.clock.advance(slow.pop(0))
            transact(store, operations)

        with patch.object(Store, "put", confirm_late), patch.object(Store, "transact", confirm_again_late):
            answer = self._issuer.sim("simulateAdvice", response_code="00", card_id=self._card, **_USE)
        return int(answer.data["authorize_id"]) if answer.status == "success" else None

    def _poll(self) -> list[dict[str, Any]]:
        dates = {"date_from": 0, "date_to": 99_999_999_999, "item_count": 100}
        return list(self._issuer.do("getCardsActivity", **dates).data or ())


@pytest.mark.parametrize("name", LISTS)
def test_the_activity_list_shows_a_row_once_after_another_writer_failed(issuer: Issuer, name: str) -> None:
    TARGETS.run(name, ListRun(issuer, slow=LISTS[name]), issuer.causeway)


def test_every_fault_was_injected_at_every_storage_call_of_network_messages() -> None:
    if len(TARGETS.runs) < len(MANNERS) * len(NETWORK_CASES + REPORT_CASES) + len(LOOKS) + len(DUE) + len(LISTS) + len(
        RECOVERIES
    ):
        pytest.skip("not every case ran here")

    missed = TARGETS.missed(site for site in call_sites(STORE, (CARDS,)) if within(site.module, *NETWORK))
    assert missed == [], "\n".join(missed)
