"""Repeated runs of a case from the same initial state, each with a different storage fault.

``CaseRun`` runs a case and completes it immediately. ``Targets`` creates the faults and records the affected calls.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS
from chalicelib.foundation.aws.calls import Call, Members, Proceed
from chalicelib.foundation.dynamodb.store import StoreError
from tests.cards.case import Case
from tests.cards.cases import all_in_use, warmed
from tests.cards.issuer import EVERYDAY, Envelope, Issuer
from tests.cards.stored_cards import StoredCards
from tests.causeway import Causeway
from tests.kit.storage import late_answers, with_new_token
from tests.openbanking.call_sites import CARDS, Site
from tests.openbanking.faults import FAULTS, Fault, Hit, Snapshot, table_of

MANNERS = WITHOUT, WITH_REFERENCE, REPEATED = ("without a reference", "with a reference", "repeated")
MONEY = tuple(f"{CARDS}.{room}" for room in ("payments", "ledger"))
NETWORK = tuple(
    f"{CARDS}.{room}"
    for room in (
        *("authorization", "reports", "portal"),
        *("storage.time_ordered", "storage.reserved_rows", "storage.due_index"),
    )
)
PROVING = f"{CARDS}.reconciliation"
_AS_OFTEN = 2
"""The maximum number of times that one kind of fault affects a read at the same code location."""
_PARTS_OF_A_PROCESS = (
    *("api", "simulator", "portal", "claims", "references", "sequences"),
    *("credentials", "credential_limits", "programmes"),
)


class Forgetful(Fault):
    """A fault that loses a storage response. Each retry has a new transaction token, so it is a new transaction."""

    def _see(self, call: Call, proceed: Proceed) -> Members:
        return super()._see(call, lambda each: proceed(with_new_token(each)))


class Twice(Fault):
    """A fault in the retry of a call that was not executed."""

    def __init__(self, causeway: Causeway, kind: str, number: int) -> None:
        super().__init__(causeway, kind, number, lasting=True)
        self._first = Fault(causeway, "before", number, lasting=True)

    def __enter__(self) -> Twice:
        super().__enter__()
        self._first.__enter__()  # last, so that calls which it stops are not counted here
        return self

    def __exit__(self, *raised: object) -> None:
        self._first.__exit__(*raised)
        super().__exit__(*raised)


class CaseRun:
    """A case that runs repeatedly from the same initial state."""

    tables: ClassVar[tuple[str, ...]] = ("cards", "idempotency", "programmes")

    def __init__(self, issuer: Issuer, case: Case, manner: str, *, cold: bool = False) -> None:
        self._issuer, self._case, self._manner, self._cold = issuer, case, manner, cold
        self._causeway = issuer.causeway
        self._members = dict(case.members(warmed(issuer)))
        if manner != WITHOUT:
            self._members["request_reference_id"] = issuer.reference()
        if cold:
            nothing_in_use(self._causeway)
        else:
            all_in_use(issuer)
        if manner == REPEATED:
            self._do()
        self._beginning = Snapshot(self._causeway, self.tables)
        self._before = self._shape()
        self._known = StoredCards(self._causeway).records() if cold else frozenset()
        self._begin()
        self.untouched = Fault(self._causeway)
        with self.untouched:
            self._right = self._do()
        self._after = self._shape()

    def with_fault(self, fault: Fault) -> None:
        self._begin()
        with fault:
            answer = self._do()
        if self._is_late(answer, fault):
            return
        if self._manner != WITHOUT:
            self._repeated(answer)
        elif failed(answer):
            assert fault.lasting, "what fails once is repaired"
            assert self._shape() in (self._before, self._after), "all of it or nothing"
            return
        else:
            self._is_right(answer)
        assert self._shape() == self._after
        self._check()

    def _is_late(self, answer: Envelope, fault: Fault) -> bool:
        """Return false. A subclass whose requests may time out returns true after a check of the stored records."""
        return False

    def _shape(self) -> list[str]:
        return StoredCards(self._causeway).shape()

    def _check(self) -> None:
        StoredCards(self._causeway).check(self._known)

    def _begin(self) -> None:
        self._beginning.restore()
        if self._cold:
            forget_process(self._causeway)
        else:
            self._issuer.data("getDesign", program_id=EVERYDAY)  # reads what is cached as of a later time

    def _repeated(self, answer: Envelope) -> None:
        """Retry the request until it succeeds, and then once more. Check that the last response is marked as a
        duplicate.
        """
        first = self._do() if failed(answer) else answer
        self._is_right(first)
        assert first.duplicated == 1 or self._manner != REPEATED
        again = self._do()
        assert again.duplicated == 1
        assert apart_from_duplicated(again) == apart_from_duplicated(first)

    def _do(self) -> Envelope:
        return self._case.do(self._issuer, **self._members)

    def _is_right(self, answer: Envelope) -> None:
        assert answer.status_code == self._right.status_code, answer.raw
        assert _form(answer.data) == _form(self._right.data)


class EventRun:
    def __init__(self, issuer: Issuer) -> None:
        self._issuer, self._causeway = issuer, issuer.causeway
        card = warmed(issuer).card()
        self._members = {"card_id": card.card_id, "request_reference_id": issuer.reference()}
        self._beginning = Snapshot(self._causeway, ("cards", "idempotency", "deliveries"))
        self._known = {each.delivery_id for each in self._causeway.recorded("card_event")}
        self.untouched = Fault(self._causeway)
        self.with_fault(self.untouched)

    def with_fault(self, fault: Fault) -> None:
        self._beginning.restore()
        self._causeway.queued()
        with fault, contextlib.suppress(StoreError):
            self._issuer.do("activateCard", **self._members)
            for delivery_id in self._causeway.queued():
                self._causeway.hub.delivery.worker.attempt(delivery_id)
        assert self._issuer.do("activateCard", **self._members).status == "success"
        (event,) = (each for each in self._causeway.recorded("card_event") if each.delivery_id not in self._known)
        for _ in range(2):
            self._causeway.clock.advance(CLAIMED_SECONDS)
            self._causeway.hub.delivery.worker.attempt(event.delivery_id)
        assert self._causeway.delivery(event.delivery_id).state == "delivered"
        assert {sent.headers["webhook-id"] for sent in self._causeway.receiver.received} == {event.delivery_id}


def forget_process(causeway: Causeway) -> None:
    for name in _PARTS_OF_A_PROCESS:
        vars(causeway.hub.cards).pop(name, None)


def nothing_in_use(causeway: Causeway) -> None:
    for partition in table_of(causeway, "programmes").items.values():
        for place, row in partition.items():
            partition[place] = {name: value for name, value in row.items() if name != "used"}


def failed(answer: Envelope) -> bool:
    return answer.status_code == Status.INTERNAL


def apart_from_duplicated(answer: Envelope) -> dict[str, Any]:
    return {**answer.members, "duplicated": None}


def _form(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _form(value) for name, value in data.items()}
    return [_form(each) for each in data] if isinstance(data, list) else type(data)


class FaultRun(Protocol):
    """A case that can run with a fault. ``untouched`` records the calls of a run without a fault."""

    untouched: Fault

    def with_fault(self, fault: Fault) -> None: ...


class Targets:
    """The storage calls affected by each kind of fault. ``runs`` lists the names of the runs."""

    def __init__(self) -> None:
        self.hits: dict[str, set[Site]] = {kind: set() for kind in FAULTS}
        self.runs: set[str] = set()
        self._reads: Counter[tuple[str, bool, Hit]] = Counter()

    def run(self, name: str, run: FaultRun, causeway: Causeway) -> None:
        self.runs.add(name)
        for fault in self._faults(causeway, run.untouched):
            try:
                run.with_fault(fault)
            except Exception as error:
                error.add_note(f"with a fault: {fault}")
                raise
            if fault.hit and (isinstance(fault, Twice) or not fault.lasting):
                self.hits[fault.kind] |= fault.hit.sites

    def missed(self, sites: Iterator[Site]) -> list[str]:
        expected = set(sites)
        return sorted(f"{site}: {kind}" for kind, hit in self.hits.items() for site in expected - hit)

    def _faults(self, causeway: Causeway, untouched: Fault) -> Iterator[Fault]:
        """Yield the faults of every call. For repeated reads at one code location and for writes in a loop, yield two
        faults.
        """
        for number, call in enumerate(untouched.calls, start=1):
            for kind in FAULTS:
                for lasting in (False, True)[: 1 if kind == "conflict" or (call.reads and kind == "after") else 2]:
                    self._reads[kind, lasting, call] += 1
                    looped = untouched.calls[:number].count(call) > _AS_OFTEN
                    if not looped and (not call.reads or self._reads[kind, lasting, call] <= _AS_OFTEN):
                        yield Fault(causeway, kind, number, lasting=lasting)
            if call.operation == "TransactWriteItems":
                yield Forgetful(causeway, "after", number)
            if call.operation == "UpdateItem":
                yield from (Twice(causeway, kind, number) for kind in FAULTS)
        yield from late_answers(causeway)
