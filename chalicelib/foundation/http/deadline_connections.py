"""Kept-alive connections with one deadline for the whole exchange, to public addresses only where that is asked for.

``call_limits`` sets the limits of the current thread's call. They hold for every connect, send and read.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import queue
import socket
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from math import inf
from typing import Any, NamedTuple

import certifi
from urllib3.util.connection import create_connection
from urllib3.util.request import make_headers
from urllib3.util.url import parse_url
from urllib3.util.wait import wait_for_read

from chalicelib.foundation.http import header_capture
from chalicelib.foundation.http.addresses import is_public, may_be_public
from chalicelib.foundation.lazy_dataclasses import dataclass

CONNECT_SECONDS = 3.0
_CHUNK = 65536
_wall_time = time.time
KEPT, _PLACES = 64, 32
_NO_DELAY: list[Any] = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]

current_call = threading.local()
"""The call: its deadline ``moment``, the seconds it may take to ``connect``, its ``slow_check`` until that has run,
``public_only``, ``ca_file``, ``largest``, whether its headers are captured, and whether anything was ``sent``.
"""


@dataclass(frozen=True, slots=True)
class SlowCheck:
    """What a call does once it has waited ``seconds`` for its response: ``check`` runs once, in the call's thread.

    An exception of ``check`` ends the call.
    """

    seconds: float
    check: Callable[[], None]


@contextlib.contextmanager
def call_limits(
    moment: float,
    public_only: bool,
    ca_file: str | None,
    largest: float,
    slow_check: SlowCheck | None = None,
    *,
    connect: float = CONNECT_SECONDS,
    is_captured: bool = True,
) -> Iterator[None]:
    """Set the limits of a call; it may be made while another one waits, in a slow call's check."""
    outer = dict(vars(current_call))
    current_call.moment = moment
    current_call.connect = connect
    current_call.slow_check = slow_check
    current_call.slow_from = time.monotonic() + slow_check.seconds if slow_check else inf
    current_call.largest = largest
    current_call.public_only = public_only
    current_call.ca_file = ca_file
    current_call.is_captured = is_captured
    try:
        yield
    finally:
        vars(current_call).clear()
        vars(current_call).update(outer)


def remaining() -> float:
    left: float = current_call.moment - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _time_to_wait() -> float:
    """The seconds that a read may wait: until the deadline or, if it has not run yet, until the check of a slow call.

    Runs the check if it is due. Raises: TimeoutError, or what the check raises.
    """
    left = remaining()
    if current_call.slow_check is None:
        return left
    until_slow: float = current_call.slow_from - time.monotonic()
    if until_slow > 0:
        return min(left, until_slow)
    slow_check, current_call.slow_check = current_call.slow_check, None
    slow_check.check()
    return remaining()


class AddressRefused(OSError):
    """The host has no public address."""


class TlsFailed(OSError):
    """The TLS handshake failed before any of the request was sent."""


class _DeadlineReader(io.RawIOBase):
    """Reads from a socket; each read may take the rest of the call's time.

    It reads from the socket itself, since a file of a socket cannot be read again after a time-out; the file keeps the
    socket open.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._file: Any = sock.makefile("rb", buffering=0)
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        while True:
            self._sock.settimeout(_time_to_wait())
            try:
                read = self._sock.recv_into(buffer)
            except TimeoutError:
                remaining()
            else:
                self.ended = read == 0
                return read

    def close(self) -> None:
        self._file.close()
        super().close()


class _DeadlineSocket:
    """The part of the socket interface that ``http.client`` needs for a response."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self._sock), _CHUNK)


class _Response(http.client.HTTPResponse):
    """A response with a deadline, parsed more strictly than by the standard library."""

    def __init__(self, sock: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(_DeadlineSocket(sock), *arguments, **options)  # type: ignore[arg-type]

    def begin(self) -> None:
        """Read the status line and headers. Truncated headers raise an error instead of passing for complete ones."""
        super().begin()
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


class _Connection(http.client.HTTPConnection):
    """Tries a host's addresses in turn within one time limit, and records when the request is sent."""

    response_class = _Response
    sock: Any
    is_tunnelling = False
    idle_since = 0.0

    def connect(self) -> None:
        self.sock = _connect(self.host, self.port)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        self.sock.settimeout(remaining())
        if not self.is_tunnelling:
            if not current_call.sent and current_call.is_captured:
                header_capture.record_sent(_headers_in(data))
            current_call.sent = True
        super().send(data)


class _TlsConnection(_Connection):
    """A connection over TLS, by way of a proxy if ``set_tunnel`` was called."""

    default_port = http.client.HTTPS_PORT
    _tunnel_host: str | None

    def connect(self) -> None:
        context = trust(current_call.ca_file or certifi.where())
        super().connect()
        if self._tunnel_host:
            self._open_tunnel()
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


def _connect(host: str, port: int) -> socket.socket:
    """Raises: OSError, UnicodeError."""
    until = time.monotonic() + min(current_call.connect, max(current_call.moment - time.monotonic(), 0.001))
    usable = not current_call.public_only or may_be_public(host)
    found = _resolve(host, port, until - time.monotonic()) if usable else []
    failure: OSError = AddressRefused("the address is not public")
    for address in dict.fromkeys(str(entry[4][0]) for entry in found):
        if current_call.public_only and not is_public(address):
            continue
        try:
            left = max(until - time.monotonic(), 0.001)
            return create_connection((address, port), left, socket_options=_NO_DELAY)
        except OSError as error:
            failure = error
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
def trust(authorities: str) -> ssl.SSLContext:
    """The TLS context and its trusted authorities; cached, because loading them takes longer than a handshake.

    Every version of Python verifies alike. By default, 3.13 refuses certificates that lack extensions of RFC 5280,
    which authorities of banks leave out, and trusts a single certificate of ``authorities`` without its issuer.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.verify_flags = ssl.VerifyFlags.VERIFY_X509_TRUSTED_FIRST
    context.load_verify_locations(authorities)
    return context


class _Place(NamedTuple):
    """Where a connection leads, and through which proxy."""

    scheme: str
    host: str
    port: int | None
    proxy: str | None

    def connection(self) -> _Connection:
        kind = _KINDS[self.scheme]
        if self.proxy is None:
            return kind(self.host, self.port)
        via = parse_url(self.proxy)
        connection = kind(str(via.host), via.port or http.client.HTTP_PORT)
        authorization = make_headers(proxy_basic_auth=via.auth) if via.auth else {}
        connection.set_tunnel(self.host, self.port or http.client.HTTPS_PORT, authorization)
        return connection


@lru_cache(maxsize=1024)
def _place(url: str, proxy: str | None) -> tuple[_Place, str]:
    """The place of an address, and the path and query asked for there. Raises: ValueError."""
    parts = parse_url(url)
    if parts.scheme not in _KINDS or not parts.host:
        raise ValueError("the address cannot be used")
    if parts.scheme == "http":
        proxy = None
    return _Place(parts.scheme, parts.host.strip("[]"), parts.port, proxy), parts.request_uri


class Connections:
    """Connections that are kept after use: at most 64 for each place, and for the 32 places used last.

    Args:
        idle_seconds: after how many seconds, on the clock of the wall, a connection is not used again. The monotonic
            clock of a frozen process stands still.
    """

    def __init__(self, idle_seconds: float = inf) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._idle: OrderedDict[_Place, list[_Connection]] = OrderedDict()

    def __del__(self) -> None:
        for kept in self._idle.values():
            for connection in kept:
                connection.close()

    @contextlib.contextmanager
    def response(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        fresh: bool = False,
        proxy: str | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request within the limits of the call; its response has to be read inside.

        With ``fresh``, the request gets a connection of its own, which is not kept. A ``proxy`` is used for https.

        Raises: OSError, http.client.HTTPException, ValueError.
        """
        place, target = _place(url, proxy)
        connection = (None if fresh else self._take(place)) or place.connection()
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            yield response
        except BaseException:
            connection.close()
            raise
        if fresh or response.will_close or not response.isclosed():
            connection.close()
        else:
            self._keep(place, connection)

    def _take(self, place: _Place) -> _Connection | None:
        """The connection to a place that was used last, if it is not old and the other side has not closed it."""
        while True:
            with self._lock:
                kept = self._idle.get(place)
                if not kept:
                    return None
                self._idle.move_to_end(place)
                connection = kept.pop()
            is_old = not 0 <= _wall_time() - connection.idle_since <= self._idle_seconds
            if not is_old and not wait_for_read(connection.sock, timeout=0):
                return connection
            connection.close()

    def _keep(self, place: _Place, connection: _Connection) -> None:
        connection.idle_since = _wall_time()
        with self._lock:
            kept = self._idle.setdefault(place, [])
            self._idle.move_to_end(place)
            kept.append(connection)
            left_over = [kept.pop(0)] if len(kept) > KEPT else []
            left_over += self._idle.popitem(last=False)[1] if len(self._idle) > _PLACES else []
        for each in left_over:
            each.close()


_KINDS = {"http": _Connection, "https": _TlsConnection}


def _headers_in(head: bytes) -> dict[str, str]:
    """Parse the headers from the first bytes of a request."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name: value for name, _, value in (line.partition(": ") for line in lines) if name}
