"""Storage faults that affect exactly one call, and snapshots that restore the initial state.

A fault is injected between the store and DynamoDB. The fault occurs *before* the call arrives, or *after* the call was
applied (the response is lost), or as a *conflict* with another writer (for a read: throttling).
"""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.aws.environment import endpoint
from chalicelib.foundation.aws.errors import ErrorResponse, NoAnswer, NotSent
from chalicelib.foundation.dynamodb.items import unpack
from tests.causeway import Causeway
from tests.kit.tables import rows
from tests.log_traces import TRACE
from tests.openbanking.call_sites import STORE, Service, Site, site_at

FAULTS = ("before", "after", "conflict")
JOURNEYS = ("authorizations", "consents", "payments", "statistics", "idempotency", "deliveries")
_STORE = "chalicelib.foundation.dynamodb.store"


@dataclass(frozen=True)
class Hit:
    """A call affected by a fault: the DynamoDB operation, and the call sites in the source that led to it."""

    sites: frozenset[Site]
    operation: str

    def __str__(self) -> str:
        return f"{self.operation} at {', '.join(map(str, sorted(self.sites)))}"

    @property
    def reads(self) -> bool:
        return self.operation in ("BatchGetItem", "Query")


class Fault:
    """A simulated storage fault at the call with the given ``number``. If ``lasting`` is true, all retries of the call
    also fail.

    If ``operation`` is given, only calls of this DynamoDB operation are counted.
    """

    def __init__(
        self, causeway: Causeway, kind: str = "before", number: int = 0, *, lasting: bool = False, operation: str = ""
    ) -> None:
        self.kind = kind
        self.number = number
        self.lasting = lasting
        self.operation = operation
        self.hit: Hit | None = None
        self.calls: list[Hit] = []
        self._struck: FrameType | None = None
        self._rests = False
        self._observation = contextlib.ExitStack()

    def __str__(self) -> str:
        return f"{'lasting ' if self.lasting else ''}{self.kind} hits {self.hit or 'nothing'} (call {self.number})"

    def __enter__(self) -> Fault:
        self._observation.enter_context(observe(self._see))
        return self

    def __exit__(self, *_: object) -> None:
        self._observation.close()

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        """Suspend the fault within the block. Calls in the block succeed and are not counted."""
        self._rests = True
        try:
            yield
        finally:
            self._rests = False

    def loses_what_was_applied(self) -> bool:
        return self.lasting and self.kind == "after"

    def _see(self, call: Call, proceed: Proceed) -> Members:
        if self._rests or call.service != "dynamodb":
            return proceed(call)
        method = _method()
        self.calls.append(Hit(frozenset(came_by(method, STORE)), call.operation))
        strikes = self._is_struck(method)
        if strikes and self.kind == "before":
            raise _unreachable(self.number, call.operation)
        if strikes and self.kind == "conflict":
            raise _conflict(call)
        answer = proceed(call)
        if strikes:
            raise NoAnswer(call.operation)
        return answer

    def _is_struck(self, method: FrameType) -> bool:
        """Return whether the fault affects this DynamoDB call. A lasting fault also affects retries by the same store
        method.
        """
        counted = [call for call in self.calls if self.operation in ("", call.operation)]
        if self._struck is None and len(counted) == self.number:
            self._struck, self.hit = method, self.calls[-1]
            return True
        return self.lasting and method is self._struck


def _method() -> FrameType:
    """Return the frame of the store's method that is calling DynamoDB."""
    frame = sys._getframe()
    while _module(frame) != _STORE:
        assert frame.f_back is not None, "DynamoDB is called by the store only"
        frame = frame.f_back
    while frame.f_back is not None and _module(frame.f_back) == _STORE:
        frame = frame.f_back
    return frame


def came_by(inside: FrameType, service: Service) -> Iterator[Site]:
    """Yield the call sites of a service, from an inner frame outwards."""
    frame: FrameType | None = inside
    while frame is not None:
        site = site_at(_module(frame), frame.f_lineno, service)
        if site is not None:
            yield site
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _unreachable(number: int, operation: str) -> Exception:
    ways = (NotSent(operation), NotSent(operation), ErrorResponse(operation, "InternalServerError", status=500))
    return ways[number % len(ways)]


def _conflict(call: Call) -> ErrorResponse:
    if call.operation == "TransactWriteItems":
        others = [{"Code": "None"}] * (len(call.body["TransactItems"]) - 1)
        members = {"CancellationReasons": [*others, {"Code": "TransactionConflict"}]}
        return ErrorResponse(call.operation, "TransactionCanceledException", members=members)
    is_read = call.operation in ("BatchGetItem", "Query")
    return ErrorResponse(call.operation, "ThrottlingException" if is_read else "TransactionConflictException")


# -- what is stored


def table_of(causeway: Causeway, name: str) -> Any:
    from moto.dynamodb.models import dynamodb_backends

    return dynamodb_backends["123456789012"][endpoint("dynamodb").region].tables[
        f"{causeway.hub.settings.prefix}-{name}"
    ]


def items(causeway: Causeway, table: str) -> list[dict[str, Any]]:
    """Return all items of a table without a storage call."""
    return [unpack(row) for row in rows(table_of(causeway, table))]


class Snapshot:
    def __init__(self, causeway: Causeway, tables: Sequence[str] = JOURNEYS) -> None:
        self._causeway = causeway
        self._items = {name: _copy(table_of(causeway, name).items) for name in tables}
        self._clock = dict(vars(causeway.clock))
        self._lines = len(TRACE)

    def restore(self) -> None:
        """Restore the snapshot. Delete the requests that the banks and the client received after the snapshot."""
        for name, kept in self._items.items():
            table_of(self._causeway, name).items = _copy(kept)
        vars(self._causeway.clock).update(self._clock)
        TRACE.set_back(self._lines)
        self._causeway.receiver.received.clear()
        self._causeway.receiver.answers.clear()
        for side in self._causeway.banks.values():
            side.received.clear()
            self._causeway.hub.openbanking.bank_client.breaker.record_success(
                side.bic
            )  # the failures of other runs do not count


def _copy(items: Any) -> Any:
    """Return a copy of a table's items, which are never changed in place."""
    kept = copy.copy(items)
    kept.update({key: copy.copy(inner) for key, inner in items.items()})
    return kept
