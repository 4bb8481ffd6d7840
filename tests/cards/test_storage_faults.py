"""Storage that fails, at every call of every action: the caller gets the right answer or is told to repeat the request.

Whatever happens, nothing is lost, doubled or half done. With a reference a repeat gets the right answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.cards.protocol.status_codes import Status
from tests.cards.books import Books
from tests.cards.cases import CASES, Case, all_in_use, warmed
from tests.cards.scenes import Envelope, Scene
from tests.openbanking.call_sites import CARDS, STORE, Site, call_sites
from tests.openbanking.faults import FAULTS, Fault, Hit, Snapshot, table_of
from tests.world import World

pytestmark = pytest.mark.faults

MANNERS = WITHOUT, WITH_REFERENCE, REPEATED = ("without a reference", "with a reference", "repeated")
TABLES = ("cards", "idempotency", "programmes")
_HITS: dict[str, set[Site]] = {kind: set() for kind in FAULTS}
_PLAYED: set[str] = set()
_READS: Counter[tuple[str, bool, Hit]] = Counter()
_AS_OFTEN = 2
"""So often a read is hit at the same place by the same fault."""
_COLD = (
    "createAccount for a new holder",
    "createCard for a holder",
    "createCard on an account",
    "reissueCard with a new number",
    "createCardAcsMerchantWhitelistRule",
    "getCvc2",
    "simulateAuthentication",
)
_PARTS_OF_A_PROCESS = ("card_api", "card_simulator", "card_room", "credentials", "programmes")


class Forgetful(Fault):
    """A lost answer of storage that does not know the transaction again when it is sent once more."""

    def _after(self, http_response: Any, **members: Any) -> None:
        try:
            super()._after(http_response, **members)
        finally:
            self._tokens.clear()


class Twice(Fault):
    """A call that does not arrive, and another one that repairs it: the fault hits that."""

    def __init__(self, world: World, kind: str, number: int) -> None:
        super().__init__(world, kind, number, lasting=True)
        self._first = Fault(world, "before", number, lasting=True)

    def __enter__(self) -> Twice:
        self._first.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        self._first.__exit__(*raised)


class Play:
    """A case, played again and again from the same beginning."""

    def __init__(self, scene: Scene, case: Case, manner: str, *, cold: bool = False) -> None:
        self._scene, self._case, self._manner, self._cold = scene, case, manner, cold
        self._world = scene.world
        self._members = dict(case.members(warmed(scene)))
        if manner != WITHOUT:
            self._members["request_reference_id"] = scene.reference()
        if cold:
            nothing_in_use(self._world)
        else:
            all_in_use(scene)
        if manner == REPEATED:
            self._do()
        self._beginning = Snapshot(self._world, TABLES)
        self._before = Books(self._world).shape()
        self._known = Books(self._world).records() if cold else frozenset()
        self._begin()
        self.untouched = Fault(self._world)
        with self.untouched:
            self._right = self._do()
        self._after = Books(self._world).shape()

    def with_fault(self, fault: Fault) -> None:
        """Play it once, and hold what came of it against the play without a fault."""
        self._begin()
        with fault:
            answer = self._do()
        if self._manner != WITHOUT:
            self._repeated(answer)
        elif _failed(answer):
            assert fault.lasting, "what fails once is repaired"
            assert Books(self._world).shape() in (self._before, self._after), "all of it or nothing"
            return
        else:
            self._is_right(answer)
        books = Books(self._world)
        assert books.shape() == self._after
        books.check(self._known)

    def _begin(self) -> None:
        self._beginning.restore()
        if self._cold:
            for name in _PARTS_OF_A_PROCESS:
                vars(self._world.hub).pop(name, None)

    def _repeated(self, answer: Envelope) -> None:
        """The same request, until its answer is known and once more."""
        first = self._do() if _failed(answer) else answer
        self._is_right(first)
        assert first.duplicated == 1 or self._manner != REPEATED
        again = self._do()
        assert again.duplicated == 1
        assert _apart_from_duplicated(again) == _apart_from_duplicated(first)

    def _do(self) -> Envelope:
        return self._case.do(self._scene, **self._members)

    def _is_right(self, answer: Envelope) -> None:
        assert answer.status_code == self._right.status_code, answer.raw
        assert _form(answer.data) == _form(self._right.data)


def nothing_in_use(world: World) -> None:
    """No entry of the set-up was ever used, whatever stands there."""
    for row in table_of(world, "programmes").all_items():
        row.attrs.pop("used", None)


def _failed(answer: Envelope) -> bool:
    return answer.status_code == Status.INTERNAL


def _apart_from_duplicated(answer: Envelope) -> dict[str, Any]:
    return {**answer.members, "duplicated": None}


def _form(data: Any) -> Any:
    """The members of an answer, without their values."""
    if isinstance(data, dict):
        return {name: _form(value) for name, value in data.items()}
    return [_form(each) for each in data] if isinstance(data, list) else type(data)


def _faults(world: World, untouched: Fault) -> Iterator[Fault]:
    """All faults of every call; of reads at the same place, and of writes in a loop, two are hit."""
    for number, call in enumerate(untouched.calls, start=1):
        for kind in FAULTS:
            for lasting in (False, True)[: 1 if kind == "conflict" or (call.reads and kind == "after") else 2]:
                _READS[kind, lasting, call] += 1
                looped = untouched.calls[:number].count(call) > _AS_OFTEN
                if not looped and (not call.reads or _READS[kind, lasting, call] <= _AS_OFTEN):
                    yield Fault(world, kind, number, lasting=lasting)
        if call.operation == "TransactWriteItems":
            yield Forgetful(world, "after", number)
        if call.operation == "UpdateItem":
            yield from (Twice(world, kind, number) for kind in FAULTS)


def _played(play: Play, world: World) -> None:
    for fault in _faults(world, play.untouched):
        try:
            play.with_fault(fault)
        except Exception as error:
            error.add_note(f"with a fault: {fault}")
            raise
        if fault.hit and (isinstance(fault, Twice) or not fault.lasting):
            _HITS[fault.kind] |= fault.hit.sites


@pytest.fixture
def scene(world: World, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(world.hub.store, "_pause", lambda seconds: None)
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)  # calls are made one after the other
    return Scene(world)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fault_of_storage_loses_and_doubles_nothing(scene: Scene, case: Case, manner: str) -> None:
    _PLAYED.add(f"{case} {manner}")
    _played(Play(scene, case, manner), scene.world)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", [case for case in CASES if str(case) in _COLD], ids=str)
def test_nor_does_it_in_a_process_that_has_just_started(scene: Scene, case: Case, manner: str) -> None:
    _PLAYED.add(f"cold {case} {manner}")
    _played(Play(scene, case, manner, cold=True), scene.world)


def test_every_call_of_the_storage_by_the_card_api_was_hit_by_every_fault() -> None:
    if len(_PLAYED) < len(MANNERS) * (len(CASES) + len(_COLD)):
        pytest.skip("not every scene was played in this run")
    sites = call_sites(STORE, (CARDS,))
    missed = sorted(f"{site}: {kind}" for kind, hit in _HITS.items() for site in sites - hit)

    assert missed == [], "\n".join(missed)
