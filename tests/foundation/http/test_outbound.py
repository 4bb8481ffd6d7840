"""The limits of outbound calls apply to slow, oversized, redirecting and broken responses."""

import contextlib
import http.client
import itertools
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.context import deadline
from chalicelib.foundation.http import connection_pool
from chalicelib.foundation.http import deadline_connections as module
from chalicelib.foundation.http.deadline_connections import CONNECT_SECONDS, SlowCheck
from chalicelib.foundation.http.outbound import (
    ANSWER_BYTES,
    TOTAL_SECONDS,
    ConnectionDropped,
    GivenUp,
    NotReached,
    Outbound,
    OutboundError,
    Reply,
    ResponseTooLarge,
    TimedOut,
)
from tests.causeway import START
from tests.kit import inputs
from tests.kit.certificates import bare_chain, self_signed
from tests.kit.http import (
    AMPLE,
    BODY,
    EITHER_WAY,
    Connection,
    free_port,
    good,
    half_an_answer,
    hang_up,
    let_time_run_out,
    once,
    post,
    server_context,
    set_clock_of_calls,
    socket_server,
)
from tests.kit.time import PATIENCE_SECONDS, ManualClock, limit_under_test, wait_for

SHORT = limit_under_test(0.3)


def reset(connection: Connection) -> None:
    connection.request()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def half_a_chunk(connection: Connection) -> None:
    connection.request()
    connection.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{"status":')


def half_a_status_line(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.")


def only_a_status_line(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\n")


def half_a_header(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le")


def half_an_interim_answer(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 100 Continue\r\nX-Header: value\r\n")


def no_last_chunk(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")


# -- good answers


def test_outbound_calls_are_limited_to_3_s_for_connecting_20_s_in_total_and_5_mb() -> None:
    assert CONNECT_SECONDS == 3
    assert TOTAL_SECONDS == 20
    assert ANSWER_BYTES == 5_000_000


def test_the_request_body_arrives_unchanged_and_the_response_is_complete() -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.answer(b'{"a": 1.10}', "201 Created", b"X-Reason: because\r\n")

    with socket_server(serve) as server:
        reply = post(server.url)

    ((_, request),) = server.requests
    head, _, body = request.partition(b"\r\n\r\n")
    assert body == BODY
    assert head.startswith(b"POST /bank HTTP/1.1\r\n")
    assert {b"X-A: b", b"Accept-Encoding: identity", b"Accept: application/json"} <= set(head.split(b"\r\n"))
    assert reply.status == 201
    assert reply.body == b'{"a": 1.10}'
    assert reply.headers["X-Reason"] == "because"
    assert 0 < reply.seconds < AMPLE


def test_outbound_calls_ignore_the_netrc_file_and_the_proxy_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")

    with socket_server(good) as server:
        assert post(server.url).status == 200
    ((_, request),) = server.requests
    assert b"authorization" not in request.lower()
    assert b"cookie" not in request.lower()


def test_chunked_responses_and_responses_without_a_length_are_read() -> None:
    def chunked(connection: Connection) -> None:
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")

    def unlimited(connection: Connection) -> None:
        connection.request()
        connection.send(b"HTTP/1.0 200 OK\r\n\r\n{}")

    for serve in (chunked, unlimited):
        with socket_server(serve) as server:
            assert post(server.url).body == b"{}"


def test_a_response_of_the_maximum_size_is_read() -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.answer(b"x" * ANSWER_BYTES)

    with socket_server(serve) as server:
        assert len(post(server.url, total=AMPLE).body) == ANSWER_BYTES


@EITHER_WAY
@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308])
def test_a_redirect_response_is_returned_and_not_followed(status: int, fresh: bool) -> None:
    with socket_server(good) as elsewhere:

        def serve(connection: Connection) -> None:
            connection.request()
            connection.answer(b"", f"{status} Elsewhere", f"Location: {elsewhere.url}\r\n".encode())

        with socket_server(serve) as server:
            assert post(server.url, repeat=True, fresh=fresh).status == status
        assert elsewhere.requests == []
        assert len(server.requests) == 1


@EITHER_WAY
@pytest.mark.parametrize("interim", ["100 Continue", "102 Processing", "103 Early Hints"])
def test_an_interim_1xx_response_is_skipped(interim: str, fresh: bool) -> None:
    """If an interim response were returned, the next request would receive the final response, possibly for another
    PSU.
    """

    def serve(connection: Connection) -> None:
        while connection.request():
            connection.send(f"HTTP/1.1 {interim}\r\nLink: </a>\r\n\r\n".encode())
            connection.answer(b'"the answer"')

    with socket_server(serve) as server:
        reply = post(server.url, fresh=fresh)

    assert reply.status == 200
    assert reply.body == b'"the answer"'
    assert "link" not in reply.headers


# -- how long a party asks to be left alone

NOW = 1_772_442_000  # Monday, 2 March 2026, 09:00:00 GMT


def told(value: str, name: str = "Retry-After") -> int | None:
    return Reply(503, b"", {"Date": "x", name: value}, 0).retry_after(NOW)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 120 ", 120),
        ("99999999", 99_999_999),
        ("Mon, 02 Mar 2026 09:02:00 GMT", 120),
        ("Monday, 02-Mar-26 09:02:00 GMT", 120),
        ("Mon Mar  2 09:02:00 2026", 120),
        ("Mon, 02 Mar 2026 09:00:00 GMT", 0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
    ],
)
def test_retry_after_is_read_in_seconds_or_as_a_date(value: str, seconds: int) -> None:
    assert told(value) == seconds
    assert told(value, "retry-after") == told(value, "RETRY-AFTER") == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "-5",
        "+5",
        "1.5",
        "1e3",
        "5, 10",
        "\u0665",
        "\u00b2",
        "9" * 5000,
        "2026-03-02T09:02:00Z",
        "Mon, 02 Mar 99999 09:02:00 GMT",
        "Mon, 02 Mar 2026 25:02:00 GMT",
        "Mon, 99999999999999999999 Mar 2026 09:02:00 GMT",
        "Mon, 02 Mar 2026 09:02:00 +99999999999999999999",
    ],
)
def test_an_invalid_retry_after_header_is_read_as_none(value: str) -> None:
    assert told(value) is None


def test_a_missing_retry_after_header_is_read_as_none() -> None:
    assert Reply(503, b"", {"Date": "Mon, 02 Mar 2026 09:02:00 GMT"}, 0).retry_after(NOW) is None


def test_retry_after_is_read_from_a_received_response() -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.answer(b"", "503 Service Unavailable", b"rEtRy-aFtEr: 120\r\n")

    with socket_server(serve) as server:
        assert post(server.url).retry_after(NOW) == 120


# -- answers that do not end, or never come


def silence(connection: Connection) -> None:
    connection.request()
    connection.stop.wait()


def trickled_body(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    connection.trickle(b"x" * 1000)


def trickled_chunks(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    connection.trickle(b"1\r\nx\r\n" * 200)


def trickled_headers(connection: Connection) -> None:
    connection.request()
    connection.trickle(b"HTTP/1.1 200 OK\r\n" + b"X-Header: value\r\n" * 50)


def endless_interim_answers(connection: Connection) -> None:
    connection.request()
    while not connection.pause():
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")


def flood_of_interim_answers(connection: Connection) -> None:
    connection.request()
    while True:
        connection.send(b"HTTP/1.1 103 Early Hints\r\nX-Header: value\r\n\r\n" * 100)


def endless_trailers(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    while not connection.pause():
        connection.send(b"X-Trailer: value\r\n")


@pytest.fixture
def time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    let_time_run_out(monkeypatch)


ENDLESS = [
    silence,
    trickled_body,
    trickled_chunks,
    trickled_headers,
    endless_interim_answers,
    flood_of_interim_answers,
    endless_trailers,
]


@pytest.mark.usefixtures("time_runs_out")
@pytest.mark.parametrize("repeat", [False, True])
@pytest.mark.parametrize("behaviour", ENDLESS)
def test_a_late_response_raises_the_timed_out_exception_without_a_retry(
    behaviour: Callable[[Connection], None], repeat: bool
) -> None:
    with socket_server(behaviour) as server, pytest.raises(TimedOut, match="no answer came in time"):
        post(server.url, repeat=repeat)

    server.wait_for(1)
    assert len(server.requests) == 1


def test_the_time_limit_covers_both_attempts_of_an_outbound_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(START)
    set_clock_of_calls(monkeypatch, clock)

    def late(connection: Connection) -> None:
        connection.request()
        clock.advance(AMPLE * 0.7)
        if connection.number == 2:
            connection.trickle(b"HTTP/1.1 200 OK\r\n")

    with socket_server(late) as server, pytest.raises(TimedOut):
        post(server.url, repeat=True)

    assert len(server.requests) == 2


# -- what a slow call does


def slow_checks(check: Callable[[], None]) -> tuple[SlowCheck, list[str]]:
    ran: list[str] = []

    def run() -> None:
        ran.append("run")
        check()

    return SlowCheck(SHORT / 3, run), ran


@pytest.mark.parametrize("behaviour", [silence, trickled_body, trickled_headers, endless_interim_answers])
@EITHER_WAY
def test_a_slow_call_that_the_check_cancels_ends_immediately(
    behaviour: Callable[[Connection], None], fresh: bool
) -> None:
    def give_up() -> None:
        raise GivenUp("too slow")

    slow_check, ran = slow_checks(give_up)
    outbound = Outbound(public_only=False, total_seconds=AMPLE)
    with socket_server(behaviour) as server:
        with pytest.raises(GivenUp, match="too slow"):
            outbound.post(server.url, BODY, {}, repeat=True, fresh=fresh, slow_check=slow_check)
        server.wait_for(1)

    assert len(ran) == 1
    assert len(server.requests) == 1


@EITHER_WAY
def test_a_slow_call_that_the_check_does_not_cancel_returns_the_response(fresh: bool) -> None:
    checked = threading.Event()

    def late(connection: Connection) -> None:
        while connection.request():
            assert checked.wait(PATIENCE_SECONDS)
            connection.answer(b'{"status":"success"}')

    slow_check, ran = slow_checks(checked.set)
    with socket_server(late) as server:
        outbound = Outbound(public_only=False, total_seconds=AMPLE)
        for check in (slow_check, SlowCheck(AMPLE, slow_check.check)):
            reply = outbound.post(server.url, BODY, {}, repeat=False, fresh=fresh, slow_check=check)
            assert reply.body == b'{"status":"success"}'

    assert len(ran) == 1


def test_an_outbound_call_ends_at_the_request_deadline() -> None:
    def silent(connection: Connection) -> None:
        connection.request()
        connection.stop.wait(PATIENCE_SECONDS)

    with socket_server(silent) as server, deadline(lambda: 0.0, SHORT), pytest.raises((TimedOut, NotReached)):
        post(server.url)


def test_the_time_limit_of_a_slow_call_includes_the_duration_of_the_slow_call_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock(START)
    set_clock_of_calls(monkeypatch, clock)
    slow_check, ran = slow_checks(lambda: clock.advance(AMPLE))
    with socket_server(silence) as server, pytest.raises(TimedOut):
        Outbound(public_only=False, total_seconds=AMPLE).post(
            server.url, BODY, {}, repeat=False, slow_check=SlowCheck(0, slow_check.check)
        )

    assert len(ran) == 1


def test_a_call_with_a_fast_response_runs_no_slow_call_check() -> None:
    slow_check, ran = slow_checks(lambda: None)
    with socket_server(good) as server:
        Outbound(public_only=False, total_seconds=AMPLE).post(
            server.url, BODY, {}, repeat=False, slow_check=SlowCheck(AMPLE, slow_check.check)
        )

    assert ran == []


def endless_headers(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\n")
    for number in itertools.count():
        connection.send(b"X-Header-%d: value\r\n" % number)


def endless_line(connection: Connection) -> None:
    connection.request()
    while True:
        connection.send(b"x" * 65536)


def endless_header(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nX-Header: ")
    while True:
        connection.send(b"x" * 65536)


def endless_header_of_an_interim_answer(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 100 Continue\r\nX-Header: ")
    while True:
        connection.send(b"x" * 65536)


@EITHER_WAY
@pytest.mark.parametrize(
    "behaviour", [endless_headers, endless_line, endless_header, endless_header_of_an_interim_answer]
)
def test_too_many_headers_raise_connection_dropped(behaviour: Callable[[Connection], None], fresh: bool) -> None:
    with socket_server(behaviour) as server, pytest.raises(ConnectionDropped):
        post(server.url, fresh=fresh)


def announced(connection: Connection) -> None:
    connection.request()
    length = ANSWER_BYTES + 1_000_000  # an answer that is read to its end leaves a connection that can be used again
    connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode() + b"x" * length)


def endless_chunks(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")


def endless_body(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.0 200 OK\r\n\r\n")
    while True:
        connection.send(b"x" * 65536)


@EITHER_WAY
@pytest.mark.parametrize("behaviour", [announced, endless_chunks, endless_body])
def test_a_response_above_the_size_limit_is_rejected_and_the_connection_is_closed(
    behaviour: Callable[[Connection], None], fresh: bool
) -> None:
    outbound = Outbound(public_only=False, total_seconds=AMPLE)

    with socket_server(once(behaviour)) as server:
        with pytest.raises(ResponseTooLarge, match="larger than 5 MB"):
            outbound.post(server.url, BODY, {}, repeat=True, fresh=fresh)
        assert outbound.post(server.url, BODY, {}, repeat=False, fresh=fresh).status == 200
        assert server.served == [1, 2]


# -- broken connections


def test_a_refused_connection_raises_not_reached() -> None:
    with pytest.raises(NotReached, match="no connection could be made"):
        post(f"http://127.0.0.1:{free_port()}/bank", repeat=True)


def test_an_unknown_host_name_raises_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*arguments: Any, **options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NotReached, match="no connection could be made"):
        post("http://bank.example.com/bank")


def test_a_hanging_resolver_does_not_block_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def hang(*arguments: Any, **options: Any) -> Any:
        released.wait(PATIENCE_SECONDS)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        with pytest.raises(OutboundError):
            post("http://bank.example.com/bank", total=SHORT)
    finally:
        released.set()


def test_an_unaccepted_connection_raises_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.2)
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    waiting = [socket.socket() for _ in range(4)]
    for sock in waiting:
        sock.setblocking(False)
        sock.connect_ex(full.getsockname())
    try:
        with pytest.raises(NotReached):
            post(f"http://127.0.0.1:{full.getsockname()[1]}/bank")
    finally:
        for sock in (full, *waiting):
            sock.close()


def test_an_outbound_call_connects_to_the_first_working_address(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_to(monkeypatch, "127.0.0.2", "127.0.0.1")

    with socket_server(good) as server:
        assert post(f"http://bank.example.com:{server.port}/bank").status == 200


NONSENSE = [b"-5", b"-0x5", b"zz", b"", b" ", b"\xff", b"5 5", b"1.0", b"9" * 30, b"1" * 70_000, b";a=b", b"\x00"]


@pytest.mark.parametrize("size", NONSENSE)
@pytest.mark.parametrize("position", ["first", "second"])
def test_an_invalid_chunk_size_raises_connection_dropped(size: bytes, position: str) -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        before = b"" if position == "first" else b"2\r\n{}\r\n"
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.send(head + before + size + b"\r\n{}\r\n0\r\n\r\n")

    with socket_server(serve) as server, pytest.raises(ConnectionDropped):
        post(server.url)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: -5",
        b"Content-Length: five",
        b"Content-Length: 2, 3",
        b"Content-Length: 2\r\nContent-Length: 3",
        b"Transfer-Encoding: nonsense\r\nContent-Length: 5",
        b"nonsense",
        b": nothing",
        b"\xff\xff: \xff",
        b"A" * 70_000,
        b"\r\n".join(b"X-%d: 1" % number for number in range(200)),
    ],
)
def test_malformed_headers_raise_only_outbound_errors(head: bytes) -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n{}")

    with socket_server(serve) as server, contextlib.suppress(OutboundError):
        assert len(post(server.url).body) <= 2


BREAKS = [
    hang_up,
    reset,
    half_an_answer,
    half_a_chunk,
    no_last_chunk,
    half_a_status_line,
    only_a_status_line,
    half_a_header,
    half_an_interim_answer,
]


@pytest.mark.parametrize("behaviour", BREAKS)
def test_a_broken_connection_raises_connection_dropped_without_a_retry(behaviour: Callable[[Connection], None]) -> None:
    with socket_server(behaviour) as server, pytest.raises(ConnectionDropped, match="the connection broke"):
        post(server.url, repeat=False)

    assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", BREAKS)
def test_an_idempotent_outbound_call_succeeds_after_one_broken_connection(
    behaviour: Callable[[Connection], None],
) -> None:
    with socket_server(once(behaviour)) as server:
        assert post(server.url, repeat=True).status == 200

    assert [request for _, request in server.requests] == [server.requests[0][1]] * 2


def test_an_idempotent_outbound_call_is_sent_at_most_twice() -> None:
    with socket_server(hang_up) as server, pytest.raises(ConnectionDropped):
        post(server.url, repeat=True)

    assert len(server.requests) == 2


def test_a_refused_retry_after_a_dropped_connection_raises_connection_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: Iterator[OutboundError] = iter([ConnectionDropped("first"), NotReached("second")])

    def fail(*arguments: Any, **options: Any) -> Any:
        raise next(failures)

    monkeypatch.setattr(Outbound, "send_once", fail)
    with pytest.raises(ConnectionDropped, match="first"):
        post("http://127.0.0.1:1/bank", repeat=True)


@pytest.mark.parametrize(
    "url",
    [
        *("", "bank", "http://", "ftp://127.0.0.1/", f"http://{'a' * 64}.example.com/"),
        *("http://127.0.0.1:99999/", "http://127.0.0.1:x/", "http://[::1/"),
    ],
)
def test_an_unusable_address_raises_not_reached_error(url: str) -> None:
    with pytest.raises(NotReached):
        post(url)


@pytest.mark.parametrize(
    ("path", "sent"),
    [("", "/"), ("?a=b&c=%20d", "/?a=b&c=%20d"), ("/a b/%41?q=a b", "/a%20b/%41?q=a%20b"), ("/ä#part", "/%C3%A4")],
)
def test_paths_and_queries_are_percent_encoded(path: str, sent: str) -> None:
    with socket_server(good) as server:
        Outbound(public_only=False, total_seconds=AMPLE).post(
            server.url.removesuffix("/bank") + path, BODY, {}, repeat=False
        )

    assert server.requests[0][1].split(b" ")[1].decode() == sent


def test_an_outbound_error_contains_no_request_data() -> None:
    with socket_server(hang_up) as server, pytest.raises(ConnectionDropped) as caught:
        Outbound(public_only=False, total_seconds=AMPLE).post(
            f"{server.url}/hidden", b"hidden", {"X-Api-Key": "hidden"}, repeat=False
        )
    assert "hidden" not in str(caught.value)


# -- kept-alive connections


def test_an_outbound_connection_is_reused_for_the_next_call() -> None:
    outbound = Outbound(public_only=False, total_seconds=AMPLE)

    with socket_server(good) as server:
        for _ in range(3):
            assert outbound.post(server.url, BODY, {}, repeat=False).status == 200
        assert server.served == [1, 1, 1]


def test_request_headers_and_body_are_sent_in_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    send = http.client.HTTPConnection.send

    def note(connection: http.client.HTTPConnection, data: bytes) -> None:
        sent.append(data)
        send(connection, data)

    monkeypatch.setattr(http.client.HTTPConnection, "send", note)

    with socket_server(good) as server:
        Outbound(public_only=False, total_seconds=AMPLE).post(server.url, BODY, {}, repeat=False)

    (request,) = sent
    assert request.startswith(b"POST /bank HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\n" + BODY)


def test_a_pooled_connection_closed_by_the_server_is_replaced() -> None:
    def one_answer(connection: Connection) -> None:
        connection.request()
        connection.answer()

    outbound = Outbound(public_only=False, total_seconds=AMPLE)
    with socket_server(one_answer) as server:
        for number in (1, 2, 3):
            outbound.post(server.url, BODY, {}, repeat=False)
            wait_for(lambda: _is_closed(outbound))
            assert server.served[-1] == number


def test_a_broken_pooled_connection_is_replaced_with_one_retry() -> None:
    """After a frozen Lambda instance, a broken connection looks open until data is sent."""

    def dies(connection: Connection) -> None:
        if connection.request():
            connection.answer()
        connection.request()

    outbound = Outbound(public_only=False, total_seconds=AMPLE)
    with socket_server(once(dies)) as server:
        outbound.post(server.url, BODY, {}, repeat=True)
        assert outbound.post(server.url, BODY, {}, repeat=True).status == 200
        assert server.served == [1, 1, 2]


def test_calls_of_many_threads_do_not_share_deadlines() -> None:
    fast_ended = threading.Event()

    def serve(connection: Connection) -> None:
        while request := connection.request():
            if b"slow" in request:
                assert fast_ended.wait(PATIENCE_SECONDS)
            connection.answer(b'"slow"' if b"slow" in request else b'"fast"')

    outbound = Outbound(public_only=False, total_seconds=AMPLE)
    found: list[tuple[bytes, bytes]] = []

    def call(body: bytes) -> None:
        found.append((body, outbound.post(server.url, body, {}, repeat=False).body))
        if len(found) == 8:
            fast_ended.set()

    with socket_server(serve) as server:
        threads = [threading.Thread(target=call, args=(body,)) for body in [b'"slow"', b'"fast"'] * 8]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 16
    assert all(sent == answered for sent, answered in found)


# -- connections of a single request


def post_fresh(url: str, total: float = AMPLE, body: bytes = BODY) -> Reply:
    return Outbound(public_only=False, total_seconds=total).post(url, body, {}, repeat=False, fresh=True)


def test_a_request_with_the_fresh_option_opens_a_new_connection() -> None:
    outbound = Outbound(public_only=False, total_seconds=AMPLE)

    with socket_server(good) as server:
        for fresh in (False, True, True, False, True):
            assert outbound.post(server.url, BODY, {}, repeat=False, fresh=fresh).status == 200
        assert server.served == [1, 2, 3, 1, 4]
    closing = [b"connection: close" in request.lower() for _, request in server.requests]
    assert closing == [False, True, True, False, True]


def test_a_connection_opened_with_the_fresh_option_is_closed_after_the_response() -> None:
    closed: list[bytes] = []

    def serve(connection: Connection) -> None:
        connection.request()
        connection.answer()
        closed.append(connection.request())

    with socket_server(serve) as server:
        post_fresh(server.url)
        wait_for(lambda: closed == [b""])


def test_parallel_requests_with_the_fresh_option_never_share_a_connection() -> None:
    outbound = Outbound(public_only=False, total_seconds=AMPLE)

    with socket_server(good) as server:
        call = partial(outbound.post, server.url, BODY, {}, repeat=False, fresh=True)
        threads = [threading.Thread(target=call) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(server.served) == list(range(1, 17))


@pytest.mark.parametrize("behaviour", BREAKS)
def test_a_broken_new_connection_raises_connection_dropped(behaviour: Callable[[Connection], None]) -> None:
    with socket_server(behaviour) as server, pytest.raises(ConnectionDropped):
        post_fresh(server.url)


@pytest.mark.usefixtures("time_runs_out")
@pytest.mark.parametrize("behaviour", ENDLESS)
def test_a_request_on_a_new_connection_without_a_response_in_time_raises_timed_out(
    behaviour: Callable[[Connection], None],
) -> None:
    with socket_server(behaviour) as server, pytest.raises(TimedOut):
        post_fresh(server.url)


@pytest.mark.usefixtures("time_runs_out")
def test_a_server_that_does_not_read_the_request_raises_timed_out() -> None:
    def deaf(connection: Connection) -> None:
        connection.stop.wait()

    with socket_server(deaf) as server, pytest.raises(TimedOut):
        post_fresh(server.url, body=b" " * 50_000_000)


def test_a_refused_new_connection_raises_not_reached() -> None:
    with pytest.raises(NotReached):
        post_fresh(f"http://127.0.0.1:{free_port()}/bank")


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_request_is_sent_if_connecting_uses_the_whole_time_limit(
    monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext, scheme: str
) -> None:
    kind = module.TlsConnection if scheme == "https" else module.Connection
    connect = kind.connect

    def connect_late(connection: Any) -> None:
        connect(connection)
        connection.exchange.until = 0.0

    monkeypatch.setattr(kind, "connect", connect_late)
    context = tls if scheme == "https" else None
    with socket_server(good, context) as server, pytest.raises(NotReached, match="no connection could be made"):
        post_fresh(server.url)
    assert server.requests == []


@pytest.mark.parametrize("handled", [NotReached("another call"), TimeoutError("of another kind")])
def test_a_surrounding_exception_does_not_change_the_error_of_an_outbound_call(handled: Exception) -> None:
    def call_while_handling(url: str) -> None:
        try:
            raise handled
        except type(handled):
            post_fresh(url)

    with socket_server(hang_up) as server, pytest.raises(ConnectionDropped):
        call_while_handling(server.url)


# -- public addresses only


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:

    def resolve(host: str, port: int, *arguments: Any, **options: Any) -> list[Any]:
        found = [host] if _is_address(host) else addresses
        families = {4: socket.AF_INET, 6: socket.AF_INET6}
        return [(families[ip_address(one).version], socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []

    def connect(address: tuple[str, int], *arguments: Any, **options: Any) -> Any:
        addresses.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(module, "create_connection", connect)
    return addresses


@pytest.mark.parametrize("host", [*inputs.LOOPBACK_SPELLINGS, *inputs.PRIVATE_HOSTS])
def test_an_outbound_call_to_a_private_host_neither_resolves_the_name_nor_connects(
    monkeypatch: pytest.MonkeyPatch, tried: list[str], host: str
) -> None:
    asked: list[str] = []

    def resolve(name: str, port: int, **options: Any) -> Any:
        asked.append(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.114.7", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(NotReached):
        post(f"https://{host}/bank", public_only=True)
    assert (asked, tried) == ([], [])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "0x7f.1", "0"])
def test_outbound_calls_to_loopback_addresses_are_rejected(host: str) -> None:
    with socket_server(good) as server:
        with pytest.raises(NotReached, match="the address is not public"):
            post(f"http://{host}:{server.port}/bank", public_only=True)
        assert server.connections == 0


@EITHER_WAY
@pytest.mark.parametrize("address", [*inputs.PRIVATE_IPV4, *inputs.PRIVATE_IPV6, "fe80::1%lo"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_public_host_name_with_a_private_address_is_rejected(
    monkeypatch: pytest.MonkeyPatch, tried: list[str], address: str, scheme: str, fresh: bool
) -> None:
    resolve_to(monkeypatch, address)

    with pytest.raises(NotReached, match="the address is not public"):
        post(f"{scheme}://bank.example.com/bank", public_only=True, fresh=fresh)
    assert tried == []


@EITHER_WAY
def test_private_addresses_of_a_host_name_are_skipped(
    monkeypatch: pytest.MonkeyPatch, tried: list[str], fresh: bool
) -> None:
    resolve_to(monkeypatch, "10.0.0.1", "203.0.114.7", "127.0.0.1", "::1", "2606:4700::1111", "64:ff9b::a00:1")

    with pytest.raises(NotReached, match="no connection could be made"):
        post("http://bank.example.com/bank", public_only=True, fresh=fresh)
    assert tried == ["203.0.114.7", "2606:4700::1111"]


@EITHER_WAY
def test_a_host_name_is_resolved_and_checked_for_every_connection(
    monkeypatch: pytest.MonkeyPatch, tried: list[str], fresh: bool
) -> None:
    outbound = Outbound(public_only=True, total_seconds=AMPLE)
    resolve_to(monkeypatch, "203.0.114.7")
    with pytest.raises(NotReached, match="no connection could be made"):
        outbound.post("http://bank.example.com/bank", BODY, {}, repeat=False, fresh=fresh)

    for private in ("127.0.0.1", "::1"):
        resolve_to(monkeypatch, private)
        with pytest.raises(NotReached, match="the address is not public"):
            outbound.post("http://bank.example.com/bank", BODY, {}, repeat=False, fresh=fresh)
    assert tried == ["203.0.114.7"]


@EITHER_WAY
def test_a_host_name_that_resolves_to_a_private_address_before_the_retry_is_rejected(
    monkeypatch: pytest.MonkeyPatch, tried: list[str], fresh: bool
) -> None:
    answers = iter(["203.0.114.7", "127.0.0.1"])
    family = socket.AF_INET
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, port, **options: [(family, 1, 6, "", (next(answers), port))]
    )

    with pytest.raises(NotReached):
        post("http://bank.example.com/bank", repeat=True, public_only=True, fresh=fresh)
    assert (tried, list(answers)) == (["203.0.114.7"], [])


def test_a_call_connects_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch, tried: list[str]) -> None:
    """A second DNS response with another address has no effect."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *arguments: Any, **options: Any) -> Any:
        if _is_address(host):
            return real(host, port, *arguments, **options)
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.114.7" if len(asked) == 1 else "127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(NotReached):
        post("http://bank.example.com/bank", public_only=True)
    assert (asked, tried) == (["bank.example.com"], ["203.0.114.7"])


# -- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    return server_context(certificate)


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certifi.where", lambda: str(certificate))


def test_an_untrusted_server_certificate_is_rejected_before_any_data_is_sent(tls: ssl.SSLContext) -> None:
    with socket_server(good, tls) as server, pytest.raises(NotReached, match="no trusted TLS connection could be made"):
        post(server.url, repeat=True)

    assert server.requests == []


def test_a_ca_file_replaces_the_public_authorities(certificate: Path, tls: ssl.SSLContext) -> None:
    outbound = Outbound(public_only=False, total_seconds=AMPLE, ca_file=str(certificate))

    with socket_server(good, tls) as server:
        assert outbound.post(server.url, b"{}", {}, repeat=False).status == 200


def test_a_slow_tls_call_that_the_check_does_not_cancel_returns_the_response(
    certificate: Path, tls: ssl.SSLContext
) -> None:
    checked = threading.Event()

    def late(connection: Connection) -> None:
        connection.request()
        assert checked.wait(PATIENCE_SECONDS)
        connection.answer(b'{"status":"success"}')

    slow_check, ran = slow_checks(checked.set)
    outbound = Outbound(public_only=False, ca_file=str(certificate))
    with socket_server(late, tls) as server:
        assert outbound.post(server.url, BODY, {}, repeat=False, slow_check=slow_check).status == 200

    assert len(ran) == 1


def test_a_certificate_without_rfc_5280_extensions_is_accepted_from_a_known_authority(tmp_path: Path) -> None:
    authority, certificate = bare_chain(tmp_path)
    outbound = Outbound(public_only=False, total_seconds=AMPLE, ca_file=str(authority))

    with socket_server(good, server_context(certificate)) as server:
        assert outbound.post(server.url, b"{}", {}, repeat=False).status == 200


def test_a_server_certificate_in_the_ca_file_is_not_accepted_as_a_trust_anchor(tmp_path: Path) -> None:
    _, certificate = bare_chain(tmp_path)
    outbound = Outbound(public_only=False, total_seconds=AMPLE, ca_file=str(certificate))

    with (
        socket_server(good, server_context(certificate)) as server,
        pytest.raises(NotReached, match="no trusted TLS connection could be made"),
    ):
        outbound.post(server.url, b"{}", {}, repeat=False)


def test_a_server_without_tls_raises_not_reached() -> None:
    def plain(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket_server(plain) as server, pytest.raises(NotReached, match="no trusted TLS connection could be made"):
        post(server.url.replace("http://", "https://"))


def hanging_handshake(connection: Connection) -> None:
    connection.stop.wait()


def trickled_handshake(connection: Connection) -> None:
    connection.trickle(b"\x16\x03\x03\x3f\xff" + b"\x02\x00\x3f\xfb" + b"\x03" * 200)


@EITHER_WAY
@pytest.mark.parametrize("behaviour", [hanging_handshake, trickled_handshake])
def test_a_tls_handshake_that_never_ends_raises_not_reached(
    behaviour: Callable[[Connection], None], fresh: bool
) -> None:
    with socket_server(behaviour) as server, pytest.raises(NotReached):
        post(server.url.replace("http://", "https://"), total=SHORT, fresh=fresh)


@pytest.mark.usefixtures("trusted")
def test_the_limits_of_outbound_calls_also_apply_to_calls_over_tls(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket_server(good, tls) as server:
        assert post(server.url).status == 200
    with socket_server(half_an_answer, tls) as server, pytest.raises(ConnectionDropped):
        post(server.url)
    let_time_run_out(monkeypatch)
    with socket_server(trickled_body, tls) as server, pytest.raises(TimedOut):
        post(server.url)


@pytest.mark.usefixtures("trusted")
def test_a_tls_failure_after_the_request_raises_connection_dropped(tls: ssl.SSLContext) -> None:
    def garbage(connection: Connection) -> None:
        connection.request()
        raw = socket.socket(fileno=connection.sock.detach())
        raw.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
        raw.close()

    with socket_server(garbage, tls) as server, pytest.raises(ConnectionDropped):
        post(server.url)
    assert len(server.requests) == 1


@pytest.mark.usefixtures("trusted")
def test_new_tls_connections_share_one_tls_context(tls: ssl.SSLContext) -> None:
    module.tls_context.cache_clear()

    with socket_server(good, tls) as server:
        for _ in range(3):
            post_fresh(server.url)
        assert server.served == [1, 2, 3]
    assert module.tls_context.cache_info().misses == 1


@pytest.mark.usefixtures("trusted")
def test_a_server_certificate_for_another_host_name_is_rejected(
    monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext
) -> None:
    resolve_to(monkeypatch, "127.0.0.1")

    with socket_server(good, tls) as server, pytest.raises(NotReached, match="no trusted TLS connection could be made"):
        post_fresh(f"https://bank.example.org:{server.port}/bank")
    assert server.requests == []


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_closed(outbound: Outbound) -> bool:
    ((connection,),) = outbound._connections._idle.values()
    return connection_pool.is_readable(connection.sock)
