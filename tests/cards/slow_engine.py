"""A DynamoDB over HTTP that keeps callers waiting: it carries held calls out later, when nobody waits any more."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from chalicelib.foundation import aws
from tests.cards.scenes import Scene
from tests.foundation.servers import Connection, serving
from tests.tables import Refused, carried_out


@dataclass
class SlowEngine:
    """``made`` has the operations that arrived; those in ``held`` are not answered, and wait for ``carry_out``."""

    held: frozenset[str]
    made: list[str] = field(default_factory=list)
    _waiting: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def carry_out(self) -> list[int]:
        """Carry out what is held; answers the status of each call."""
        waiting, self._waiting = self._waiting, []
        return [_answer(*call)[0] for call in waiting]

    def serve(self, connection: Connection) -> None:
        while request := connection.request():
            head, _, body = request.partition(b"\r\n\r\n")
            [target] = [line for line in head.split(b"\r\n") if line.lower().startswith(b"x-amz-target")]
            operation, call = target.decode().rpartition(".")[2], json.loads(body)
            with self._lock:
                self.made.append(operation)
                if operation not in self.held:
                    status, answer = _answer(operation, call)
                else:
                    self._waiting.append((operation, call))
                    status = 0
            if not status:
                connection.stop.wait(60)
                return
            connection.answer(answer, f"{status} ", b"Content-Type: application/x-amz-json-1.0\r\n")


def _answer(operation: str, request: Mapping[str, Any]) -> tuple[int, bytes]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.dynamodb.models import dynamodb_backends

    tables = dynamodb_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].tables
    try:
        status, answer = 200, carried_out(operation, dict(request), tables)
    except Refused as refusal:
        status, answer = 400, {"__type": refusal.code, "message": str(refusal), **refusal.members}
    return status, json.dumps(answer, default=_encode).encode()


def _encode(value: bytes) -> str:
    return base64.b64encode(value).decode()


@contextlib.contextmanager
def slow_engine(scene: Scene, monkeypatch: pytest.MonkeyPatch, *held: str) -> Iterator[SlowEngine]:
    """The scene's storage over HTTP, with operations that are held."""
    engine, store = SlowEngine(frozenset(held)), scene.hub.store
    with serving(engine.serve) as server, monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{server.port}")
        patch.setattr(store, "_client", aws.client("dynamodb"))
        yield engine
