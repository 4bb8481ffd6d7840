"""A DynamoDB over HTTP that keeps callers waiting: it carries calls out later, when nobody waits any more."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from chalicelib.foundation.aws import calls, environment
from chalicelib.foundation.aws.calls import Call
from tests.cards.issuer import Issuer
from tests.kit.emulator import answered
from tests.kit.http import Connection, socket_server
from tests.kit.tables import Refused, carried_out
from tests.kit.time import PATIENCE_SECONDS


@dataclass
class SlowEngine:
    """``made`` has the operations that arrived; they are not answered, and wait for ``carry_out``.

    ``arrived`` is called when one has arrived.
    """

    arrived: Callable[[], None]
    made: list[str] = field(default_factory=list)
    _waiting: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    _arrival: threading.Condition = field(default_factory=threading.Condition)

    def carry_out(self) -> list[int]:
        """Carry out what is held, at least one call; answers the status of each."""
        with self._arrival:
            assert self._arrival.wait_for(lambda: self._waiting, PATIENCE_SECONDS)
            waiting, self._waiting = self._waiting, []
        return [_answer(*call)[0] for call in waiting]

    def serve(self, connection: Connection) -> None:
        request = connection.request()
        head, _, body = request.partition(b"\r\n\r\n")
        [target] = [line for line in head.split(b"\r\n") if line.lower().startswith(b"x-amz-target")]
        operation = target.decode().rpartition(".")[2]
        with self._arrival:
            self.made.append(operation)
            self._waiting.append((operation, json.loads(body)))
            self.arrived()
            self._arrival.notify_all()
        connection.stop.wait(PATIENCE_SECONDS)


def _answer(operation: str, request: Mapping[str, Any]) -> tuple[int, bytes]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.dynamodb.models import dynamodb_backends

    tables = dynamodb_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].tables
    try:
        status, answer = 200, carried_out(operation, dict(request), tables)
    except Refused as refusal:
        status, answer = 400, {"__type": refusal.code, "message": str(refusal), **refusal.members}
    return status, json.dumps(answer).encode()


@contextlib.contextmanager
def slow_engine(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, *held: str, seconds: float = 0
) -> Iterator[SlowEngine]:
    """Storage whose calls ``held`` are made over HTTP and not answered; each takes ``seconds`` on its clock.

    The client waits for a moment.
    """
    engine, store = SlowEngine(partial(issuer.clock.advance, seconds)), issuer.hub.store
    over_http = store._send
    with socket_server(engine.serve) as server, monkeypatch.context() as patch:

        def send(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            if operation in held:
                return over_http(operation, request)
            return answered(Call("dynamodb", operation, request), environment.endpoint("dynamodb").region)

        patch.setattr(calls, "READ_SECONDS", 0.05)
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{server.port}")
        patch.setattr(store, "_send", send)
        yield engine
