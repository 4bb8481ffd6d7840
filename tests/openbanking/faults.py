"""Storage that fails: faults that hit exactly one call of it, and the way back to the beginning.

A fault is put in below the store, between it and DynamoDB: *before* the call arrives, *after* it was applied, so that
only its answer is lost, or as a *conflict* with another writer (for a read: too much traffic).
"""

from __future__ import annotations

import contextlib
import copy
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from chalicelib.foundation.dynamodb.items import unpack
from tests.openbanking.call_sites import STORE, Service, Site, site_at
from tests.tables import rows
from tests.world import World

FAULTS = ("before", "after", "conflict")
JOURNEYS = ("authorizations", "consents", "payments", "statistics", "idempotency", "deliveries")
"""The tables that requests of open banking write."""
_STORE = "chalicelib.foundation.dynamodb.store"
_ADDRESS = "http://127.0.0.1:1"


@dataclass(frozen=True)
class Hit:
    """What a fault hit: DynamoDB's name of the call, and the places in the source that it came by, one or more."""

    sites: frozenset[Site]
    operation: str

    def __str__(self) -> str:
        return f"{self.operation} at {', '.join(map(str, sorted(self.sites)))}"

    @property
    def reads(self) -> bool:
        return self.operation in ("BatchGetItem", "Query")


class Fault:
    """One fault at the ``number``-th storage call that is made inside; with ``lasting``, its repeats fail as well.

    With ``operation`` only calls that DynamoDB has under this name are counted.
    """

    def __init__(
        self, world: World, kind: str = "before", number: int = 0, *, lasting: bool = False, operation: str = ""
    ) -> None:
        self.kind = kind
        self.number = number
        self.lasting = lasting
        self.operation = operation
        self.hit: Hit | None = None
        self.calls: list[Hit] = []
        self._events = world.hub.store._client.meta.events
        self._struck: FrameType | None = None
        self._strikes = False
        self._rests = False

    def __str__(self) -> str:
        return f"{'lasting ' if self.lasting else ''}{self.kind} hits {self.hit or 'nothing'} (call {self.number})"

    def __enter__(self) -> Fault:
        self._events.register_first("before-call.dynamodb", self._before)
        self._events.register_first("after-call.dynamodb", self._after)
        return self

    def __exit__(self, *_: object) -> None:
        self._events.unregister("before-call.dynamodb", self._before)
        self._events.unregister("after-call.dynamodb", self._after)

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        """Has the calls made inside pass unharmed and uncounted."""
        self._rests = True
        try:
            yield
        finally:
            self._rests = False

    def loses_what_was_applied(self) -> bool:
        """Whether a write took place and nobody will ever be told."""
        return self.lasting and self.kind == "after"

    def _before(self, model: Any, params: Any, **_: Any) -> None:
        self._strikes = False
        if self._rests:
            return
        method = _method()
        self.calls.append(Hit(frozenset(came_by(method, STORE)), model.name))
        self._strikes = self._is_struck(method)
        if self._strikes and self.kind == "before":
            raise _unreachable(self.number, model.name)
        if self._strikes and self.kind == "conflict":
            raise _conflict(model.name, params)

    def _after(self, **_: Any) -> None:
        strikes, self._strikes = self._strikes, False  # another fault may answer the repeat, unseen by this one
        if strikes:
            raise ReadTimeoutError(endpoint_url=_ADDRESS)

    def _is_struck(self, method: FrameType) -> bool:
        """Whether this call of DynamoDB is the one; repeats are made by the same call of the store."""
        counted = [call for call in self.calls if self.operation in ("", call.operation)]
        if self._struck is None and len(counted) == self.number:
            self._struck, self.hit = method, self.calls[-1]
            return True
        return self.lasting and method is self._struck


def _method() -> FrameType:
    """The frame of the store's method that is calling DynamoDB."""
    frame = sys._getframe()
    while _module(frame) != _STORE:
        assert frame.f_back is not None, "DynamoDB is called by the store only"
        frame = frame.f_back
    while frame.f_back is not None and _module(frame.f_back) == _STORE:
        frame = frame.f_back
    return frame


def came_by(inside: FrameType, service: Service) -> Iterator[Site]:
    """Where a service was called or handed on, from a frame inside of it outwards."""
    frame: FrameType | None = inside
    while frame is not None:
        site = site_at(_module(frame), frame.f_lineno, service)
        if site is not None:
            yield site
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _unreachable(number: int, operation: str) -> Exception:
    """One of the ways in which DynamoDB cannot be reached, or fails by itself."""
    ways: tuple[Exception, ...] = (
        EndpointConnectionError(endpoint_url=_ADDRESS),
        ConnectTimeoutError(endpoint_url=_ADDRESS),
        ClientError({"Error": {"Code": "InternalServerError", "Message": ""}}, operation),
    )
    return ways[number % len(ways)]


def _conflict(operation: str, params: Any) -> ClientError:
    error: dict[str, Any] = {"Error": {"Code": "TransactionConflictException", "Message": ""}}
    if operation == "TransactWriteItems":
        others = [{"Code": "None"}] * (len(json.loads(params["body"])["TransactItems"]) - 1)
        reasons = [*others, {"Code": "TransactionConflict"}]
        error = {"Error": {"Code": "TransactionCanceledException", "Message": ""}, "CancellationReasons": reasons}
    elif operation in ("BatchGetItem", "Query"):
        error = {"Error": {"Code": "ThrottlingException", "Message": ""}}
    return ClientError(error, operation)


# -- what is stored


def table_of(world: World, name: str) -> Any:
    """One of the emulator's tables."""
    from moto.dynamodb.models import dynamodb_backends

    region = world.hub.store._client.meta.region_name
    return dynamodb_backends["123456789012"][region].tables[f"{world.hub.settings.prefix}-{name}"]


def items(world: World, table: str) -> list[dict[str, Any]]:
    """Everything in a table, read past the store: no call, and no time."""
    return [unpack(row) for row in rows(table_of(world, table))]


class Snapshot:
    """What some tables hold, and the time, to come back to."""

    def __init__(self, world: World, tables: Sequence[str] = JOURNEYS) -> None:
        self._world = world
        self._items = {name: _copy(table_of(world, name).items) for name in tables}
        self._clock = dict(vars(world.clock))

    def restore(self) -> None:
        """Back to then; the banks and the client have received nothing since."""
        for name, kept in self._items.items():
            table_of(self._world, name).items = _copy(kept)
        vars(self._world.clock).update(self._clock)
        self._world.receiver.received.clear()
        self._world.receiver.answers.clear()
        for side in self._world.banks.values():
            side.received.clear()
            self._world.hub.openbanking.bank_client.breaker.record_success(
                side.bank.bic
            )  # the failures of other runs do not count


def _copy(items: Any) -> Any:
    """A table's items, of which none is ever changed in place."""
    kept = copy.copy(items)
    kept.update({key: copy.copy(inner) for key, inner in items.items()})
    return kept
