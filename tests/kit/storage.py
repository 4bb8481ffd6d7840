"""Storage helpers for tests: recorders of DynamoDB calls, guards against writes, and lost responses.

``LateAnswers`` is an HTTP server in front of the emulator. The server executes the first call of each kind of operation
and closes the connection without a response. The server handles the retry of a transaction as the tested engine does.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, get_args
from unittest import mock

import pytest

from chalicelib.demo_bank import runtime
from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.dynamodb.store import Page
from tests.causeway import Causeway
from tests.kit.tables import Refused, carried_out
from tests.openbanking.faults import Fault


@contextlib.contextmanager
def observe_calls(note: Callable[[Call], object]) -> Iterator[None]:
    def see(call: Call, proceed: Proceed) -> Members:
        note(call)
        return proceed(call)

    with observe(see):
        yield


@contextlib.contextmanager
def record_calls(causeway: Causeway) -> Iterator[list[str]]:
    recorded: list[str] = []

    def note(call: Call) -> None:
        if call.service == "dynamodb":
            recorded.append(call.operation)

    with observe_calls(note):
        yield recorded


@contextlib.contextmanager
def record_rows_read(causeway: Causeway, table: str) -> Iterator[list[int]]:
    """Record the number of rows that each query of a table inside the block returns."""
    rows: list[int] = []
    query = causeway.hub.store.query

    def note(name: str, *partition: Any, **which: Any) -> Page:
        page = query(name, *partition, **which)
        if name == table:
            rows.append(len(page.items))
        return page

    with mock.patch.object(causeway.hub.store, "query", note):
        yield rows


@contextlib.contextmanager
def record_transactions(causeway: Causeway) -> Iterator[list[list[str]]]:
    """Record the operations of each transaction inside the block. Each record has a verb and an item's place."""
    recorded: list[list[str]] = []

    def note(call: Call) -> None:
        if call.operation == "TransactWriteItems":
            operations = [next(iter(each.items())) for each in call.body["TransactItems"]]
            recorded.append([f"{verb} {_place(operation)}" for verb, operation in operations])

    with observe_calls(note):
        yield recorded


def _place(operation: Any) -> str:
    key = operation.get("Item") or operation["Key"]
    name = (key.get("part") or key["claim"])["S"]
    return str(name).partition("#")[0]


def with_new_token(call: Call) -> Call:
    """Return the call with a new transaction token, so that storage does not recognise the call as a retry."""
    token = {"ClientRequestToken": secrets.token_hex(16)} if "ClientRequestToken" in call.body else {}
    return Call(call.service, call.operation, call.body | token)


WRITES = ("put", "update", "delete", "transact")


def address(route: str, part: str = "nothing") -> str:
    """Return the path of a route with ``part`` in place of each parameter. The default value names no existing item."""
    return re.sub(r"\{\w+\}", part, route)


@contextlib.contextmanager
def nothing_changes(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail if the block writes to storage, or calls a bank or the service."""

    def refuse(*_: Any, **__: Any) -> Any:
        pytest.fail("the request changed something, or called somebody")

    with monkeypatch.context() as patch:
        for name in WRITES:
            patch.setattr(causeway.hub.store, name, refuse)
        patch.setattr(causeway.hub.outbound, "post", refuse)
        patch.setattr(runtime.DemoBank, "call_hub", refuse)
        yield


def person_cookie(causeway: Causeway) -> str:
    from tests.website.web_user import WebUser

    (pair,) = WebUser.signed_in(causeway, "a@example.com").cookies.items()
    return "=".join(pair)


Engine = Literal["recognises tokens", "says in progress", "ignores tokens"]
"""The response of an engine to a repeated transaction. DynamoDB recognises the token of a completed transaction, or
responds twice that the transaction is in progress. An emulator executes the transaction again.
"""
_IN_PROGRESS = 2
_REGION = "eu-west-1"
_VARIABLE = "AWS_ENDPOINT_URL_DYNAMODB"


class LateAnswers(Fault):
    """The fault that loses the response to the first call of each kind of operation inside the block."""

    def __init__(self, causeway: Causeway, engine: Engine) -> None:
        super().__init__(causeway, "after")
        self._engine = engine

    def __str__(self) -> str:
        return f"an engine that {self._engine}, its answers lost: {sorted(_server().lost)}"

    def __enter__(self) -> LateAnswers:
        _server().begin(self._engine)
        self._endpoint = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = _server().url
        return self

    def __exit__(self, *_: object) -> None:
        os.environ.pop(_VARIABLE)
        if self._endpoint is not None:
            os.environ[_VARIABLE] = self._endpoint

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        _server().is_resting = True
        try:
            yield
        finally:
            _server().is_resting = False


def late_answers(causeway: Causeway) -> Iterator[LateAnswers]:
    for engine in get_args(Engine):
        yield LateAnswers(causeway, engine)


class _Server:
    """An HTTP server in front of an engine. ``lost`` contains the kinds of operations with a lost response."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.begin("recognises tokens")
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"

    def begin(self, engine: Engine) -> None:
        self._engine = engine
        self._repeats: dict[str, int] = {}
        self.lost: set[str] = set()
        self.is_resting = False

    def loses(self, operation: str) -> bool:
        with self._lock:
            is_first = not self.is_resting and operation not in self.lost
            self.lost |= {operation} if is_first else set()
            return is_first

    def answer(self, operation: str, request: dict[str, Any]) -> tuple[int, bytes]:
        """Execute a call and return the response. Calls run one at a time."""
        token = request.get("ClientRequestToken")
        with self._lock:
            if token in self._repeats:
                self._repeats[token] += 1
                if self._engine == "says in progress" and self._repeats[token] <= _IN_PROGRESS:
                    return 400, b'{"__type": "com.amazonaws.dynamodb.v20120810#TransactionInProgressException"}'
                if self._engine != "ignores tokens":
                    return 200, b"{}"
            status, answer = _carry_out(operation, request)
            if token is not None and status == 200:
                self._repeats[token] = 0
            return status, answer


@cache
def _server() -> _Server:
    return _Server()


def _carry_out(operation: str, request: dict[str, Any]) -> tuple[int, bytes]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.dynamodb.models import dynamodb_backends

    try:
        status, answer = 200, carried_out(operation, request, dynamodb_backends[DEFAULT_ACCOUNT_ID][_REGION].tables)
    except Refused as refusal:
        status, answer = 400, {"__type": refusal.code, "message": str(refusal), **refusal.members}
    return status, json.dumps(answer).encode()


def _handler(engine: _Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            operation = self.headers["X-Amz-Target"].partition(".")[2]
            status, answer = engine.answer(operation, request)
            if engine.loses(operation):
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
