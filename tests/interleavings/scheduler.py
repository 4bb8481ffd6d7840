"""Concurrent execution of requests, one DynamoDB call at a time, in the order of a schedule.

Each request is a thread that waits before every call until the schedule selects the request, so only one thread runs at
a time. A schedule is a list of request numbers, one for each call, so the effect of a schedule is deterministic.
Parallel calls of a request run in order (``parallel.WIDTH`` is 1).

Two adjacent calls have the same effect in both orders if they have no common item, or if both calls only read the
common
item. For each set of equivalent schedules, only the schedule that begins with the lowest number is executed.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast, get_args
from unittest.mock import patch

from chalicelib.foundation import parallel
from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.aws.errors import NoAnswer
from tests.infra.deployment import for_stage
from tests.kit.time import PATIENCE_SECONDS

Request = Callable[[], Any]
Schedule = tuple[int, ...]
Item = tuple[str, str]
"""A table, and the key of an item in the table. For a query, the key contains the values with which the query compares
keys.
"""
_READS = ("BatchGetItem", "ConditionCheck", "GetItem", "Query")

FaultKind = Literal["lost", "crash before", "crash after"]


@dataclass(frozen=True)
class Fault:
    """A fault of a call. The call is identified by the request number and the call number, both counted from 0.

    The response is lost after the call, or the request's process ends before or after the call.
    """

    request: int
    call: int
    kind: FaultKind

    def __str__(self) -> str:
        return f"{self.request}.{self.call} {self.kind}"

    @classmethod
    def read(cls, text: str) -> Fault:
        place, _, kind = text.partition(" ")
        request, _, call = place.partition(".")
        if kind not in get_args(FaultKind):
            raise ValueError(f"there is no fault {kind!r}")
        return cls(int(request), int(call), cast("FaultKind", kind))


class Crashed(BaseException):
    """Raised if a request ends because the process of the request crashed."""


@dataclass(frozen=True)
class Footprint:
    """The items that a call reads and writes. A query reads the whole table."""

    read: frozenset[Item]
    written: frozenset[Item]
    queried: frozenset[str]

    def commutes(self, other: Footprint) -> bool:
        return not (self.written & other.written or self.reads_from(other) or other.reads_from(self))

    def reads_from(self, other: Footprint) -> bool:
        return bool(self.read & other.written or self.queried & {table for table, _ in other.written})


@dataclass(frozen=True)
class Execution:
    """The execution of a schedule.

    Attributes:
        schedule: the number of the request that made each call.
        choices: for each call, the requests that could have made the call. Requests that come first in an equivalent
            schedule are omitted.
        items: the items that each request read or wrote.
        results: the return value or the exception of each request.
    """

    schedule: Schedule
    choices: Sequence[Sequence[int]]
    items: Sequence[set[Item]]
    results: Sequence[Any]

    @property
    def shared_items(self) -> set[Item]:
        return set.intersection(*self.items)

    def reaches(self, fault: Fault) -> bool:
        return self.schedule.count(fault.request) > fault.call


@dataclass
class _Scheduler:
    """A scheduler that lets one request run at a time.

    The state of a request is ``running``, ``waiting`` for the next call, ``crashed`` until the request ends, or
    ``done``.
    """

    schedule: Schedule
    fault: Fault | None
    states: dict[int, str]
    items: list[set[Item]]
    footprints: dict[int, Footprint] = field(default_factory=dict)
    last: Footprint | None = None
    calls: list[int] = field(default_factory=list)
    choices: list[list[int]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    thread: threading.local = field(default_factory=threading.local)

    def observe(self, call: Call, proceed: Proceed) -> Members:
        number = getattr(self.thread, "number", None)
        if number is not None and self.states[number] == "crashed":
            raise Crashed
        if number is None or call.service != "dynamodb":
            return proceed(call)
        self.footprints[number] = _footprint_of(call)
        self.items[number] |= self.footprints[number].read | self.footprints[number].written
        self._change(number, "waiting")
        with self.changed:
            self._wait_until(lambda: self.states[number] == "running")
            index = self.calls.count(number) - 1
        if self.fault is not None and (self.fault.request, self.fault.call) == (number, index):
            return self._fail(number, self.fault.kind, call, proceed)
        return proceed(call)

    def _fail(self, number: int, kind: str, call: Call, proceed: Proceed) -> Members:
        if kind != "crash before":
            proceed(call)
        if kind == "lost":
            raise NoAnswer(call.operation)
        self.states[number] = "crashed"
        raise Crashed

    def run(self, number: int, request: Request, results: list[Any]) -> None:
        self.thread.number = number
        try:
            results[number] = request()
        except (Exception, Crashed) as error:
            results[number] = error
        self._change(number, "done")

    def start(self, number: int, thread: threading.Thread) -> None:
        """Start a request, which runs until its first call."""
        self.states[number] = "running"
        thread.start()
        with self.changed:
            self._wait_until(lambda: self.states[number] != "running")

    def run_in_turn(self) -> None:
        """Run the requests' calls one at a time until all requests are done."""
        with self.changed:
            while True:
                self._wait_until(lambda: not {"running", "crashed"} & {*self.states.values()})
                waiting = [number for number, state in self.states.items() if state == "waiting"]
                if not waiting:
                    return
                choices = [number for number in waiting if not self._comes_first_elsewhere(number)]
                wanted = self.schedule[len(self.calls)] if len(self.calls) < len(self.schedule) else None
                chosen = wanted if wanted in waiting else (choices or waiting)[0]
                self.calls.append(chosen)
                self.choices.append(choices)
                self.last = self.footprints[chosen]
                self.states[chosen] = "running"
                self.changed.notify_all()

    def _comes_first_elsewhere(self, number: int) -> bool:
        """Return whether an equivalent schedule makes this call before the last call, because the request of this call
        has a lower number.
        """
        return bool(self.last and number < self.calls[-1] and self.footprints[number].commutes(self.last))

    def _change(self, number: int, state: str) -> None:
        with self.changed:
            self.states[number] = state
            self.changed.notify_all()

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        assert self.changed.wait_for(condition, PATIENCE_SECONDS), "a request waits for another, and not for storage"


def execute(requests: Sequence[Request], schedule: Schedule, fault: Fault | None = None) -> Execution:
    """Run requests concurrently in the order of ``schedule``. After the end of the schedule, the first ready request
    continues.
    """
    scheduler = _Scheduler(schedule, fault, {}, [set() for _ in requests])
    results: list[Any] = [None] * len(requests)
    with observe(scheduler.observe), patch.object(parallel, "WIDTH", 1):
        for number, request in enumerate(requests):
            thread = threading.Thread(target=scheduler.run, args=(number, request, results), daemon=True)
            scheduler.start(number, thread)
        scheduler.run_in_turn()
    return Execution(tuple(scheduler.calls), scheduler.choices, scheduler.items, results)


def explore(execute_one: Callable[[Schedule], Execution], chance: random.Random | None = None) -> Iterator[Execution]:
    """Execute every schedule once. Schedules that differ only in the order of independent calls are executed once.

    All executions start with the same stored data. If ``chance`` is given, the schedules run in random order.
    """
    prefixes: list[Schedule] = [()]
    while prefixes:
        prefix = prefixes.pop(chance.randrange(len(prefixes)) if chance else -1)
        execution = execute_one(prefix)
        assert execution.schedule[: len(prefix)] == prefix, "the same calls come in the same order each time"
        if all(execution.choices):
            yield execution
        for position in range(len(prefix), len(execution.schedule)):
            others = [each for each in execution.choices[position] if each != execution.schedule[position]]
            prefixes += [(*execution.schedule[:position], each) for each in others]


def _footprint_of(call: Call) -> Footprint:
    accesses = [*_accesses_of(call.operation, call.body)]
    read = frozenset(item for operation, item in accesses if operation in _READS)
    written = frozenset(item for operation, item in accesses if operation not in _READS)
    queried = {call.body["TableName"]} if call.operation in ("Query", "Scan") else set()
    return Footprint(read, written, frozenset(queried))


def _accesses_of(operation: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Item]]:
    for table, wanted in body.get("RequestItems", {}).items():
        yield from ((operation, _item(table, key)) for key in wanted["Keys"])
    for each in body.get("TransactItems", ()):
        yield from _accesses_of(*next(iter(each.items())))
    table = body.get("TableName", "")
    if "Key" in body:
        yield operation, _item(table, body["Key"])
    if "Item" in body:
        yield operation, _item(table, {name: body["Item"][name] for name in _key_names()[table]})
    if operation == "Query":
        yield operation, _item(table, body["ExpressionAttributeValues"])


def _item(table: str, key: Mapping[str, Any]) -> Item:
    return table, str(sorted(key.items()))


@cache
def _key_names() -> Mapping[str, Sequence[str]]:
    tables = for_stage("local").tables()
    return {table["TableName"]: [key["AttributeName"] for key in table["KeySchema"]] for table in tables}
