"""Connections with one deadline for the whole exchange, to public addresses only where that is asked for.

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
from collections.abc import Callable, Iterator
from functools import cache
from math import inf
from typing import Any

import certifi
from urllib3 import PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NameResolutionError, NewConnectionError, SSLError
from urllib3.util.connection import create_connection
from urllib3.util.ssl_ import create_urllib3_context

from chalicelib.foundation.http import header_capture
from chalicelib.foundation.http.addresses import is_public, may_be_public
from chalicelib.foundation.lazy_dataclasses import dataclass

CONNECT_SECONDS = 3.0
_CHUNK = 65536

current_call = threading.local()
"""The call: its deadline ``moment``, its ``slow_check`` until that has run, ``public_only``, ``ca_file``, ``largest``,
and whether anything was ``sent``.
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
    moment: float, public_only: bool, ca_file: str | None, largest: int, slow_check: SlowCheck | None = None
) -> Iterator[None]:
    current_call.moment = moment
    current_call.slow_check = slow_check
    current_call.slow_from = time.monotonic() + slow_check.seconds if slow_check else inf
    current_call.largest = largest
    current_call.public_only = public_only
    current_call.ca_file = ca_file
    try:
        yield
    finally:
        vars(current_call).clear()


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


class TlsFailed(NewConnectionError):
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


class _Connecting:
    """Tries a host's addresses in turn within one time limit, and records when the request is sent."""

    host: str
    port: int
    sock: Any
    socket_options: Any

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        self.sock.settimeout(remaining())
        if not current_call.sent:
            header_capture.record_sent(_headers_in(data))
        current_call.sent = True
        super().send(data)  # type: ignore[misc]

    def _new_conn(self) -> socket.socket:
        until = time.monotonic() + min(CONNECT_SECONDS, max(current_call.moment - time.monotonic(), 0.001))
        try:
            usable = not current_call.public_only or may_be_public(self.host)
            found = _resolve(self.host, self.port, until - time.monotonic()) if usable else []
        except (OSError, UnicodeError) as error:
            raise NameResolutionError(self.host, self, socket.gaierror(str(error))) from error  # type: ignore[arg-type]
        failure: Exception = AddressRefused("the address is not public")
        for address in dict.fromkeys(str(entry[4][0]) for entry in found):
            if current_call.public_only and not is_public(address):
                continue
            try:
                left = max(until - time.monotonic(), 0.001)
                return create_connection((address, self.port), left, socket_options=self.socket_options)
            except OSError as error:
                failure = error
        raise NewConnectionError(self, "no connection could be made") from failure  # type: ignore[arg-type]


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


class _Http(_Connecting, HTTPConnection):
    response_class = _Response


class _Https(_Connecting, HTTPSConnection):
    response_class = _Response

    def connect(self) -> None:
        self.ssl_context = trust(current_call.ca_file or certifi.where())
        try:
            super().connect()
        except (OSError, SSLError) as error:
            raise TlsFailed(self, "no TLS connection could be made") from error


@cache
def trust(authorities: str) -> ssl.SSLContext:
    """The TLS context and its trusted authorities; cached, because loading them takes longer than a handshake.

    Every version of Python verifies alike. By default, 3.13 refuses certificates that lack extensions of RFC 5280,
    which authorities of banks leave out, and trusts a single certificate of ``authorities`` without its issuer.
    """
    context = create_urllib3_context()
    context.verify_flags = ssl.VerifyFlags.VERIFY_X509_TRUSTED_FIRST
    context.load_verify_locations(authorities)
    return context


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Http


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


class _UnpooledManager(HTTPConnectionPool):
    """Closes connections instead of keeping them, so that every request gets a new one."""

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            conn.close()


class _FreshPool(_UnpooledManager, _Pool):
    pass


class _FreshTlsPool(_UnpooledManager, _TlsPool):
    pass


def pool_manager(*, fresh: bool) -> PoolManager:
    """Connections that are kept, at most 64 for each of 32 hosts, or with ``fresh`` one for each request."""
    if fresh:
        pools = PoolManager(num_pools=32)
        pools.pool_classes_by_scheme = {"http": _FreshPool, "https": _FreshTlsPool}
    else:
        pools = PoolManager(num_pools=32, maxsize=64)
        pools.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return pools


def _headers_in(head: bytes) -> dict[str, str]:
    """Parse the headers from the first bytes of a request."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name: value for name, _, value in (line.partition(": ") for line in lines) if name}
