"""A DynamoDB whose answers come late: an HTTP server before the emulator, and a client that gives up waiting.

The first call of each kind of operation is carried out, and its answer is held until the client has closed the
connection. A transaction that is sent again is then answered as the engine under test would.
"""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, get_args

import boto3
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError

from chalicelib.foundation import aws
from chalicelib.foundation.identifiers import new_id
from tests.openbanking.faults import Fault
from tests.patience import PATIENCE_SECONDS, limit_under_test
from tests.tables import Refused, carried_out
from tests.world import World

Engine = Literal["recognises tokens", "says in progress", "ignores tokens"]
"""How an engine answers a transaction that is sent again: as DynamoDB when the first one is over, as DynamoDB while it
runs (twice), or as an emulator that carries it out once more.
"""
_IMPATIENT = limit_under_test(0.05)
_IN_PROGRESS = 2
_REGION = "eu-west-1"
_HOLD = "X-Hold"


class LateAnswers(Fault):
    """Holds the answer to the first call of each kind of operation that is made inside."""

    def __init__(self, world: World, engine: Engine) -> None:
        super().__init__(world, "after")
        self._engine = engine
        self._store = world.hub.store
        self._client = _Client()

    def __str__(self) -> str:
        return f"late answers of an engine that {self._engine}, held: {sorted(self._client.held)}"

    def __enter__(self) -> LateAnswers:
        _server().begin(self._engine)
        self._before_it, self._store._client = self._store._client, self._client
        return self

    def __exit__(self, *_: object) -> None:
        self._store._client = self._before_it

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        self._client.is_resting = True
        try:
            yield
        finally:
            self._client.is_resting = False


def late_answers(world: World) -> Iterator[LateAnswers]:
    """The same calls with each engine."""
    for engine in get_args(Engine):
        yield LateAnswers(world, engine)


class _Client:
    """The store's client: it gives up on the first call of each kind, and waits for all others."""

    def __init__(self) -> None:
        self.held: set[str] = set()
        self.is_resting = False

    @property
    def meta(self) -> Any:
        return _client(PATIENCE_SECONDS).meta

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            if self.is_resting or name in self.held:
                return getattr(_client(PATIENCE_SECONDS), name)(**request)
            self.held.add(name)
            try:
                return getattr(_client(_IMPATIENT), name)(**request)
            except ReadTimeoutError:
                assert _server().carried_out.wait(PATIENCE_SECONDS)
                raise

        return call


@cache
def _client(seconds: float) -> Any:
    config = aws.client("dynamodb").meta.config.merge(Config(read_timeout=seconds))
    client = boto3.client("dynamodb", config=config, endpoint_url=_server().url)
    if seconds == _IMPATIENT:
        client.meta.events.register("before-call.dynamodb", _hold)
    return client


def _hold(params: dict[str, Any], **_: Any) -> None:
    """Have the server hold the first answer to this call; it answers what the client sends again by itself."""
    _server().carried_out.clear()
    params["headers"][_HOLD] = new_id()


class _Server:
    """An engine behind HTTP; ``carried_out`` is set when a call whose answer is held was carried out."""

    def __init__(self) -> None:
        self.carried_out = threading.Event()
        self._lock = threading.Lock()
        self.begin("recognises tokens")
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"

    def begin(self, engine: Engine) -> None:
        self._engine = engine
        self._repeats: dict[str, int] = {}
        self._held: set[str] = set()

    def holds(self, call: str | None) -> bool:
        """Whether the answer to this call is held."""
        if call is None or call in self._held:
            return False
        self._held.add(call)
        return True

    def answer(self, operation: str, request: dict[str, Any]) -> tuple[int, bytes]:
        """Carry a call out, one after the other."""
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
    """One for all tests of this process."""
    return _Server()


def _carry_out(operation: str, request: dict[str, Any]) -> tuple[int, bytes]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.dynamodb.models import dynamodb_backends

    try:
        status, answer = 200, carried_out(operation, request, dynamodb_backends[DEFAULT_ACCOUNT_ID][_REGION].tables)
    except Refused as refusal:
        status, answer = 400, {"__type": refusal.code, "message": str(refusal), **refusal.members}
    return status, json.dumps(answer, default=lambda value: base64.b64encode(value).decode()).encode()


def _handler(engine: _Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = engine.answer(self.headers["X-Amz-Target"].partition(".")[2], request)
            if engine.holds(self.headers.get(_HOLD)):
                engine.carried_out.set()
                self.connection.settimeout(PATIENCE_SECONDS)
                self.connection.recv(1)  # until the client closes the connection
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
