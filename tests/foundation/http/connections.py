"""Calls to servers that misbehave, and how they do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from chalicelib.foundation.http.outbound import Outbound, Reply
from tests.foundation.servers import Connection

AMPLE = 60.0

SLACK = 0.5

BODY = b'{"iban":"GB33BUKB20201555555555"}'

EITHER_WAY = pytest.mark.parametrize("fresh", [False, True], ids=["kept", "fresh"])


@contextmanager
def within(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        assert time.monotonic() - started < seconds


def post(
    url: str, *, repeat: bool = False, total: float = AMPLE, public_only: bool = False, fresh: bool = False
) -> Reply:
    """One call by a caller of its own, which must not last longer than it may."""
    outbound = Outbound(public_only=public_only, total_seconds=total)
    with within(total + SLACK):
        return outbound.post(url, BODY, {"X-A": "b"}, repeat=repeat, fresh=fresh)


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
