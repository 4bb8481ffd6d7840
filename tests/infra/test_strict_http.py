"""The local servers parse requests strictly by RFC 9112."""

import socket
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from infra.strict_http import StrictHandler
from tests.kit import http
from tests.kit.time import PATIENCE_SECONDS

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(SMUGGLED)
UNREADABLE = 400


class Echo(StrictHandler):
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        body = self.read_body()
        content = repr((self.path, self.headers.get_all("X-Value") or [], body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = _handle  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


class Chunked(Echo):
    reads_chunks = True
    hosts = None
    largest_body = 100


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with http.serving(ThreadingHTTPServer(("127.0.0.1", 0), Echo)) as server:
        yield server.server_port


@pytest.fixture(scope="module")
def chunked_port() -> Iterator[int]:
    with http.serving(ThreadingHTTPServer(("127.0.0.1", 0), Chunked)) as server:
        yield server.server_port


def exchange(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as opened:
        opened.sendall(sent)
        opened.shutdown(socket.SHUT_WR)
        received = b""
        while piece := opened.recv(65536):
            received += piece
        return received


def statuses(received: bytes) -> list[int]:
    return [int(each[:3]) for each in received.split(b"HTTP/1.1 ")[1:]]


def request(headers: bytes, body: bytes = b"", line: bytes = b"POST /first HTTP/1.1") -> bytes:
    return line + b"\r\nHost: localhost\r\n" + headers + b"\r\n" + body


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        (b"a line without a colon\r\n", b"no colon"),
        (b"X-Value : one\r\n", b"blank before"),
        (b"X-Value\t: one\r\n", b"blank before"),
        (b"X-Value: one\r\n two\r\n", b"folded"),
        (b"X-Value: one\r\n\ttwo\r\n", b"folded"),
        (b": nameless\r\n", b"a character"),
        (b"X-Value: one\rX-Other: two\r\n", b"a character"),
        (b"X-Value: \x00\r\n", b"a character"),
        (b"X(Value): one\r\n", b"a character"),
    ],
)
def test_an_invalid_header_returns_400_and_closes_the_connection(port: int, headers: bytes, words: bytes) -> None:
    received = exchange(port, request(headers + LENGTH, SMUGGLED))
    assert statuses(received) == [UNREADABLE]
    assert words in received


@pytest.mark.parametrize(
    "headers",
    [
        LENGTH + b"Content-Length: 0\r\n",
        LENGTH + LENGTH,
        b"Content-Length: 0, 0\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 5_0\r\n",
        b"Content-Length:\r\n",
        LENGTH + b"Transfer-Encoding: chunked\r\n",
        LENGTH + b"Transfer-Encoding:\r\n",
    ],
)
def test_a_request_with_an_ambiguous_length_returns_400_and_closes_the_connection(port: int, headers: bytes) -> None:
    assert statuses(exchange(port, request(headers, SMUGGLED))) == [UNREADABLE]


@pytest.mark.parametrize("value", [b"chunked", b"identity", b"xchunked", b""])
def test_a_chunked_body_returns_411_if_chunks_are_not_supported(port: int, value: bytes) -> None:
    assert statuses(exchange(port, request(b"Transfer-Encoding: " + value + b"\r\n", SMUGGLED))) == [411]


def test_whitespace_around_a_header_value_is_removed(port: int) -> None:
    received = exchange(port, request(b"X-Value: \t one two \t \r\nX-Value:three\r\nX-Value:\r\n"))
    assert b"['one two', 'three', '']" in received


@pytest.mark.parametrize(
    "host", [b"localhost", b"LOCALHOST:1", b"127.0.0.1:8000", b"[::1]:8000", b"[::1]", b"localhost.", b"127.0.0.1:"]
)
def test_a_request_for_localhost_is_served_at_any_port(port: int, host: bytes) -> None:
    assert statuses(exchange(port, b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")) == [200]


@pytest.mark.parametrize(
    "host", [b"evil.example", b"localhost.evil.example:80", b"evil.example@localhost", b"localhost/", b"", b"[::2]"]
)
def test_a_request_for_another_host_returns_400(port: int, host: bytes) -> None:
    received = exchange(port, b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n" + SMUGGLED)
    assert statuses(received) == [UNREADABLE]
    assert b"The Host header" in received


def test_an_absolute_target_with_another_host_returns_400(port: int) -> None:
    assert statuses(exchange(port, request(b"", line=b"GET http://evil.example/ HTTP/1.1"))) == [UNREADABLE]
    assert statuses(exchange(port, request(b"", line=b"GET http://localhost:80/ HTTP/1.1"))) == [200]


def test_a_missing_or_repeated_host_header_returns_400(port: int) -> None:
    assert statuses(exchange(port, b"GET / HTTP/1.1\r\n\r\n")) == [UNREADABLE]
    assert statuses(exchange(port, request(b"Host: localhost\r\n"))) == [UNREADABLE]
    assert statuses(exchange(port, b"GET / HTTP/1.0\r\n\r\n")) == [200]


@pytest.mark.parametrize(
    "line", [b"nonsense", b"GET /", b"GET  / HTTP/1.1", b"GET / / HTTP/1.1", b"GET\t/ HTTP/1.1", b"G(T / HTTP/1.1", b""]
)
def test_an_invalid_request_line_returns_400(port: int, line: bytes) -> None:
    assert statuses(exchange(port, request(b"", line=line))) == [UNREADABLE]


def test_an_invalid_request_after_a_valid_request_returns_400(port: int) -> None:
    received = exchange(port, request(b"", line=b"HEAD / HTTP/1.1") + request(b"no colon\r\n"))
    assert statuses(received) == [200, UNREADABLE]
    assert b"has no colon" in received


@pytest.mark.parametrize(("headers", "status"), [(b"X-Value: 1\r\n" * 101, 431), (b"X: " + b"x" * 65536, 431)])
def test_too_many_or_too_long_headers_return_431(port: int, headers: bytes, status: int) -> None:
    assert statuses(exchange(port, request(headers))) == [status]


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b"0\r\n\r\n", b"b''"),
        (b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"b'abcde'"),
        (b"1;name=value\r\na\r\n00\r\nTrailer: dropped\r\n\r\n", b"b'a'"),
    ],
)
def test_a_chunked_body_is_assembled(chunked_port: int, body: bytes, read: bytes) -> None:
    received = exchange(chunked_port, request(b"Transfer-Encoding: Chunked\r\n", body + SMUGGLED))
    assert statuses(received) == [200, 200]
    assert read in received


@pytest.mark.parametrize(
    "body",
    [
        b"-1\r\n\r\n",
        b"0x1\r\na\r\n0\r\n\r\n",
        b"+1\r\na\r\n0\r\n\r\n",
        b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n",
        b"\r\n",
        b"many\r\n",
        b"1\r\nabc\r\n0\r\n\r\n",
        b"5\r\nabc",
        b"1\r\na\r\n0\r\nno colon\r\n\r\n",
    ],
)
def test_an_invalid_chunk_returns_400_and_closes_the_connection(chunked_port: int, body: bytes) -> None:
    received = exchange(chunked_port, request(b"Transfer-Encoding: chunked\r\n", body + SMUGGLED))
    assert statuses(received) == [UNREADABLE]


@pytest.mark.parametrize("encoding", [b"gzip, chunked", b"chunked\r\nTransfer-Encoding: chunked", b"xchunked"])
def test_a_request_with_a_transfer_encoding_other_than_chunked_returns_400(chunked_port: int, encoding: bytes) -> None:
    received = exchange(chunked_port, request(b"Transfer-Encoding: " + encoding + b"\r\n", b"0\r\n\r\n"))
    assert statuses(received) == [UNREADABLE]


def test_a_chunked_body_above_the_size_limit_returns_413(chunked_port: int) -> None:
    body = b"60\r\n" + b"x" * 0x60 + b"\r\n5\r\nxxxxx\r\n0\r\n\r\n"
    assert statuses(exchange(chunked_port, request(b"Transfer-Encoding: chunked\r\n", body))) == [413]
