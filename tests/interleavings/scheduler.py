"""Requests that are made at the same time, one call of DynamoDB after the other, in the order of a schedule.

Each request is a thread, which waits before every call until it is its turn; only one is running at a time. So a
schedule, the numbers of the requests whose calls come one after the other, always has the same effect. Calls that a
request makes together are made in order (``parallel.WIDTH`` is 1).

Two calls in a row that touch no common item, or only read it, have the same effect the other way round. Of the
schedules that differ only so, one is played: that with the lowest number first.
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
from tests.infra.resources import for_stage
from tests.kit.time import PATIENCE_SECONDS

Request = Callable[[], Any]
Schedule = tuple[int, ...]
Item = tuple[str, str]
"""A table, and the key of an item; of a query, the values that it compares keys with."""
_READS = ("BatchGetItem", "ConditionCheck", "GetItem", "Query")

FaultKind = Literal["lost", "crash before", "crash after"]


@dataclass(frozen=True)
class Fault:
    """What happens to a call, by the number of its request and its number there, from 0.

    Its answer is lost after it was carried out, or its request ends with its process, before the call or after it.
    """

    request: int
    call: int
    kind: FaultKind

    def __str__(self) -> str:
        return f"{self.request}.{self.call} {self.kind}"

    @classmethod
    def read(cls, text: str) -> Fault:
        """The fault that is shown so. Raises: ValueError."""
        place, _, kind = text.partition(" ")
        request, _, call = place.partition(".")
        if kind not in get_args(FaultKind):
            raise ValueError(f"there is no fault {kind!r}")
        return cls(int(request), int(call), cast("FaultKind", kind))


class Crashed(BaseException):
    """A request ended with its process."""


@dataclass(frozen=True)
class Footprint:
    """What a call reads and writes; of a query, the whole table counts."""

    read: frozenset[Item]
    written: frozenset[Item]
    queried: frozenset[str]

    def commutes(self, other: Footprint) -> bool:
        """Whether two calls of different requests have the same effect in both orders."""
        return not (self.written & other.written or self._reads_from(other) or other._reads_from(self))

    def _reads_from(self, other: Footprint) -> bool:
        return bool(self.read & other.written or self.queried & {table for table, _ in other.written})


@dataclass(frozen=True)
class Played:
    """A schedule that was played.

    Attributes:
        schedule: the number of the request that made each call.
        choices: the numbers of the requests that could have made it, without those that come first in another schedule.
        items: the items that each request read or wrote.
        results: what each request returned, or its exception.
    """

    schedule: Schedule
    choices: Sequence[Sequence[int]]
    items: Sequence[set[Item]]
    results: Sequence[Any]

    @property
    def shared_items(self) -> set[Item]:
        """The items that all requests read or wrote."""
        return set.intersection(*self.items)

    def reaches(self, fault: Fault) -> bool:
        """Whether a request makes the call that a fault strikes."""
        return self.schedule.count(fault.request) > fault.call


@dataclass
class _Turns:
    """Whose turn it is: a request is ``running``, ``waiting`` for its turn, ``crashed`` until it ends, or ``done``."""

    schedule: Schedule
    fault: Fault | None
    states: dict[int, str]
    items: list[set[Item]]
    footprints: dict[int, Footprint] = field(default_factory=dict)
    last: Footprint | None = None
    made: list[int] = field(default_factory=list)
    choices: list[list[int]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    here: threading.local = field(default_factory=threading.local)

    def see(self, call: Call, proceed: Proceed) -> Members:
        number = getattr(self.here, "number", None)
        if number is not None and self.states[number] == "crashed":
            raise Crashed
        if number is not None and call.service == "dynamodb":
            self.footprints[number] = _footprint_of(call)
            self.items[number] |= self.footprints[number].read | self.footprints[number].written
            self._change(number, "waiting")
            with self.changed:
                self._wait_until(lambda: self.states[number] == "running")
                index = self.made.count(number) - 1
            if self.fault is not None and (self.fault.request, self.fault.call) == (number, index):
                return self._fail(self.fault.kind, call, proceed)
        return proceed(call)

    def _fail(self, kind: str, call: Call, proceed: Proceed) -> Members:
        if kind != "crash before":
            proceed(call)
        if kind == "lost":
            raise NoAnswer(call.operation)
        self.states[self.here.number] = "crashed"
        raise Crashed

    def run(self, number: int, request: Request, results: list[Any]) -> None:
        self.here.number = number
        try:
            results[number] = request()
        except (Exception, Crashed) as error:
            results[number] = error
        self._change(number, "done")

    def start(self, number: int, thread: threading.Thread) -> None:
        """Start a request, which goes on to its first call."""
        self.states[number] = "running"
        thread.start()
        with self.changed:
            self._wait_until(lambda: self.states[number] != "running")

    def control(self) -> None:
        """Let one request after the other make its next call, until all are done."""
        with self.changed:
            while True:
                self._wait_until(lambda: not {"running", "crashed"} & {*self.states.values()})
                waiting = [number for number, state in self.states.items() if state == "waiting"]
                if not waiting:
                    return
                choices = [number for number in waiting if not self._comes_first_elsewhere(number)]
                wanted = self.schedule[len(self.made)] if len(self.made) < len(self.schedule) else None
                chosen = wanted if wanted in waiting else (choices or waiting)[0]
                self.made.append(chosen)
                self.choices.append(choices)
                self.last = self.footprints[chosen]
                self.states[chosen] = "running"
                self.changed.notify_all()

    def _comes_first_elsewhere(self, number: int) -> bool:
        """Whether a request's call has the same effect before the last one, where its lower number belongs."""
        return bool(self.last and number < self.made[-1] and self.footprints[number].commutes(self.last))

    def _change(self, number: int, state: str) -> None:
        with self.changed:
            self.states[number] = state
            self.changed.notify_all()

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        assert self.changed.wait_for(is_so, PATIENCE_SECONDS), "a request waits for another one, and not for storage"


def play(requests: Sequence[Request], schedule: Schedule, fault: Fault | None = None) -> Played:
    """Make requests at the same time. After the end of ``schedule``, the first that can goes on."""
    turns = _Turns(schedule, fault, {}, [set() for _ in requests])
    results: list[Any] = [None] * len(requests)
    threads = [
        threading.Thread(target=turns.run, args=(number, request, results), daemon=True)
        for number, request in enumerate(requests)
    ]
    with observe(turns.see), patch.object(parallel, "WIDTH", 1):
        for number, thread in enumerate(threads):
            turns.start(number, thread)
        turns.control()
    return Played(tuple(turns.made), turns.choices, turns.items, results)


def play_all(play_one: Callable[[Schedule], Played], chance: random.Random | None = None) -> Iterator[Played]:
    """Play every schedule once, up to the order of calls that commute; ``play_one`` begins with the same storage.

    They come in an order by ``chance``, if it is given.
    """
    beginnings: list[Schedule] = [()]
    while beginnings:
        beginning = beginnings.pop(chance.randrange(len(beginnings)) if chance else -1)
        played = play_one(beginning)
        assert played.schedule[: len(beginning)] == beginning, "the same calls come in the same order each time"
        if all(played.choices):
            yield played
        for position in range(len(beginning), len(played.schedule)):
            others = [each for each in played.choices[position] if each != played.schedule[position]]
            beginnings += [(*played.schedule[:position], each) for each in others]


def _footprint_of(call: Call) -> Footprint:
    accesses = [*_accesses_of(call.operation, call.body)]
    read = frozenset(item for operation, item in accesses if operation in _READS)
    written = frozenset(item for operation, item in accesses if operation not in _READS)
    queried = {call.body["TableName"]} if call.operation in ("Query", "Scan") else set()
    return Footprint(read, written, frozenset(queried))


def _accesses_of(operation: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Item]]:
    """The items that a call reads or writes, each with the operation."""
    for table, wanted in body.get("RequestItems", {}).items():
        yield from ((operation, _item(table, key)) for key in wanted["Keys"])
    for each in body.get("TransactItems", ()):
        yield from _accesses_of(*next(iter(each.items())))
    if "Key" in body:
        yield operation, _item(body["TableName"], body["Key"])
    if "Item" in body:
        yield (
            operation,
            _item(body["TableName"], {name: body["Item"][name] for name in _key_names()[body["TableName"]]}),
        )
    if operation == "Query":
        yield operation, _item(body["TableName"], body["ExpressionAttributeValues"])


def _item(table: str, key: Mapping[str, Any]) -> Item:
    return table, str(sorted(key.items()))


@cache
def _key_names() -> Mapping[str, Sequence[str]]:
    """The names of each table's key attributes."""
    return {
        table["TableName"]: [key["AttributeName"] for key in table["KeySchema"]]
        for table in for_stage("local").tables()
    }
