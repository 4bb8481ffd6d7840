"""Storage that fails: where the service calls it, read from the code, and faults that hit exactly one such call.

A fault is put in below the store, between it and DynamoDB: *before* the call arrives, *after* it was applied, so that
only its answer is lost, or as a *conflict* with another writer (for a read: too much traffic).
"""

from __future__ import annotations

import ast
import contextlib
import json
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from chalicelib.foundation.store import Store
from chalicelib.foundation.store_items import unpack
from tests.test_structure import MODULES, ROOT, SOURCES, imports, speaks_http, tree, within
from tests.world import World

FAULTS = ("before", "after", "conflict")
ROOMS = tuple(f"chalicelib.{room}" for room in ("openbanking", "statistics", "delivery"))
"""Where requests and deliveries of open banking are decided."""
_OPERATOR = ("infra", "chalicelib.demo_bank.setup")
_GUESTS = ("infra", "chalicelib.demo_bank")
"""What the service itself does not depend on."""
_WIRING = "chalicelib.bootstrap"
_METHODS = {name for name in vars(Store) if not name.startswith("_")}
_ADDRESS = "http://127.0.0.1:1"


# -- where the storage is called


@dataclass(frozen=True, order=True)
class Site:
    """A call of the store in the source."""

    module: str
    line: int
    last_line: int

    def __str__(self) -> str:
        return f"{SOURCES[self.module].relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Function:
    """A function of the source; ``owner`` is its class, or empty."""

    module: str
    owner: str
    name: str


@cache
def call_sites() -> frozenset[Site]:
    """Every call of the store that a request or a delivery can come to.

    Left out is what only the operator's command line reaches. What nobody seems to reach is not.
    """
    functions = dict(_functions())
    served = {each: node for each, node in functions.items() if not within(each.module, *_GUESTS)}
    service = _reached([each for each in served if _begins_a_request(each)], served)
    operator = _reached([each for each in functions if within(each.module, *_OPERATOR)], functions)
    return frozenset(
        site
        for each, node in functions.items()
        if within(each.module, *ROOMS) and (each in service or each not in operator)
        for site in _sites(each.module, node)
    )


def _begins_a_request(function: Function) -> bool:
    return function.module == _WIRING or (within(function.module, *ROOMS) and speaks_http(function.module))


def _functions() -> Iterator[tuple[Function, ast.AST]]:
    """The functions of all modules; what a module does when it is loaded counts as one without a name."""
    for module in [*MODULES, *(name for name in SOURCES if within(name, "infra"))]:
        loaded = ast.Module([], [])
        for node in tree(module).body:
            match node:
                case ast.ClassDef():
                    for member in node.body:
                        if isinstance(member, ast.FunctionDef):
                            yield Function(module, node.name, member.name), member
                case ast.FunctionDef():
                    yield Function(module, "", node.name), node
                case _:
                    loaded.body.append(node)
        yield Function(module, "", ""), loaded


def _reached(roots: list[Function], functions: dict[Function, ast.AST]) -> set[Function]:
    """The functions that ``roots`` mention, those that these mention, and so on."""
    by_name: dict[tuple[str, str], list[Function]] = {}
    for each in functions:
        by_name.setdefault((each.owner, each.name), []).append(each)
    found: set[Function] = set()
    pending = list(roots)
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            for owner, name in _mentioned(each.owner, functions[each]):
                known = by_name.get((owner, name), ())
                pending += [other for other in known if owner or other.module in {each.module, *imports(each.module)}]
    return found


def _mentioned(owner: str, node: ast.AST) -> Iterator[tuple[str, str]]:
    """Owner and name of what a function may call: by the names that things go by in this code."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name):
                yield "", name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                yield owner, name
            case ast.Attribute(value=value, attr=name):
                for kind in _kinds().get(_last_name(value), ()):
                    yield kind, name


@cache
def _kinds() -> dict[str, set[str]]:
    """The classes that a name stands for: as a member, an argument, a property, or the result of a call."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        for node in ast.walk(tree(module)):
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id=kind)):
                    found.setdefault(name.strip("_"), set()).add(kind)
                case ast.arg(arg=name, annotation=ast.Name(id=kind)):
                    found.setdefault(name.strip("_"), set()).add(kind)
                case ast.FunctionDef(name=name, returns=ast.Name(id=kind)):
                    found.setdefault(name.strip("_"), set()).add(kind)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=kind))):
                    found.setdefault(name.strip("_"), set()).add(kind)
    return found


def _sites(module: str, node: ast.AST) -> Iterator[Site]:
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if _last_name(value) == "store":
                assert name in _METHODS, f"{module}:{inner.lineno}: the store has no method {name}"
                yield Site(module, inner.lineno, inner.end_lineno or inner.lineno)


@cache
def _sites_in(module: str) -> tuple[Site, ...]:
    return tuple(_sites(module, tree(module)))


def _last_name(node: ast.AST) -> str:
    """``store`` of ``store``, ``self._store`` and ``hub().store``."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return str(name).strip("_")
    return ""


# -- faults


@dataclass(frozen=True)
class Hit:
    """What a fault hit: the place in the source, and DynamoDB's name of the call."""

    site: Site | None
    operation: str

    @property
    def reads(self) -> bool:
        return self.operation in ("BatchGetItem", "Query")


class Fault:
    """One fault at the ``number``-th storage call that is made inside; with ``lasting``, its repeats fail as well.

    DynamoDB applies a transaction once that is sent again with its token; the emulator does not, so it is done here.
    """

    def __init__(self, world: World, kind: str = "before", number: int = 0, *, lasting: bool = False) -> None:
        self.kind = kind
        self.number = number
        self.lasting = lasting
        self.hit: Hit | None = None
        self.calls: list[Hit] = []
        self._events = world.hub.store._client.meta.events
        self._struck: FrameType | None = None
        self._tokens: set[str] = set()
        self._now = ""
        self._strikes = False
        self._rests = False

    def __str__(self) -> str:
        where = f"{self.hit.operation} at {self.hit.site}" if self.hit else "nothing"
        return f"{'lasting ' if self.lasting else ''}{self.kind} hits {where} (call {self.number})"

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

    def _before(self, model: Any, params: Any, **_: Any) -> Any:
        self._now, self._strikes = "", False
        if self._rests:
            return None
        caller, method = _caller()
        self.calls.append(Hit(_site(caller), model.name))
        self._strikes = self._is_struck(method)
        if self._strikes and self.kind == "before":
            raise _unreachable(self.number, model.name)
        if self._strikes and self.kind == "conflict":
            raise _conflict(model.name, params)
        self._now = json.loads(params["body"]).get("ClientRequestToken", "")
        return (AWSResponse(_ADDRESS, 200, {}, None), {}) if self._now in self._tokens else None

    def _after(self, http_response: Any, **_: Any) -> None:
        if self._now and http_response.status_code == 200:
            self._tokens.add(self._now)
        if self._strikes:
            raise ReadTimeoutError(endpoint_url=_ADDRESS)

    def _is_struck(self, method: FrameType) -> bool:
        """Whether this call of DynamoDB is the one; repeats are made by the same call of the store."""
        if len(self.calls) == self.number:
            self._struck, self.hit = method, self.calls[-1]
            return True
        return self.lasting and method is self._struck


def _caller() -> tuple[FrameType, FrameType]:
    """The frame that called the store, and the frame of the store's method that it called."""
    frame = sys._getframe()
    while _module(frame) != "chalicelib.foundation.store":
        assert frame.f_back is not None, "DynamoDB is called by the store only"
        frame = frame.f_back
    while frame.f_back is not None and _module(frame.f_back) == "chalicelib.foundation.store":
        frame = frame.f_back
    method = frame
    while frame.f_back is not None and (frame is method or _module(frame) not in SOURCES):
        frame = frame.f_back
    return frame, method


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _site(frame: FrameType) -> Site | None:
    """The call of the store that a frame is at; ``None`` for a test's own."""
    module, line = _module(frame), frame.f_lineno
    if module not in SOURCES:
        return None
    around = [site for site in _sites_in(module) if site.line <= line <= site.last_line]
    return min(around, key=lambda site: site.last_line - site.line, default=None)


def _unreachable(number: int, operation: str) -> Exception:
    """One of the ways in which DynamoDB cannot be reached, or fails by itself."""
    ways = (
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


def _tables(world: World) -> dict[str, Any]:
    """The emulator's tables by their whole names."""
    from moto.dynamodb.models import dynamodb_backends

    region = world.hub.store._client.meta.region_name
    return dict(dynamodb_backends["123456789012"][region].tables)


def items(world: World, table: str) -> list[dict[str, Any]]:
    """Everything in a table, read past the store: no call, and no time."""
    return [unpack(item.to_json()["Attributes"]) for item in _tables(world)[world.hub.store._name(table)].all_items()]


class Snapshot:
    """What all tables hold, and the time, to come back to."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._items = {name: pickle.dumps(table.items) for name, table in _tables(world).items()}
        self._seconds = world.clock._seconds

    def restore(self) -> None:
        """Back to then; the banks have received nothing since."""
        for name, table in _tables(self._world).items():
            table.items = pickle.loads(self._items[name])  # noqa: S301 - written a moment ago
        self._world.clock._seconds = self._seconds
        for side in self._world.banks.values():
            side.received.clear()
