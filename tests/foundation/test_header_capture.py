"""The headers of an outbound call are recorded as sent and received, and only within a recording block."""

import contextlib
import threading
from collections.abc import Callable

import pytest

from chalicelib.foundation import context as module
from chalicelib.foundation.context import CapturedHeaders, capturing
from chalicelib.foundation.http.outbound import ANSWER_BYTES, NotReached, OutboundError
from tests.kit.http import (
    BODY,
    EITHER_WAY,
    Connection,
    free_port,
    good,
    half_an_answer,
    hang_up,
    once,
    post,
    socket_server,
)

CONTENT_LENGTH = str(len(BODY))


def answers_with_headers(connection: Connection) -> None:
    connection.request()
    connection.answer(headers=b"Server: a bank\r\nSet-Cookie: one=1\r\nSet-Cookie: two=2\r\n")


def floods(connection: Connection) -> None:
    connection.request()
    connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {ANSWER_BYTES + 1}\r\n\r\n".encode() + bytes(ANSWER_BYTES + 1))


def looked_on(call: Callable[[], object]) -> CapturedHeaders:
    """Return the recorded headers of a call, whether the call succeeds or fails."""
    exchange = CapturedHeaders()
    with capturing(exchange), contextlib.suppress(OutboundError):
        call()
    return exchange


@EITHER_WAY
def test_headers_of_a_call_are_recorded_as_sent_and_received(fresh: bool) -> None:
    with socket_server(answers_with_headers) as server:
        exchange = looked_on(lambda: post(server.url, fresh=fresh))

    ((_, request),) = server.requests
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    assert exchange.sent is not None
    assert exchange.received is not None
    assert [f"{name}: {value}" for name, value in exchange.sent.items()] == lines
    assert exchange.sent["X-A"] == "b"
    assert exchange.sent["Content-Length"] == CONTENT_LENGTH
    assert {name: exchange.received[name] for name in exchange.received} == {
        "Content-Length": "2",
        "Server": "a bank",
        "Set-Cookie": "one=1, two=2",
    }


def test_a_call_that_was_never_sent_records_no_headers() -> None:
    exchange = CapturedHeaders()

    with capturing(exchange), pytest.raises(NotReached):
        post(f"http://127.0.0.1:{free_port()}/bank")

    assert (exchange.sent, exchange.received) == (None, None)


def test_a_call_without_a_response_records_the_sent_headers() -> None:
    with socket_server(hang_up) as server:
        exchange = looked_on(lambda: post(server.url))

    assert exchange.sent is not None
    assert exchange.sent["X-A"] == "b"
    assert exchange.received is None


@pytest.mark.parametrize("behaviour", [half_an_answer, floods])
def test_an_incomplete_response_is_recorded_with_its_headers(behaviour: Callable[[Connection], None]) -> None:
    with socket_server(behaviour) as server:
        exchange = looked_on(lambda: post(server.url))

    assert exchange.received is not None
    assert "Content-Length" in exchange.received
    assert 0 < len(exchange.beginning) <= module.CAPTURED_BYTES


def test_the_beginning_of_a_response_body_is_recorded() -> None:
    with socket_server(good) as server:
        replies: list[bytes] = []
        exchange = looked_on(lambda: replies.append(post(server.url).body))

    assert exchange.beginning == replies[0] != b""


def test_the_recorded_headers_of_a_retried_call_are_the_headers_of_the_second_attempt() -> None:
    with socket_server(once(half_an_answer)) as server:
        exchange = looked_on(lambda: post(server.url, repeat=True))

    assert exchange.received is not None
    assert exchange.received["Content-Length"] == "20"
    with socket_server(
        lambda connection: (half_an_answer if connection.number == 1 else hang_up)(connection)
    ) as server:
        exchange = looked_on(lambda: post(server.url, repeat=True))
    assert (exchange.received, exchange.beginning) == (None, b"")


def test_headers_of_other_threads_and_later_calls_are_not_recorded() -> None:
    with socket_server(good) as server:

        def others() -> None:
            thread = threading.Thread(target=post, args=(server.url,))
            thread.start()
            thread.join()

        exchange = looked_on(others)
        post(server.url)

    assert exchange == CapturedHeaders()


def test_the_repr_of_captured_headers_does_not_contain_header_values() -> None:
    exchange = CapturedHeaders()
    with capturing(exchange):
        module.captured().sent = {"X-Api-Key": "a secret"}
        module.captured().received = {"Set-Cookie": "a secret"}
        module.captured().beginning = b"a secret"

    assert "a secret" not in repr(exchange)
