"""Storage that fails wherever cards are used: nothing is held, booked, counted or reported twice, or lost."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from chalicelib.cards.authorization.hold_release import HoldRelease
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.storage.time_ordered import RESERVED_BY
from chalicelib.foundation.dynamodb.store import Item, Store, StoreError, StoreUnavailable
from tests.cards.case import Case
from tests.cards.cases import warmed
from tests.cards.fault_plays import MANNERS, NETWORK, Play, Targets, failed
from tests.cards.network_books import TABLES, check, shape
from tests.cards.network_cases import NETWORK_CASES
from tests.cards.report_cases import REPORT_CASES
from tests.cards.scenes import EUR, MANAGER, Envelope, MadeCard, Scene
from tests.openbanking.call_sites import CARDS, STORE, call_sites
from tests.openbanking.faults import Fault, Snapshot
from tests.source_code import within
from tests.world import World

pytestmark = pytest.mark.faults

TARGETS = Targets()
_HOLD_SECONDS = 7 * 24 * 3600
_UNTIL_IT_IS_TRIED_AGAIN = 61


@pytest.fixture
def scene(world: World, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Calls are made one after the other."""
    monkeypatch.setattr(world.hub.store, "_pause", lambda seconds: None)
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    return Scene(world)


class NetworkPlay(Play):
    """A case of the network's or of a report; a repeat is the same to the last byte."""

    tables = TABLES

    def _shape(self) -> list[str]:
        return shape(self._world)

    def _check(self) -> None:
        check(self._world, self._known)

    def _repeated(self, answer: Envelope) -> None:
        super()._repeated(answer)
        repeats = [self._do().raw for _ in range(2)]
        assert repeats[0] == repeats[1]
        if not failed(answer):
            assert repeats[0] == answer.raw.replace('"duplicated":0', '"duplicated":1', 1)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", NETWORK_CASES + REPORT_CASES, ids=str)
def test_a_fault_of_storage_loses_and_doubles_nothing(scene: Scene, case: Case, manner: str) -> None:
    TARGETS.play(f"{case} {manner}", NetworkPlay(scene, case, manner), scene.world)


# -- people of the programme manager look at it


class Look(NamedTuple):
    """A page of the web interface, and what it is asked about a card that was used."""

    name: str
    action: str
    members: Callable[[MadeCard, Scene], Mapping[str, Any]]


LOOKS = (
    Look("the cards", "listCards", lambda card, scene: {"item_count": 20}),
    Look(
        "the cards with the end of a number",
        "listCards",
        lambda card, scene: {"item_count": 20, "last_four": card.pan[-4:]},
    ),
    Look("a card", "showCard", lambda card, scene: {"card_id": card.card_id, "item_count": 10, "balance_count": 10}),
    Look("activity", "listActivity", lambda card, scene: {"item_count": 10}),
    Look("activity that was approved", "listActivity", lambda card, scene: {"item_count": 10, "approved": 1}),
    Look(
        "a statement",
        "showStatement",
        lambda card, scene: {"card_id": card.card_id, "date_from": 0, "date_to": scene.clock.time()},
    ),
)


class DeskPlay:
    """A page about cards that were used: it is shown as it was, or not at all."""

    def __init__(self, scene: Scene, look: Look) -> None:
        card = scene.spendable(500)
        scene.clearing(scene.purchase(card.card_id, 300), 100, final=0)
        self._portal, self._action, self._members = scene.hub.cards.flows.portal, look.action, look.members(card, scene)
        self.untouched = Fault(scene.world)
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
def test_a_page_is_shown_as_it_is_or_not_at_all(scene: Scene, look: Look) -> None:
    TARGETS.play(look.name, DeskPlay(scene, look), scene.world)


# -- the schedule


def a_hold(scene: Scene) -> None:
    scene.purchase(scene.spendable(500).card_id, 300)


def a_hold_that_was_collected_in_part(scene: Scene) -> None:
    asked = scene.purchase(scene.spendable(500).card_id, 300)
    scene.clearing(asked, 100, final=0)


def holds_of_two_cards(scene: Scene) -> None:
    for amount in (300, 100):
        scene.purchase(scene.spendable(500).card_id, amount)


def a_hold_that_cannot_be_released(scene: Scene) -> None:
    a_hold(scene)


def a_late_decline(scene: Scene) -> None:
    card, read = scene.spendable(500), Store.batch_get

    def read_slowly(self: Store, keys: Any) -> Any:
        scene.clock.advance(1.01)
        return read(self, keys)

    with patch.object(Store, "batch_get", read_slowly):
        assert scene.purchase(card.card_id, 300)["response_code"] == "91"


DUE: dict[Callable[[Scene], None], int] = {
    a_late_decline: 1,
    a_hold: 1,
    a_hold_that_was_collected_in_part: 1,
    holds_of_two_cards: 2,
    a_hold_that_cannot_be_released: 0,
}
"""What the schedule finds, and how many of it a run finishes."""
_USE = {"transaction_type": 0, "amount": 1, "currency_ison": EUR}
LISTS = ("a page after a writer died", "a page after a slow reservation")


class Run:
    """A run of the schedule that finds holds which are over; their programme manager is told of it."""

    def __init__(self, scene: Scene, due: Callable[[Scene], None]) -> None:
        self._scene, self._due = scene, due
        warmed(scene)
        due(scene)
        scene.clock.advance(_HOLD_SECONDS)
        scene.hub.cards.programmes.catalogue(MANAGER)
        self._beginning = Snapshot(scene.world, TABLES)
        self.untouched = Fault(scene.world)
        assert self._expire(self.untouched) == DUE[due]
        self._settle()
        self._after = self._shape()

    def with_fault(self, fault: Fault) -> None:
        self._beginning.restore()
        with contextlib.suppress(StoreError) if fault.lasting else contextlib.nullcontext():
            self._expire(fault)
        self._settle()
        assert self._shape() == self._after
        check(self._scene.world)

    def _expire(self, fault: Fault) -> int:
        broken = patch.object(HoldRelease, "release", side_effect=ArithmeticError("something is wrong with it"))
        is_broken = self._due is a_hold_that_cannot_be_released
        with broken if is_broken else contextlib.nullcontext(), fault:
            return self._scene.hub.cards.flows.hold_expiry.expire()

    def _shape(self) -> list[str]:
        """What stands there, whichever run it was that got so far."""
        return [re.sub(r"'(updated_at|last_at)', \d+", "", row) for row in shape(self._scene.world)]

    def _settle(self) -> None:
        """The next runs; what was put off has its turn, too."""
        for _ in range(3):
            self._scene.clock.advance(_UNTIL_IT_IS_TRIED_AGAIN)
            self._scene.hub.cards.flows.hold_expiry.expire()


@pytest.mark.parametrize("due", DUE)
def test_a_hold_that_is_over_is_released_once(scene: Scene, due: Callable[[Scene], None]) -> None:
    with scene.world.manager_wants_events():
        TARGETS.play(due.__name__, Run(scene, due), scene.world)


# -- lists over all cards


class ListPlay:
    """A row is added to the list of all cards, in which another writer died, and the list is read.

    Another request reserves a row for a card that its caller may not see.
    """

    def __init__(self, scene: Scene, *, is_slow: bool) -> None:
        self._scene, self._is_slow = scene, False
        self._card = warmed(scene).spendable(50_00).card_id
        self._hidden = scene.card_in("A", access_level=30).pan
        scene.clock.advance(2)
        self._known_rows = [row["authorize_id"] for row in self._poll()]
        with patch.object(Store, "transact", side_effect=StoreUnavailable("lost")):
            self._advise()
        self._is_slow = is_slow
        scene.clock.advance(20)
        scene.hub.cards.programmes.catalogue(MANAGER)
        self._beginning = Snapshot(scene.world, TABLES)
        self.untouched = Fault(scene.world)
        self.with_fault(self.untouched)

    def with_fault(self, fault: Fault) -> None:
        self._beginning.restore()
        with fault:
            written = self._advise()
            self._scene.sim("simulateAdvice", response_code="00", pan=self._hidden, access_level=0, **_USE)
            self._poll()
        self._scene.clock.advance(40)
        for _ in range(3):
            self._poll()
        listed = [number for row in self._poll() if (number := row["authorize_id"]) not in self._known_rows]
        assert len(listed) <= 1
        assert written is None or listed == [written]

    def _advise(self) -> int | None:
        """The number of a new row; ``None`` without success."""
        put, slow = Store.put, [self._is_slow, *[False] * 9]

        def confirm_late(store: Store, table: str, item: Item, condition: Any = None) -> None:
            if RESERVED_BY in item and slow.pop(0):
                self._scene.clock.advance(2)
            put(store, table, item, condition)

        with patch.object(Store, "put", confirm_late):
            answer = self._scene.sim("simulateAdvice", response_code="00", card_id=self._card, **_USE)
        return int(answer.data["authorize_id"]) if answer.status == "success" else None

    def _poll(self) -> list[dict[str, Any]]:
        dates = {"date_from": 0, "date_to": 99_999_999_999, "item_count": 100}
        return list(self._scene.do("getCardsActivity", **dates).data or ())


@pytest.mark.parametrize("name", LISTS)
def test_a_row_is_listed_once_although_another_writer_died(scene: Scene, name: str) -> None:
    TARGETS.play(name, ListPlay(scene, is_slow=name == LISTS[1]), scene.world)


def test_every_call_of_the_storage_by_the_network_was_hit_by_every_fault() -> None:
    if len(TARGETS.plays) < len(MANNERS) * len(NETWORK_CASES + REPORT_CASES) + len(LOOKS) + len(DUE) + len(LISTS):
        pytest.skip("not every scene was played in this run")

    missed = TARGETS.missed(site for site in call_sites(STORE, (CARDS,)) if within(site.module, *NETWORK))
    assert missed == [], "\n".join(missed)
