"""A simulation of a bank that does not respond, in virtual time.

The documented results are in docs/deployment.md, Limits.
"""

import heapq
import random
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from operator import eq, gt, le, lt
from typing import Any

import pytest

from chalicelib.foundation.dynamodb.conditions import Condition
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Page, Store
from chalicelib.foundation.http.deadline_connections import SlowCheck
from chalicelib.foundation.http.outbound import TOTAL_SECONDS, GivenUp
from chalicelib.openbanking.bank_client.bank_circuits import BankCircuits, Breaker, limit_slow_call
from chalicelib.openbanking.bank_client.bank_failures import CircuitOpen
from chalicelib.statistics.call_counts import HourlyCounters
from chalicelib.statistics.days import HOUR_SECONDS
from chalicelib.statistics.downtimes import PROBE_SECONDS, DowntimeRecorder, OpenDowntimes
from chalicelib.statistics.measurements import WRITE_INTERVAL
from chalicelib.statistics.slow_calls import SLOTS, SlowCalls
from infra.deploy.limits import REQUEST_SECONDS, REQUESTS, REQUESTS_PER_SECOND
from tests.causeway import START
from tests.kit.time import ManualClock

BIC = "ALPHGB21"
HANGING_RATE = 60
REFUSAL_SECONDS = 0.013
"""The duration of a request that is refused without a bank call: a relayed read without the bank's 200 ms."""
WARM = 600
"""The number of instances that have handled requests before the bank stops responding."""


class StatisticsStore(Store):
    def __init__(self) -> None:
        self._partitions: dict[str, dict[str, Item]] = {}

    def put(self, table: str, item: Item, condition: Any = None) -> None:
        rows = self._partitions.setdefault(item["subject"], {})
        before = rows.get(item["part"])
        if not holds(condition, before or {}):
            raise ConditionFailed([before], [0])
        rows[item["part"]] = item

    def query(self, table: str, partition: tuple[str, Any], **_: Any) -> Page:
        return Page([*self._partitions.get(partition[1], {}).values()], None)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "<": lt, "<=": le, ">": gt}


def holds(condition: Condition | None, item: Item) -> bool:
    if condition is None:
        return True
    name, values = condition.operator, condition.operands
    if name in ("AND", "OR"):
        return (all if name == "AND" else any)(holds(part, item) for part in values)
    if name == "attribute_not_exists":
        return values[0].name not in item
    return values[0].name in item and _OPERATORS[name](item[values[0].name], values[1])


class OwnBreaker:
    """The breaker of an instance without shared circuits and without a limit of slow calls."""

    def __init__(self, clock: ManualClock) -> None:
        self.circuits = Breaker(clock)
        self.slow_calls = None

    def write_counters(self, counters: list[HourlyCounters]) -> None:
        """Do nothing, because only shared circuits read counters."""


class SharedCircuits:
    def __init__(self, clock: ManualClock, store: StatisticsStore, *, knows_downtimes: bool) -> None:
        self._clock, self._store, self._knows_downtimes = clock, store, knows_downtimes
        self._downtimes = OpenDowntimes(store, clock)
        self.circuits = BankCircuits(store, clock, self._downtimes)
        self.slow_calls = SlowCalls(store, clock)

    def write_counters(self, counters: list[HourlyCounters]) -> None:
        """Write the counters of the instance, as a request does once a minute."""
        for number, hourly in enumerate(counters):
            self._store.put("statistics", hourly.to_item(f"{id(self)}-{self._clock.monotonic()}-{number}"))
        downtimes = DowntimeRecorder(self._store, self._clock).record(counters)
        if self._knows_downtimes:
            self._downtimes.note(downtimes)


@dataclass
class Instance:
    parts: OwnBreaker | SharedCircuits
    written_at: float
    counters: HourlyCounters | None = None
    writes_at_end: bool = False
    is_calling: bool = False

    def count(self, at: int, *, answered: bool) -> None:
        if self.counters is None:
            self.counters = HourlyCounters(BIC, at - at % HOUR_SECONDS)
        self.counters.count_request(at, "AISP", "answered" if answered else "unanswered")

    def write(self, now: float) -> None:
        counters, self.counters = self.counters or HourlyCounters("OTHERGB2", 0), None
        self.written_at, self.writes_at_end = now, False
        self.parts.write_counters([counters])


@dataclass
class Figures:
    """The results of a simulation: requests to other banks by minute, throttled requests by minute, and calls to the
    bank.
    """

    others: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    throttled: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    sent: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    given_up: int = 0
    most_calling: int = 0

    @property
    def percent_throttled(self) -> float:
        return 100 * sum(self.throttled.values()) / sum(self.others.values())

    def percent_throttled_in(self, minute: int) -> float:
        return 100 * self.throttled.get(minute, 0) / self.others[minute]


class Fleet:
    """A simulated fleet of instances. The fleet serves other requests, and requests to a bank that does not respond.

    Args:
        new_parts: creates the circuit parts of an instance.
        hangs_until: the second from which the bank responds again.
    """

    def __init__(
        self,
        new_parts: Callable[[ManualClock, StatisticsStore], OwnBreaker | SharedCircuits],
        *,
        payments: float = 0,
        hangs_until: float = 1e9,
        others_rate: int = REQUESTS_PER_SECOND - HANGING_RATE,
    ) -> None:
        self._random = random.Random(40)
        self._clock, self._store, self._now = ManualClock(START), StatisticsStore(), 0.0
        self._new_parts, self._payments, self._hangs_until = new_parts, payments, hangs_until
        self._others_rate = others_rate
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._cancelled: set[int] = set()
        self._numbers = count()
        self._instances: list[Instance] = []
        self._calling = 0
        self._refusing = 0
        self._others: deque[float] = deque()
        self._next_other = self._random.expovariate(others_rate)
        self.figures = Figures()
        for _ in range(WARM):
            self._add_instance(-self._random.random() * WRITE_INTERVAL)

    def run(self, minutes: int) -> Figures:
        self._after(self._random.expovariate(HANGING_RATE), self._arrive)
        end = minutes * 60
        while self._events and self._events[0][0] < end:
            at, number, happen = heapq.heappop(self._events)
            if number in self._cancelled:
                continue
            self._answer_others(at)
            self._clock.advance(at - self._now)
            self._now = at
            happen()
        return self.figures

    # -- the requests of others

    def _answer_others(self, until: float) -> None:
        """Simulate the arrival of other requests until a time. Each request occupies an instance or is throttled."""
        arrive, ends, rate = self._next_other, self._others, self._others_rate
        draw, figures, room = self._random.expovariate, self.figures, REQUESTS - self._calling - self._refusing
        while arrive < until:
            while ends and ends[0] <= arrive:
                ends.popleft()
            minute = int(arrive // 60)
            figures.others[minute] += 1
            if len(ends) < room:
                ends.append(arrive + REQUEST_SECONDS)
            else:
                figures.throttled[minute] += 1
            arrive += draw(rate)
        self._next_other = arrive
        while len(self._instances) < self._busy:
            self._add_instance(until)

    @property
    def _busy(self) -> int:
        return self._calling + self._refusing + len(self._others)

    # -- the requests to the bank

    def _arrive(self) -> None:
        self._after(self._random.expovariate(HANGING_RATE), self._arrive)
        while self._others and self._others[0] <= self._now:
            self._others.popleft()
        if self._busy >= REQUESTS:
            return
        instance = self._pick_idle()
        try:
            instance.parts.circuits.admit(BIC)
        except CircuitOpen:
            self._refusing += 1
            self._after(REFUSAL_SECONDS, self._end_refusal)
        else:
            self._call(instance)

    def _end_refusal(self) -> None:
        self._refusing -= 1

    def _pick_idle(self) -> Instance:
        if len(self._instances) <= self._busy:
            return self._add_instance(self._now)
        while (instance := self._random.choice(self._instances)).is_calling:
            pass
        return instance

    def _add_instance(self, written_at: float) -> Instance:
        instance = Instance(self._new_parts(self._clock, self._store), written_at)
        self._instances.append(instance)
        self._after(max(0.0, written_at + WRITE_INTERVAL - self._now), lambda: self._write_when_due(instance))
        return instance

    def _call(self, instance: Instance) -> None:
        """Simulate a call to the bank. The bank responds, or the call times out or is cancelled early."""
        self.figures.sent.append(self._now)
        instance.is_calling = True
        self._calling += 1
        self.figures.most_calling = max(self.figures.most_calling, self._calling)
        at, steps = self._clock.time(), ExitStack()

        def end(outcome: str) -> None:
            steps.close()
            instance.is_calling = False
            self._calling -= 1
            if outcome == "answered":
                self.figures.answered.append(self._now)
                instance.parts.circuits.record_success(BIC)
            else:
                instance.parts.circuits.record_failure(BIC)
            if outcome != "given up":
                instance.count(at, answered=outcome == "answered")
            if instance.writes_at_end or outcome == "answered":
                instance.write(self._now)

        if self._now >= self._hangs_until:
            self._after(REQUEST_SECONDS, lambda: end("answered"))
            return
        timeout = self._after(TOTAL_SECONDS, lambda: end("unanswered"))
        if instance.parts.slow_calls is not None:
            is_payment = self._random.random() < self._payments
            slow = steps.enter_context(limit_slow_call(instance.parts.slow_calls, BIC, may_give_up=not is_payment))
            self._after(slow.seconds, lambda: self._check(slow, timeout, end))

    def _check(self, slow: SlowCheck, timeout: Any, end: Callable[[str], None]) -> None:
        try:
            slow.check()
        except GivenUp:
            self.figures.given_up += 1
            self._cancelled.add(timeout[1])
            end("given up")

    def _write_when_due(self, instance: Instance) -> None:
        """Write the counters of an instance once a minute, unless the instance waits for the bank."""
        self._after(WRITE_INTERVAL, lambda: self._write_when_due(instance))
        if instance.is_calling:
            instance.writes_at_end = True
        else:
            instance.write(self._now)

    def _after(self, seconds: float, happen: Callable[[], None]) -> tuple[float, int, Callable[[], None]]:
        event = (self._now + seconds, next(self._numbers), happen)
        heapq.heappush(self._events, event)
        return event


MINUTES = 10
TARGET = 1.0
"""The maximum percentage of throttled requests among the requests to other banks."""


@pytest.fixture(scope="module")
def hanging() -> Figures:
    return Fleet(partial(SharedCircuits, knows_downtimes=True)).run(MINUTES)


def test_a_hanging_bank_causes_throttling_of_other_requests_without_shared_circuit_breakers() -> None:
    figures = Fleet(lambda clock, store: OwnBreaker(clock)).run(MINUTES)

    assert figures.percent_throttled > 10 * TARGET


def test_less_than_1_percent_of_other_requests_are_throttled_because_of_a_hanging_bank(hanging: Figures) -> None:
    assert hanging.percent_throttled < TARGET
    assert max(map(hanging.percent_throttled_in, hanging.others)) < TARGET
    assert hanging.given_up > SLOTS


def test_with_the_slow_call_limit_alone_less_than_1_percent_of_other_requests_are_throttled() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=False)).run(MINUTES // 2)

    assert max(map(figures.percent_throttled_in, figures.others)) < TARGET


def test_with_slow_payments_less_than_1_percent_of_other_requests_are_throttled() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=True), payments=0.2).run(MINUTES // 2)

    assert figures.percent_throttled < TARGET


def test_all_instances_together_send_one_probe_in_30_seconds_during_a_known_downtime(hanging: Figures) -> None:
    known = [at for at in hanging.sent if at >= 120]
    assert len(known) <= (MINUTES - 2) * 60 / PROBE_SECONDS + 1


def test_calls_resume_within_90_seconds_of_the_first_response_of_a_bank() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=True), hangs_until=240, others_rate=1).run(MINUTES)

    resumed = [at for at in figures.answered if at >= 240 + PROBE_SECONDS + 90]
    assert len(resumed) > 0.9 * HANGING_RATE * (MINUTES * 60 - 240 - PROBE_SECONDS - 90)
