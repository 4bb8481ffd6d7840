"""Notes what happens to AWS while something is played: units of DynamoDB key by key, calls of other services, log."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from threading import Lock
from types import FrameType
from typing import Any
from unittest.mock import patch

from botocore.client import BaseClient
from botocore.endpoint import Endpoint

from chalicelib.application import Application
from chalicelib.foundation import log, parallel
from infra.capacity.units import (
    IN_A_TRANSACTION,
    Item,
    Table,
    index_units,
    query_units,
    read_units,
    tables,
    write_units,
)
from tests import lean_emulator
from tests.expressions import plain
from tests.tables import Refused

PREFIX = "causeway-local-"


@dataclass(frozen=True, slots=True)
class Place:
    """Where units are spent: a partition key's value in a table, or in one of its indexes."""

    table: str
    index: str
    partition: str


@dataclass
class Noted:
    """What was noted.

    Attributes:
        calls: names of operations by service, in their order: ``("dynamodb", "BatchGetItem")``.
        reads: read units by place, ``writes`` write units.
        absent: read units for what was not there; DynamoDB Local does not count these.
        waits: how often somebody waited for DynamoDB; what is asked at the same time is waited for once.
        log_bytes: of the lines of the log.
        processor: seconds of this process, without those of the emulator and of who calls.
    """

    calls: list[tuple[str, str]] = field(default_factory=list)
    reads: Counter[Place] = field(default_factory=Counter)
    writes: Counter[Place] = field(default_factory=Counter)
    absent: Decimal = Decimal(0)
    waits: int = 0
    log_bytes: int = 0
    processor: float = 0.0

    def of(self, service: str) -> list[str]:
        """The operations of a service."""
        return [name for known, name in self.calls if known == service]


@cache
def _tables() -> Mapping[str, Table]:
    return tables()


@contextlib.contextmanager
def noted() -> Iterator[Noted]:
    """What happens inside. DynamoDB has to be the emulator of this process."""
    notes, lock, away, handled, waves = Noted(), Lock(), [0.0], [0.0], _Waves()
    real_call, real_request, real_answer = BaseClient._make_api_call, Endpoint.make_request, lean_emulator.carried_out
    real_handle = Application.__call__

    def call(client: Any, operation: str, arguments: Any) -> Any:
        service = client.meta.service_model.service_name
        with lock:
            notes.calls.append((service, operation))
        if service == "dynamodb":
            waves.wait()
        return real_call(client, operation, arguments)

    def request(*arguments: Any) -> Any:
        started = time.thread_time()
        try:
            return real_request(*arguments)
        finally:
            with lock:
                away[0] += time.thread_time() - started

    def answer(operation: str, asked: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
        with lock:
            return _Call(notes, found).noted(operation, asked, lambda: real_answer(operation, asked, found))

    def handle(*arguments: Any) -> Any:
        started = time.process_time()
        try:
            return real_handle(*arguments)
        finally:
            handled[0] += time.process_time() - started

    lines = io.StringIO()
    handler = log.logger()._logger.handlers[0]
    before = handler.setStream(lines)  # type: ignore[attr-defined]
    with (
        patch.object(BaseClient, "_make_api_call", call),
        patch.object(Endpoint, "make_request", request),
        patch.object(lean_emulator, "carried_out", answer),
        patch.object(Application, "__call__", handle),
        patch.object(parallel, "_pool", waves.pool),
        contextlib.redirect_stdout(lines),
    ):
        started = time.process_time()
        try:
            yield notes
        finally:
            notes.processor = (handled[0] or time.process_time() - started) - away[0]
            handler.setStream(before)  # type: ignore[attr-defined]
    notes.log_bytes, notes.waits = len(lines.getvalue().encode()), waves.count


class _Waves:
    """Tells calls that are made at the same time from those that follow each other."""

    def __init__(self) -> None:
        self._alone = 0
        self._waves: dict[FrameType, Counter[int]] = {}
        self._place = threading.local()
        self._real = parallel._pool

    @property
    def count(self) -> int:
        """Calls one after the other, and for every wave as many as the longest of its members makes."""
        return self._alone + sum(max(members.values(), default=0) for members in self._waves.values())

    def wait(self) -> None:
        if (place := getattr(self._place, "now", None)) is None:
            self._alone += 1
        else:
            wave, member = place
            wave[member] += 1

    def pool(self) -> _Waves:
        """What ``together`` gives its calls to."""
        return self

    def submit(self, run: Callable[..., Any], call: Callable[[], Any]) -> Future[Any]:
        frame = sys._getframe(1)
        while frame.f_code.co_name != parallel.together.__name__:
            assert frame.f_back is not None
            frame = frame.f_back
        wave = self._waves.setdefault(frame, Counter())
        member = len(wave)
        wave[member] = 0

        def placed() -> Any:
            self._place.now = wave, member
            try:
                return run(call)
            finally:
                self._place.now = None

        return self._real().submit(placed)


@dataclass
class _Call:
    """One call of DynamoDB: notes the units that it takes."""

    notes: Noted
    held: Mapping[str, Any]

    def noted(self, operation: str, asked: dict[str, Any], answer: Any) -> dict[str, Any]:
        match operation:
            case "BatchGetItem":
                return self._batch_get(asked, answer)
            case "Query":
                return self._query(asked, answer)
            case "TransactWriteItems":
                members = [next(iter(member.items())) for member in asked["TransactItems"]]
                return self._write(members, IN_A_TRANSACTION, answer)
            case "PutItem" | "UpdateItem" | "DeleteItem":
                return self._write([(operation.removesuffix("Item"), asked)], 1, answer)
        raise NotImplementedError(f"{operation} is no call of a request's")

    def _batch_get(self, asked: Mapping[str, Any], answer: Any) -> dict[str, Any]:
        for name, wanted in asked["RequestItems"].items():
            for key in wanted["Keys"]:
                item = self._item(name, key)
                self._read(name, "", key[_tables()[name].keys[0]], Decimal(read_units([item])))
                self.notes.absent += item is None
        found: dict[str, Any] = answer()
        return found

    def _query(self, asked: Mapping[str, Any], answer: Any) -> dict[str, Any]:
        name, index = asked["TableName"], asked.get("IndexName", "")
        found: dict[str, Any] = answer()
        schema = {each.name: each.keys for each in _tables()[name].indexes} | {"": _tables()[name].keys}
        units = query_units(found["Items"], consistent=bool(asked.get("ConsistentRead")))
        self._read(name, index, _compared(asked, schema[index][0]), units)
        self.notes.absent += 0 if found["Items"] else units
        return found

    def _write(self, members: list[tuple[str, Any]], times: int, answer: Any) -> dict[str, Any]:
        places = [(inner["TableName"], inner["Item"] if kind == "Put" else inner["Key"]) for kind, inner in members]
        before = [self._item(*place) for place in places]
        try:
            found: dict[str, Any] = answer()
        except Refused:
            self._wrote(places, before, before, times)
            raise
        self._wrote(places, before, [self._item(*place) for place in places], times)
        return found

    def _wrote(self, places: Any, before: list[Item | None], after: list[Item | None], times: int) -> None:
        for (name, key), old, new in zip(places, before, after, strict=True):
            table = _tables()[name]
            partition = _text(key[table.keys[0]])
            self.notes.writes[Place(_short(name), "", partition)] += times * write_units(old, new)
            for index in table.indexes:
                if units := index_units(index, old, new):
                    entry = index.entry(new) or index.entry(old)
                    assert entry is not None
                    place = Place(_short(name), index.name, _text(entry[index.keys[0]]))
                    self.notes.writes[place] += times * units

    def _read(self, name: str, index: str, value: Mapping[str, Any], units: Decimal) -> None:
        self.notes.reads[Place(_short(name), index, _text(value))] += units  # type: ignore[assignment]

    def _item(self, name: str, key: Mapping[str, Any]) -> Item | None:
        held, (first, *more) = self.held[name].items, _tables()[name].keys
        found = held.get(plain(key[first]))
        if found is None or not more:
            return found  # type: ignore[no-any-return]
        return found.get(plain(key[more[0]]))  # type: ignore[no-any-return]


def _compared(asked: Mapping[str, Any], attribute: str) -> Mapping[str, Any]:
    """The value that a query's partition key is asked to have."""
    names = {name: each for each, name in asked["ExpressionAttributeNames"].items()}
    words = asked["KeyConditionExpression"].replace("(", " ").replace(")", " ").split()
    value: Mapping[str, Any] = asked["ExpressionAttributeValues"][words[words.index(names[attribute]) + 2]]
    return value


def _text(value: Mapping[str, Any]) -> str:
    return str(next(iter(value.values())))


def _short(name: str) -> str:
    return name.removeprefix(PREFIX)
