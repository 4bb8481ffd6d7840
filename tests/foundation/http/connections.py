"""Calls to servers that misbehave, and how they do."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.foundation.http import deadline_connections, outbound
from chalicelib.foundation.http.deadline_connections import Exchange
from chalicelib.foundation.http.outbound import Outbound, Reply
from tests.foundation.servers import Connection
from tests.patience import PATIENCE_SECONDS

AMPLE = float(PATIENCE_SECONDS)
_LEFT_SECONDS = 0.3

BODY = b'{"iban":"GB33BUKB20201555555555"}'

EITHER_WAY = pytest.mark.parametrize("fresh", [False, True], ids=["kept", "fresh"])


def set_clock_of_calls(monkeypatch: pytest.MonkeyPatch, clock: Any) -> None:
    for module in (deadline_connections, outbound):
        monkeypatch.setattr(module, "time", clock)


def let_time_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of calls stands still until a request is sent; then ten looks take what is left of ``AMPLE``."""
    looks, sent = itertools.count(1), threading.Event()
    record_begin = Exchange.record_begin

    def note_begin(exchange: Exchange, head: bytes) -> None:
        sent.set()
        record_begin(exchange, head)

    monkeypatch.setattr(Exchange, "record_begin", note_begin)

    def monotonic() -> float:
        if not sent.is_set():
            return 0.0
        return AMPLE - _LEFT_SECONDS + _LEFT_SECONDS * next(looks) / 10

    set_clock_of_calls(monkeypatch, SimpleNamespace(monotonic=monotonic))


def post(
    url: str, *, repeat: bool = False, total: float = AMPLE, public_only: bool = False, fresh: bool = False
) -> Reply:
    """One call by a caller of its own."""
    caller = Outbound(public_only=public_only, total_seconds=total)
    return caller.post(url, BODY, {"X-A": "b"}, repeat=repeat, fresh=fresh)


def good(connection: Connection) -> None:
    """Answers every request on one connection."""
    while connection.request():
        connection.answer(b'{"status":"success"}')


def once(behaviour: Callable[[Connection], None]) -> Callable[[Connection], None]:
    """Misbehaves on the first connection and is good afterwards."""

    def serve(connection: Connection) -> None:
        (behaviour if connection.number == 1 else good)(connection)

    return serve


def hang_up(connection: Connection) -> None:
    connection.request()


def half_an_answer(connection: Connection) -> None:
    connection.request()
    connection.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"status":')
