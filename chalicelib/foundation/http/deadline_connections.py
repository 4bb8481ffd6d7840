"""Connections with one deadline for the whole exchange, optionally restricted to public addresses.

``Exchange`` has the limits of a request and its response. They apply to every connect, send and read.
"""

from __future__ import annotations

import http.client
import io
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import field
from functools import cache, partial
from math import inf
from socket import create_connection
from types import FunctionType
from typing import Any

import certifi

from chalicelib.foundation.context import captured
from chalicelib.foundation.http.addresses import is_public, may_be_public
from chalicelib.foundation.http.response_headers import read_headers
from chalicelib.foundation.lazy_dataclasses import dataclass

CONNECT_SECONDS = 3.0
_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class SlowCheck:
    """A check that runs once, in the call's thread, after ``seconds`` of waiting for the response.

    An exception of ``check`` ends the call.
    """

    seconds: float
    check: Callable[[], None]


def _now() -> float:
    return time.monotonic()


@dataclass(slots=True)
class Exchange:
    """A request, its response, and the limits of both.

    Attributes:
        until: the deadline, on the monotonic clock.
        connect: the connect timeout in seconds.
        read: the seconds from the first sent byte until the end of the response.
        slow_check: the pending check of a slow call.
        is_captured: whether the headers are captured in the context of the request.
        sent: whether any byte of the request was sent.
    """

    until: float
    public_only: bool = False
    ca_file: str | None = None
    slow_check: SlowCheck | None = None
    connect: float = CONNECT_SECONDS
    read: float = inf
    is_captured: bool = True
    sent: bool = False
    began: float = field(default_factory=_now)

    def remaining(self) -> float:
        """Return the remaining seconds. Raises: TimeoutError: no time is left."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left

    def time_to_wait(self) -> float:
        """Return the maximum number of seconds for the next read.

        A read ends at the deadline, or when the pending check of a slow call becomes due. A check that is already due
        is run first. Raises: TimeoutError, or an exception of the check.
        """
        left, slow_check = self.remaining(), self.slow_check
        if slow_check is None:
            return left
        until_slow = self.began + slow_check.seconds - time.monotonic()
        if until_slow > 0:
            return min(left, until_slow)
        self.slow_check = None
        slow_check.check()
        return self.remaining()

    def record_begin(self, head: bytes) -> None:
        """Record that the request is being sent. Called before the first byte is sent."""
        if self.sent:
            return
        self.sent = True
        self.until = min(self.until, time.monotonic() + self.read)
        if self.is_captured:
            call = captured()
            call.sent, call.received, call.beginning = _headers_in(head), None, b""


class AddressRefused(OSError):
    """The host has no public address."""


class TlsFailed(OSError):
    """The TLS handshake failed before any byte of the request was sent."""


class DeadlineReader(io.RawIOBase):
    """Reads from a socket. Each read may take the call's remaining time.

    Reads use the socket directly, because a socket's file object cannot be read after a timeout. The file object is
    kept only to prevent the socket from closing.
    """

    def __init__(self, sock: socket.socket, exchange: Exchange) -> None:
        self._sock = sock
        self.exchange = exchange
        self._file: Any = sock.makefile("rb", buffering=0)
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        while True:
            self._sock.settimeout(self.exchange.time_to_wait())
            try:
                read = self._sock.recv_into(buffer)
            except TimeoutError:
                self.exchange.remaining()
            else:
                self.ended = read == 0
                return read

    def close(self) -> None:
        self._file.close()
        super().close()


class _DeadlineSocket:
    """The part of the socket interface that ``http.client`` needs for a response."""

    def __init__(self, sock: socket.socket, exchange: Exchange) -> None:
        self._sock = sock
        self.exchange = exchange

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(DeadlineReader(self._sock, self.exchange), _CHUNK)


_LIBRARY_BEGIN = http.client.HTTPResponse.begin
_begin_with_own_headers: Any = FunctionType(
    _LIBRARY_BEGIN.__code__, {**vars(http.client), "parse_headers": read_headers}, argdefs=_LIBRARY_BEGIN.__defaults__
)
"""The standard library's ``HTTPResponse.begin``, with a different header parser."""
_begin_with_own_headers.__kwdefaults__ = _LIBRARY_BEGIN.__kwdefaults__


class _Response(http.client.HTTPResponse):
    """A response with a deadline, which is parsed more strictly than by the standard library."""

    def __init__(self, exchange: Exchange, sock: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(_DeadlineSocket(sock, exchange), *arguments, **options)  # type: ignore[arg-type]

    def begin(self, **options: Any) -> None:
        _begin_with_own_headers(self, **options)
        reader: Any = self.fp.raw
        if reader.ended:
            raise http.client.RemoteDisconnected("the connection ended before the headers were complete")

    def _read_status(self) -> tuple[str, int, str]:
        """Read the status line, skipping all interim responses (1xx) like ``100 Continue``.

        The standard library would return any other 1xx response as the final one, and the actual final response to the
        connection's next request.
        """
        version, status, reason = super()._read_status()  # type: ignore[misc]
        return version, http.client.CONTINUE if status < http.client.OK else status, reason


class Connection(http.client.HTTPConnection):
    """An HTTP connection that tries the addresses of a host in order, within one time limit.

    The connection records when the request is sent. The standard library sends the headers before the body. This class
    sends headers and body together.
    """

    exchange: Exchange
    response_class: Any
    sock: Any
    is_tunnelling = False
    idle_since = 0.0
    _head: bytes | None = None
    """The headers, which are stored until the body is sent. The value is empty before the headers, or ``None`` without
    a body.
    """

    def begin_exchange(self, exchange: Exchange) -> None:
        """Use the connection for the next request and response."""
        self.exchange, self.response_class = exchange, partial(_Response, exchange)

    def request(self, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> None:
        self._head = b"" if body else None
        super().request(method, url, body, headers or {}, **options)

    def connect(self) -> None:
        self.sock = _connect(self.host, self.port, self.exchange)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        self.exchange.remaining()
        if not self.is_tunnelling:
            if self._head == b"":
                self._head = data
                return
            data, self._head = (self._head or b"") + data, None
            self.exchange.record_begin(data)
        for start in range(0, len(data), _CHUNK):  # TLS would take the whole time-out for each of its records
            self.sock.settimeout(self.exchange.remaining())
            super().send(data[start : start + _CHUNK])


class TlsConnection(Connection):
    """A connection over TLS. If ``set_tunnel`` was called, the connection uses a proxy."""

    default_port = http.client.HTTPS_PORT
    _tunnel_host: str | None

    def connect(self) -> None:
        exchange = self.exchange
        context = tls_context(exchange.ca_file or certifi.where())
        until = time.monotonic() + min(exchange.connect, exchange.remaining())
        super().connect()
        if self._tunnel_host:
            self._open_tunnel()
        self.sock.settimeout(max(until - time.monotonic(), 0.001))
        try:
            self.sock = context.wrap_socket(self.sock, server_hostname=self._tunnel_host or self.host)
        except OSError as error:
            raise TlsFailed("no TLS connection could be made") from error

    def _open_tunnel(self) -> None:
        self.is_tunnelling = True
        try:
            self._tunnel()  # type: ignore[attr-defined]
        finally:
            self.is_tunnelling = False


def _connect(host: str, port: int, exchange: Exchange) -> socket.socket:
    until = time.monotonic() + min(exchange.connect, max(exchange.until - time.monotonic(), 0.001))
    usable = not exchange.public_only or may_be_public(host)
    found = _resolve(host, port, until - time.monotonic()) if usable else []
    failure: OSError = AddressRefused("the address is not public")
    for address in dict.fromkeys(str(entry[4][0]) for entry in found):
        if exchange.public_only and not is_public(address):
            continue
        try:
            left = max(until - time.monotonic(), 0.001)
            connected = create_connection((address, port), left)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            failure = error
        else:
            return connected
    raise failure


def _resolve(host: str, port: int, seconds: float) -> list[Any]:
    """Resolve a name in a thread, because the system resolver has no timeout. Raises: OSError."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="resolve").start()
    try:
        found = answers.get(timeout=seconds)
    except queue.Empty:
        raise socket.gaierror("the host name was not resolved in time") from None
    if isinstance(found, Exception):
        raise found
    addresses: list[Any] = found
    return addresses


@cache
def tls_context(authorities: str) -> ssl.SSLContext:
    """Return the TLS context for the trusted authorities. It is cached, because loading takes longer than a handshake.

    With these settings, all Python versions verify certificates identically. The defaults of Python 3.13 differ in two
    ways. They refuse certificates without some RFC 5280 extensions, which the authorities of banks omit. They also
    trust a single certificate of ``authorities`` without its issuer.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.verify_flags = ssl.VerifyFlags.VERIFY_X509_TRUSTED_FIRST
    context.load_verify_locations(authorities)
    return context


def _headers_in(head: bytes) -> dict[str, str]:
    lines = head.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    return {name: value for name, _, value in (line.partition(": ") for line in lines) if name}
