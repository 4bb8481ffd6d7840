"""Simulations of deliveries in virtual time: an unresponsive receiver does not delay other receivers."""

import heapq
import itertools
import random
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Unpack

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery import delivery_plan, receiver_slots
from chalicelib.delivery.delivery_plan import MINUTE
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.outcomes import Delivered, Dispatch, Sender, Undeliverable
from chalicelib.delivery.receiver_slots import SLOTS, WORKERS
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.delivery.sweeper import sweep
from chalicelib.delivery.tasks import Tasks
from chalicelib.delivery.worker import Attempt, Worker
from chalicelib.foundation import log
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.dynamodb.conditions import Condition
from chalicelib.foundation.dynamodb.store import (
    Check,
    ConditionFailed,
    Delete,
    Item,
    Operation,
    Page,
    Put,
    Store,
    Update,
    Which,
)
from infra.local.event_runner import POLLERS
from tests.causeway import START
from tests.kit.time import ManualClock


class MemoryStore(Store):
    """An in-memory deliveries table with the operations of attempts and of the sweeper."""

    def __init__(self) -> None:
        self.calls = 0
        self._items: dict[tuple[Any, ...], Item] = {}

    def wait(self, attempt: int, at_most: float = inf, *, at_least: float = 0.0) -> None:
        """Do nothing, because simulated workers do not wait inside an attempt."""

    def batch_get(self, keys: Sequence[tuple[str, Item]], attributes: Sequence[str] = ()) -> list[Item | None]:
        self.calls += 1
        return [self._items.get(_place(key)) for _, key in keys]

    def query(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Page:
        self.calls += 1
        between = which.get("between")
        assert between is not None
        time, since, until = between
        rows = [item for item in self._items.values() if item.get(partition[0]) == partition[1]]
        found = sorted((row for row in rows if since <= row[time] <= until), key=lambda row: int(row[time]))
        return Page(found[: which.get("limit")], None)

    def transact(self, operations: Sequence[Operation]) -> None:
        self.calls += 1
        places = [_place(each.item if isinstance(each, Put) else each.key) for each in operations]
        found = [self._items.get(place) for place in places]
        failed = [number for number, each in enumerate(operations) if not _holds(each.condition, found[number] or {})]
        if failed:
            raise ConditionFailed([found[number] if number in failed else None for number in range(len(found))], failed)
        for place, before, operation in zip(places, found, operations, strict=True):
            match operation:
                case Put():
                    self._items[place] = operation.item
                case Update():
                    changed = {**(before or operation.key), **operation.set}
                    self._items[place] = {name: changed[name] for name in changed if name not in operation.remove}
                case Delete():
                    self._items.pop(place, None)
                case Check():
                    pass


def _place(item: Item) -> tuple[Any, ...]:
    return item["delivery_id"], item["part"]


def _holds(condition: Condition | None, item: Item) -> bool:
    """Return whether a condition holds for an item. A missing item has no attributes."""
    if condition is None:
        return True
    first, *rest = condition.operands
    match condition.operator:
        case "AND":
            return _holds(first, item) and _holds(rest[0], item)
        case "OR":
            return _holds(first, item) or _holds(rest[0], item)
        case "attribute_exists":
            return first.name in item
        case "attribute_not_exists":
            return first.name not in item
        case "=":
            return first.name in item and bool(item[first.name] == rest[0])
        case "<=":
            return first.name in item and bool(item[first.name] <= rest[0])
        case other:
            raise NotImplementedError(other)


STORAGE_SECONDS = 0.01


class SimulatedQueue(Queue):
    """Messages that become available at their due time. ``visible`` contains the available messages."""

    def __init__(self, arrive: Callable[[str, float], None], visible: deque[str]) -> None:
        super().__init__("simulated")
        self._arrive = arrive
        self._visible = visible

    def count_messages(self) -> int:
        return len(self._visible)

    def send(self, body: str, delay: int = 0) -> None:
        self._arrive(body, delay)

    def send_all(self, bodies: Sequence[str]) -> list[str]:
        for body in bodies:
            self._arrive(body, 0)
        return []


class Simulation:
    """A simulation of ``workers`` that serve several receivers. ``seconds`` maps a receiver to the duration of a
    delivery.

    Attributes:
        arrived: the number of accepted deliveries by receiver and whole second since the start.
        most: the maximum number of simultaneous deliveries by receiver.
        longest: the maximum number of simultaneously available messages.
        received: the number of messages that the workers received.
        swept: the number of messages that the sweeper queued.
    """

    def __init__(self, seconds: Mapping[str, float], workers: int) -> None:
        self.arrived: dict[str, Counter[int]] = {name: Counter() for name in seconds}
        self.most: Counter[str] = Counter()
        self.longest = self.received = self.swept = 0
        self._seconds = seconds
        self._free = workers
        self._clock = ManualClock(START)
        self._store = MemoryStore()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._messages: deque[str] = deque()
        self._under_way: Counter[str] = Counter()
        queue, bodies = SimulatedQueue(self._message, self._messages), SealedBodies(self._store, _NO_VAULT)
        self._outbox = Outbox(bodies, queue, self._clock, PLANS)
        self._sweep_once = partial(
            sweep,
            store=self._store,
            clock=self._clock,
            queue=queue,
            outbox=self._outbox,
            metrics=_NO_METRICS,
            plans=PLANS,
        )
        self._after(MINUTE, self._sweep)
        sender: dict[str, Sender] = {"event": Sender(self._send)}
        tasks = Tasks(_NO_VAULT, queue, dict)
        self._worker = Worker(self._store, self._clock, bodies, self._outbox, queue, sender, tasks, PLANS)

    @property
    def now(self) -> float:
        return self._clock.monotonic() - START.timestamp()

    def record(self, count: int, *names: str) -> None:
        """Record and queue ``count`` deliveries to each receiver (only to ``names``, if given), alternating between the
        receivers.
        """
        for name in list(names or self._seconds) * count:
            made = self._outbox.record("event", "", receiver=name)
            self._store.transact(made.operations)
            self._outbox.queue(made.delivery_ids)

    def run(self, seconds: float) -> None:
        while self._events and self._events[0][0] <= seconds:
            moment, _, event = heapq.heappop(self._events)
            self._clock.advance(moment - self.now)
            event()

    def taken(self, name: str) -> int:
        return self.arrived[name].total()

    def pace(self, name: str) -> list[int]:
        return [self.arrived[name][second] for second in range(max(self.arrived[name], default=-1) + 1)]

    # -- inside

    def _after(self, seconds: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), event))

    def _message(self, delivery_id: str, delay: float) -> None:
        def arrive() -> None:
            self._messages.append(delivery_id)
            self.longest = max(self.longest, len(self._messages))
            self._receive()

        self._after(delay, arrive)

    def _receive(self) -> None:
        while self._free and self._messages:
            self._free -= 1
            self.received += 1
            attempt, seconds = self._timed(self._worker.begin, self._messages.popleft())
            if attempt is None:
                self._after(seconds, self._release)
            else:
                self._sending(attempt, seconds)

    def _sending(self, attempt: Attempt, seconds: float) -> None:
        name = attempt.delivery.receiver
        self._under_way[name] += 1
        self.most[name] = max(self.most[name], self._under_way[name])

        def answered() -> None:
            self._under_way[name] -= 1
            _, after = self._timed(self._worker.carry_out, attempt)
            self._after(after, self._release)

        self._after(seconds + self._seconds[name], answered)

    def _sweep(self) -> None:
        self.swept += self._sweep_once()
        self._after(MINUTE, self._sweep)

    def _release(self) -> None:
        self._free += 1
        self._receive()

    def _timed(self, call: Callable[[Any], Any], argument: Any) -> tuple[Any, float]:
        before = self._store.calls
        answer = call(argument)
        return answer, (self._store.calls - before) * STORAGE_SECONDS

    def _send(self, dispatch: Dispatch) -> Delivered:
        name = dispatch.delivery.receiver
        if name.startswith("dead-"):
            raise Undeliverable("no answer came in time")
        self.arrived[name][int(self.now)] += 1
        return Delivered(204)


class _NoMetrics:
    def write(self, values: Mapping[str, int]) -> None:
        """Discard the values."""


_NO_METRICS: Any = _NoMetrics()
_NO_VAULT: Any = None
"""Simulated deliveries have no bodies, so they need no vault."""


GOOD, SLOW, DEAD = "good", "slow", "dead-{}"
"""The names of receivers. A receiver with a name that begins with ``dead-`` never responds."""
SECONDS = {GOOD: 0.25, SLOW: 20.0}
COUNT = 200
"""The initial number of queued deliveries for each receiver. The queue alternates between the receivers."""


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make jitter, slots and order equal in every run, and disable logging."""
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    monkeypatch.setattr(delivery_plan, "random", random.Random(2026))
    monkeypatch.setattr(receiver_slots, "random", random.Random(2026))
    for name in ("info", "warning"):
        monkeypatch.setattr(log, name, lambda event, **members: None)


def simulated(seconds: dict[str, float], until: float, workers: int = POLLERS) -> Simulation:
    simulation = Simulation(seconds, workers)
    simulation.record(COUNT)
    simulation.run(until)
    return simulation


def test_a_bank_that_responds_after_20_seconds_does_not_slow_down_another_bank() -> None:
    alone = simulated({GOOD: SECONDS[GOOD]}, 60)
    beside = simulated(SECONDS, 60)

    assert alone.taken(GOOD) == beside.taken(GOOD) == COUNT
    assert len(beside.pace(GOOD)) <= len(alone.pace(GOOD))
    assert sum(beside.pace(GOOD)[:10]) >= 0.9 * sum(alone.pace(GOOD)[:10])
    assert min(beside.pace(GOOD)[:10]) >= 0.8 * sum(alone.pace(GOOD)[:10]) / 10


def test_a_slow_bank_occupies_all_workers_if_calls_per_bank_are_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    with_slots = simulated(SECONDS, 60)
    monkeypatch.setattr(receiver_slots, "SLOTS", 1000)
    without = simulated(SECONDS, 60)

    assert with_slots.taken(GOOD) == COUNT
    assert without.taken(GOOD) < COUNT / 4
    assert without.pace(GOOD)[1:20].count(0) > 15, "for most of the time nothing arrives"
    assert without.most[SLOW] == POLLERS


def test_a_slow_bank_receives_all_deliveries_at_the_rate_of_its_responses() -> None:
    simulation = simulated(SECONDS, 2400)

    assert simulation.taken(SLOW) == COUNT
    assert simulation.most[SLOW] == SLOTS
    assert len(simulation.pace(SLOW)) <= 1.5 * COUNT / SLOTS * SECONDS[SLOW]


@pytest.mark.parametrize("dead", [1, 3])
def test_with_four_free_workers_unavailable_receivers_do_not_delay_an_available_receiver(dead: int) -> None:
    workers = SLOTS * (dead + 1)
    hanging = {DEAD.format(number): 20.0 for number in range(dead)}
    simulation = simulated(hanging | {GOOD: SECONDS[GOOD]}, 60, workers)

    assert simulation.taken(GOOD) == COUNT
    assert sum(simulation.pace(GOOD)[:10]) >= 0.5 * 10 * SLOTS / SECONDS[GOOD]
    assert all(simulation.most[name] == SLOTS for name in hanging)


def test_unavailable_receivers_on_all_workers_delay_an_available_receiver_by_one_timeout_only() -> None:
    hanging = {DEAD.format(number): 20.0 for number in range(3)}
    simulation = simulated(hanging | {GOOD: SECONDS[GOOD]}, 120, workers=SLOTS * len(hanging))

    assert simulation.taken(GOOD) == COUNT
    assert len(simulation.pace(GOOD)) <= 60
    assert sum(simulation.pace(GOOD)[21:31]) >= 0.5 * 10 * SLOTS / SECONDS[GOOD]


def test_100_workers_make_no_more_than_four_calls_at_a_time_to_one_receiver() -> None:
    simulation = simulated({GOOD: SECONDS[GOOD]}, 120, workers=100)

    assert (simulation.taken(GOOD), simulation.most[GOOD]) == (COUNT, SLOTS)


BACKLOG, FAST, OTHER = 10_000, "fast", "other"


def test_the_time_to_deliver_a_backlog_is_linear_and_other_receivers_are_not_delayed() -> None:
    short, long = (Simulation({FAST: 0.05, OTHER: 0.05}, POLLERS) for _ in range(2))
    for played, count in ((short, BACKLOG // 20), (long, BACKLOG)):
        played.record(count, FAST)
        played.record(1, OTHER)
        played.run(600)

    assert (long.taken(FAST), long.taken(OTHER)) == (BACKLOG, 1)
    assert len(long.pace(FAST)) <= 1.25 * 20 * len(short.pace(FAST))
    assert len(long.pace(OTHER)) <= 0.5 * len(long.pace(FAST))
    assert long.most[FAST] == SLOTS
    assert long.swept <= BACKLOG // 10


@pytest.mark.parametrize(("workers", "count", "seconds"), [(POLLERS, 600, 5.0), (WORKERS, 2000, 1.0)])
def test_a_backlog_on_slow_storage_causes_few_duplicate_messages(
    workers: int, count: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The messages wait longer than the interval of the sweeper, both on a single machine and on AWS."""
    monkeypatch.setattr(f"{__name__}.STORAGE_SECONDS", 0.5)
    backlog = Simulation({SLOW: seconds}, workers)
    backlog.record(count)
    backlog.run(3600)

    assert backlog.taken(SLOW) == count
    assert backlog.longest <= count
    assert backlog.swept <= count // 10
