"""Scenarios that run with every fault of every storage call, and assertions that the scenarios share.

A scenario prepares a request or a job and returns a function. The function runs the request or job with a fault,
continues as documented and asserts the outcome. The function runs once for each combination of storage call and fault,
each time from the same initial state.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from chalicelib.delivery.container import DeliveryContainer
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS, DUE, RECORD
from chalicelib.delivery.receiver_slots import Slot
from chalicelib.foundation.aws.queues import Queue
from chalicelib.openbanking.protocol import refusals
from chalicelib.statistics.days import hours_of
from tests.causeway import Answer, Causeway
from tests.kit.storage import late_answers
from tests.openbanking.call_sites import Site
from tests.openbanking.faults import FAULTS, Fault, Hit, Snapshot, items

Run = Callable[[Fault], None]
Scenario = Callable[[Causeway], Run]

_ROUNDS = 16
_PART_BYTES = 400
"""A maximum part size that is small enough to store an order in several parts."""
_REPAIRS = 2
"""How often a call of a scenario is tested with a temporary fault, which the store repairs without an error."""
_LASTING = 4
"""How often a call of a scenario is tested with each kind of lasting fault."""


class InMemory(Queue):
    def __init__(self) -> None:
        super().__init__("in-memory")
        self.ids: list[str] = []

    @classmethod
    def install(cls, delivery: DeliveryContainer) -> None:
        for name in ("outbox", "engine"):
            delivery.__dict__.pop(name, None)
        delivery.__dict__["queue"] = cls()

    def send(self, body: str, delay: int = 0) -> None:
        self.ids.append(body)

    def send_all(self, bodies: Sequence[str]) -> list[str]:
        self.ids += bodies
        return []

    def count_messages(self) -> int:
        return 0


def _arrange(make: Callable[..., Run], arguments: tuple[Any, ...], causeway: Causeway) -> Run:
    return make(causeway, *arguments)


class Scenarios:
    """The scenarios of several modules, and the faults of each call that the scenarios have tested."""

    def __init__(self) -> None:
        self.all: dict[str, Scenario] = {}
        self._modules: dict[str, list[str]] = {}
        self._hits: dict[str, set[Site]] = {fault: set() for fault in FAULTS}
        self._ran: set[str] = set()
        self._hit: Counter[tuple[str, bool, Hit]] = Counter()

    def __call__(self, *variants: Any) -> Callable[[Callable[..., Run]], Callable[..., Run]]:
        """Register a scenario once for each variant. A variant is a set of additional arguments of the scenario."""

        def register(make: Callable[..., Run]) -> Callable[..., Run]:
            for variant in variants or ((),):
                arguments = variant if isinstance(variant, tuple) else (variant,)
                words = [make.__name__.replace("_", " "), *(str(each) for each in arguments if each is not None)]
                name = " ".join(words)
                assert name not in self.all, name
                self.all[name] = partial(_arrange, make, arguments)
                self.of(make.__module__).append(name)
            return make

        return register

    def of(self, module: str) -> list[str]:
        return self._modules.setdefault(module, [])

    def run_with_faults(self, causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Run a scenario without a fault, and then with every fault of every call."""
        monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)
        monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)  # calls are made one after the other, and here
        sharded_index = "chalicelib.foundation.dynamodb.sharded_index"
        monkeypatch.setattr(f"{sharded_index}.SHARDS", 2)  # each is one more call like the others
        reader = "chalicelib.statistics.hourly_counters"
        monkeypatch.setattr(f"{reader}.hours_of", lambda day: hours_of(day)[8:10])  # and so is each of these
        monkeypatch.setattr("chalicelib.delivery.sealed_bodies.PART_BYTES", _PART_BYTES)
        monkeypatch.setattr("chalicelib.delivery.worker.any_slot", lambda receiver: Slot(receiver, 0))
        InMemory.install(causeway.hub.delivery)
        for side in causeway.banks.values():
            causeway.hub.openbanking.banks.find(side.bic)
        self._ran.add(name)
        run = self.all[name](causeway)
        beginning = Snapshot(causeway)
        with _explained(untouched := Fault(causeway)):
            run(untouched)
        assert untouched.calls, "the scenario calls the storage"
        for fault, call in _faults(causeway, untouched):
            self._hit[fault.kind, fault.lasting, call] += 1
            if self._hit[fault.kind, fault.lasting, call] > (_LASTING if fault.lasting else _REPAIRS):
                continue
            beginning.restore()
            with _explained(fault):
                run(fault)
            if fault.hit and not fault.lasting:
                self._hits[fault.kind] |= fault.hit.sites
        for late in late_answers(causeway):
            beginning.restore()
            with _explained(late):
                run(late)

    def missed(self, sites: frozenset[Site], modules: Collection[str]) -> list[str]:
        """Return the untested faults of ``sites``. If a scenario did not run, skip the test."""
        if self.all.keys() - self._ran or self._modules.keys() != {*modules}:
            pytest.skip("not every scenario ran")
        return sorted(f"{site}: {fault}" for fault, hit in self._hits.items() for site in sites - hit)


scenario = Scenarios()
"""The scenarios of requests. Scenarios of jobs are registered separately."""


def _faults(causeway: Causeway, untouched: Fault) -> Iterator[tuple[Fault, Hit]]:
    """Yield the faults of every call that a run without faults makes. Lasting faults also affect retries of the call.

    The faults affect only the first of several equal reads, and only the first two of several equal writes.
    """
    for number, call in enumerate(untouched.calls, start=1):
        if untouched.calls[:number].count(call) <= (1 if call.reads else 2):
            for kind in FAULTS:
                yield Fault(causeway, kind, number), call
            for kind in ("before",) if call.reads else ("before", "after"):
                yield Fault(causeway, kind, number, lasting=True), call


@contextlib.contextmanager
def _explained(fault: Fault) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"with a fault: {fault}")
        raise


def lose_first_transaction(causeway: Causeway) -> Fault:
    return Fault(causeway, "after", 1, lasting=True, operation="TransactWriteItems")


# -- answers


def refused(answer: Answer) -> bool:
    """Return whether a response reports a storage failure in the documented form, with Retry-After."""
    if answer.status != 500:
        return False
    body = answer.body
    assert answer.headers["retry-after"] == "1", answer
    assert body.get("error_code") == 4000 or body.get("code") == "INTERNAL_SERVER_ERROR", answer
    assert "error_code" in body or refusals.STORAGE_FAILED.sentence in body["title"], answer
    assert body.get("error", "server_error") == "server_error"
    return True


def completed(fault: Fault, call: Callable[[], Answer], status: int = 200) -> Answer:
    """Make a call during the fault. After a storage failure, retry the call. Return the response."""
    with fault:
        answer = call()
    if refused(answer):
        answer = call()
    assert answer.status == status, answer
    return answer


# -- stored items


def consent_items(causeway: Causeway, kind: str) -> list[dict[str, Any]]:
    return [item for item in items(causeway, "consents") if item["part"].startswith(kind)]


def status_of_consent(causeway: Causeway) -> str:
    (consent,) = consent_items(causeway, "consent")
    return str(consent["status"])


def records(causeway: Causeway, kind: str = "") -> list[dict[str, Any]]:
    """Return all stored deliveries, or those of one kind. Check that each stored delivery is complete, and that a
    delivery is in the due-time index if and only if it is due.
    """
    kept = items(causeway, "deliveries")
    found = [item for item in kept if item["part"] == RECORD and item["kind"].startswith(kind)]
    for record in found:
        bodies = [item for item in kept if item["part"].startswith("body#") and _are_of_one(item, record)]
        assert len(bodies) == record["body_parts"]
        assert record["state"] != "due" or record | DUE.entry(record["delivery_id"]) == record
        assert ("due_at" in record) == (record["state"] == "due")
    return found


def _are_of_one(item: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(item["delivery_id"] == other["delivery_id"])


def recorded_events(causeway: Causeway) -> list[str]:
    return sorted(record["topic"] for record in records(causeway, "event"))


# -- deliveries


def attempt_all_due(causeway: Causeway) -> None:
    """Advance the clock and attempt deliveries until no delivery is due. Check afterwards that all slots are free."""
    for _ in range(_ROUNDS):
        due = [record for record in records(causeway) if record["state"] == "due"]
        if not due:
            break
        causeway.clock.advance(max(0, *(record["due_at"] - causeway.clock.time() for record in due)))
        for record in due:
            causeway.hub.delivery.worker.attempt(record["delivery_id"])
    assert [record["delivery_id"] for record in records(causeway) if record["state"] == "due"] == []
    causeway.clock.advance(CLAIMED_SECONDS)
    assert slots_in_use(causeway) == []


def slots_in_use(causeway: Causeway) -> list[dict[str, Any]]:
    now = causeway.clock.time()
    return [item for item in items(causeway, "deliveries") if item.get("held_until", now) > now]
