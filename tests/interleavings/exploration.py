"""Runs concurrent requests with different orders (schedules) of their calls. An outcome is reported as an error if no
sequential execution of the requests has this outcome.

If a fault is simulated, the sequential executions include executions with a fault of the same kind at any call of the
affected request. If a response asks the client to retry, the request may be omitted from the sequential execution.

If the first of two requests crashes, clean-up jobs run before the second request. The jobs also crash at a random call
and run again. The outcome must be the same as if the first request had completed or had not been sent. Some rules allow
an unknown outcome.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, islice, permutations
from typing import get_args
from unittest.mock import patch

from chalicelib.cards.jobs import finish_payments_and_holds
from chalicelib.cards.storage import sequences
from chalicelib.delivery import receiver_slots, worker
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.dynamodb import sharded_index
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.protocol.refusals import NEVER_ENDED
from tests.causeway import Causeway
from tests.interleavings.outcomes import Baseline, Outcome, asks_for_repeat, difference, format_answers
from tests.interleavings.races import Race, Requests
from tests.interleavings.scheduler import Execution, Fault, FaultKind, Request, Schedule, execute, explore
from tests.openbanking.fault_scenarios import InMemory

LATER = "later"
"""The part of an id that replaces the schedule if the second request runs after a crash."""
_SECOND = 3
_KINDS: Sequence[FaultKind] = ("crash before", "crash after")
_VERSION = re.compile(r'"version": \d+')
_UNKNOWN = '"outcome": "unknown"'
_READS = ("/accounts:", "/v2_accounts:")
_PAYMENTS = ("payments:", "idempotency:", "/v2_payment_single:")


@dataclass(frozen=True)
class Findings:
    """The results of exploring schedules.

    Attributes:
        executed: the number of schedules.
        shared: the number of schedules in which all requests accessed the same item.
        wrong: the differences from the allowed outcomes, by the schedule's digits and its fault.
    """

    executed: int = 0
    shared: int = 0
    wrong: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.executed + other.executed, self.shared + other.shared, self.wrong | other.wrong)


class PreparedRace:
    """Competing requests that are prepared in a service. Every run begins with the same state."""

    def __init__(self, causeway: Causeway, requests: Requests) -> None:
        self.causeway = causeway
        self.requests = requests
        self.baseline = Baseline(causeway)

    def group(self, names: str, most: int | None = None, chance: random.Random | None = None) -> Group:
        """Return the requests with these names, limited to ``most`` schedules in random order. Raises: KeyError."""
        return Group(self.baseline, [self.requests.take(name) for name in names.split(", ")], most, chance)


class _LazyOutcomes:
    def __init__(self, outcomes: Iterator[Outcome]) -> None:
        self._found: set[Outcome] = set()
        self._further = outcomes

    def __contains__(self, outcome: Outcome) -> bool:
        while outcome not in self._found:
            if (another := next(self._further, None)) is None:
                return False
            self._found.add(another)
        return True

    def __iter__(self) -> Iterator[Outcome]:
        self._found.update(self._further)
        return iter(self._found)


class Group:
    def __init__(
        self, baseline: Baseline, requests: Sequence[Request], most: int | None, chance: random.Random | None
    ) -> None:
        self._baseline = baseline
        self._requests = requests
        self._most, self._chance = most, chance
        self._numbers = tuple(range(len(requests)))
        self._allowed: dict[tuple[Schedule, tuple[int, FaultKind] | None], _LazyOutcomes] = {}
        for first in self._numbers:  # fill caches, and take blocks of identifiers
            self._run_serially((first, *(each for each in self._numbers if each != first)))

    @cached_property
    def faults(self) -> Sequence[Fault]:
        """Return every fault of every call. A call is included if the request makes the call in any order."""
        calls: Counter[int] = Counter()
        for each in self._executions():  # a request that comes second makes more calls
            calls |= Counter(each.schedule)
        kinds: Sequence[FaultKind] = get_args(FaultKind)
        return [
            Fault(number, call, kind) for number in self._numbers for call in range(calls[number]) for kind in kinds
        ]

    def execute(self, schedule: Schedule, fault: Fault | None = None) -> Execution:
        self._baseline.restore()
        return execute(self._requests, schedule, fault)

    def explore(self, fault: Fault | None = None) -> Findings:
        found = Findings()
        for each in self._executions(fault):
            wrong = self._baseline.ledger_mismatch()
            outcome = self._baseline.outcome(each.results)
            if not self._allows(outcome, each, fault):
                wrong += difference(outcome, self._serial_outcomes(self._numbers, fault))
            identifier = "".join(map(str, each.schedule)) + (f":{fault}" if fault else "")
            found += Findings(1, int(bool(each.shared_items)), {identifier: wrong} if wrong else {})
        return found

    def explore_with_faults(self) -> Findings:
        return sum(map(self.explore, self.faults), self.explore())

    def _executions(self, fault: Fault | None = None) -> Iterator[Execution]:
        return islice(explore(lambda schedule: self.execute(schedule, fault), self._chance), self._most)

    def _allows(self, outcome: Outcome, execution: Execution, fault: Fault | None) -> bool:
        """Return whether a sequential execution has the given outcome. Requests whose responses ask for a retry may be
        omitted.
        """
        repeated = [number for number in self._numbers if asks_for_repeat(execution.results[number])]
        for size in range(len(repeated) + 1):
            for left_out in combinations(repeated, size):
                done = tuple(number for number in self._numbers if number not in left_out)
                answers = format_answers([execution.results[number] for number in done])
                if done and outcome._replace(answers=answers) in self._serial_outcomes(done, fault):
                    return True
        return False

    def _serial_outcomes(self, numbers: Schedule, fault: Fault | None) -> _LazyOutcomes:
        """Return the outcomes of requests in any sequential order, without a fault or with a fault of the same kind."""
        alike = (fault.request, fault.kind) if fault and fault.request in numbers else None
        if (numbers, alike) not in self._allowed:
            faults = [each for each in self.faults if (each.request, each.kind) == alike] if alike else []
            self._allowed[numbers, alike] = _LazyOutcomes(
                self._run_serially(order, each) for each in (None, *faults) for order in permutations(numbers)
            )
        return self._allowed[numbers, alike]

    def _run_serially(self, order: Schedule, fault: Fault | None = None) -> Outcome:
        """Run the requests sequentially in the order of ``order``. Return the outcome, with the responses sorted by
        request number.
        """
        self._baseline.restore()
        requests = [self._requests[number] for number in order]
        results = execute(requests, (), fault and replace(fault, request=order.index(fault.request))).results
        return self._baseline.outcome([results[order.index(number)] for number in sorted(order)])


def clean_up(causeway: Causeway, minutes: int) -> None:
    """Run scheduled jobs and workers some minutes later, after the queue has lost its messages."""
    causeway.clock.advance(minutes * 60)
    InMemory.install(causeway.hub.delivery)
    causeway.hub.delivery.call(sweep)
    for message in causeway.hub.delivery.queue.ids:  # type: ignore[attr-defined]
        causeway.hub.delivery.worker.attempt(message)
    causeway.hub.openbanking.call(record_due_events)
    finish_payments_and_holds(causeway.hub.cards)


class CrashRecovery:
    """A run of two competing requests in which the first request crashes and then the second request runs."""

    def __init__(self, race: PreparedRace, names: str) -> None:
        self._causeway, self._baseline = race.causeway, race.baseline
        self._first, self._second = (race.requests.take(name) for name in names.split(", "))
        for _ in range(2):  # the first time fills caches, and takes blocks of identifiers
            self._never, self._completed = self.outcome(self._run(lambda: None)), self.outcome(self.run())
        first, jobs, *_ = self.run()
        self._crashes, self._job_crashes = _crashes_of(0, first), _crashes_of(1, jobs)

    def explore(self, chance: random.Random) -> Findings:
        """Crash the first request at each of its calls. Run each crash once alone, and once with a random crash of the
        jobs.
        """
        found = Findings()
        for crash in self._crashes:
            found += self._judge(crash) + self._judge(crash, chance.choice(self._job_crashes))
        return found

    def run(self, *crashes: Fault) -> Sequence[Execution]:
        return self._run(self._first, *crashes)

    def outcome(self, executions: Sequence[Execution]) -> Outcome:
        outcome = self._baseline.outcome(executions[_SECOND].results)
        stored = (_VERSION.sub("", line) for line in outcome.stored if not line.startswith("deliveries:"))
        return outcome._replace(stored=tuple(stored))

    def _run(self, first: Request, *crashes: Fault) -> Sequence[Execution]:
        self._baseline.restore()
        jobs: list[Request] = [partial(clean_up, self._causeway, minutes) for minutes in (3, 5, 20)]
        requests = [first, *jobs[:2], self._second, jobs[2]]
        struck = {crash.request: replace(crash, request=0) for crash in crashes}
        return [execute([request], (), struck.get(number)) for number, request in enumerate(requests)]

    def _judge(self, *crashes: Fault) -> Findings:
        executions = self.run(*crashes)
        outcome, wrong = self.outcome(executions), self._baseline.ledger_mismatch()
        if not self._allows(outcome):
            wrong += difference(outcome, [self._never, self._completed])
        shared = executions[0].items[0] & executions[_SECOND].items[0]
        identifier = f"{LATER}:{', '.join(map(str, crashes))}"
        return Findings(1, int(bool(shared)), {identifier: wrong} if wrong else {})

    def _allows(self, outcome: Outcome) -> bool:
        """Return whether the outcome matches a completed first request, an omitted first request, or a documented
        exception.

        A read is counted before the read is made. For a payment that began and never ended, the bank's state is
        unknown. A retry returns the unknown outcome and is not sent.
        """
        allowed = [self._never, self._completed]
        if any(_UNKNOWN in line for line in outcome.stored):
            if {*outcome.received} - {*self._never.received, *self._completed.received}:
                return False
            if NEVER_ENDED.sentence in outcome.answers:
                allowed = [each._replace(answers=outcome.answers) for each in allowed]
            return _without(_PAYMENTS, outcome) in [_without(_PAYMENTS, each) for each in allowed]
        return outcome in allowed or _without(_READS, outcome) == _without(_READS, self._completed)


def _crashes_of(number: int, execution: Execution) -> list[Fault]:
    return [Fault(number, call, kind) for call in range(len(execution.schedule)) for kind in _KINDS]


def _without(prefixes: tuple[str, ...], outcome: Outcome) -> Outcome:
    received, stored = (
        tuple(line for line in lines if not line.startswith(prefixes)) for lines in (outcome.received, outcome.stored)
    )
    return outcome._replace(received=received, stored=stored)


@contextmanager
def prepared(causeway: Causeway, race: Race) -> Iterator[PreparedRace]:
    """Prepare competing requests. The client and the programme manager of the requests receive events.

    Every run makes the same small number of calls: each process takes a large block of identifiers, indexes have one
    shard, and slots are assigned in order.
    """
    causeway.tpp.set_events_url()
    with (
        causeway.manager_wants_events(),
        patch.object(sequences, "BLOCK", 10**6),
        patch.object(sharded_index, "SHARDS", 1),
        patch.object(worker, "any_slot", lambda lane: receiver_slots.Slot(lane, 0)),
        patch("chalicelib.delivery.receiver_slots.random.shuffle"),
    ):
        yield PreparedRace(causeway, race.prepare(causeway))
