"""Calls to other parties, with limits that protect against slow, oversized and misleading responses.

3 s to connect, 20 s in total, responses of at most 5 MB, no redirects. The whole exchange has one deadline, checked
before every socket read, so a party that sends one byte a second cannot prolong it. Outside the local stage, the
party's address must be public: it is checked after name resolution, and the same address is used for the connection.

Whether a request may have reached the other party is recorded when its first byte is sent, not inferred from errors.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import queue
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

import certifi
from urllib3 import PoolManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    HTTPError,
    LocationValueError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)
from urllib3.util.connection import create_connection
from urllib3.util.ssl_ import create_urllib3_context

from chalicelib.foundation.http import header_capture
from chalicelib.foundation.http.addresses import is_public, may_be_public
from chalicelib.foundation.lazy_dataclasses import dataclass

CONNECT_SECONDS = 3.0
TOTAL_SECONDS = 20.0
ANSWER_BYTES = 5_000_000
_CHUNK = 65536
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "Causeway"}


class OutboundError(Exception):
    """A call without a complete response. The human-readable message contains nothing from the request."""


class NotReached(OutboundError):
    """Nothing was sent, so the other party cannot have seen the request."""


class ConnectionDropped(OutboundError):
    """The connection was lost before the response was complete."""


class TimedOut(OutboundError):
    """The call exceeded its time limit."""


class ResponseTooLarge(OutboundError):
    """The response is larger than ``ANSWER_BYTES``."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response; ``seconds`` is the duration of the exchange, including connecting."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    seconds: float

    def retry_after(self, now: int) -> int | None:
        """The seconds in ``Retry-After`` (RFC 9110, 10.2.3), or ``None`` if it is missing or invalid.

        The header may contain a date, which is compared with ``now`` (Unix seconds); a past date gives 0.
        """
        value = next((value for name, value in self.headers.items() if name.lower() == "retry-after"), "").strip()
        try:
            if value.isdecimal() and value.isascii():
                return int(value)
            moment = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        return max(int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) - now, 0)


_call = threading.local()
"""The current call: its deadline ``moment``, ``public_only``, ``ca_file``, and whether anything was ``sent``."""


class Outbound:
    """Sends POST requests over kept-alive connections, or over a new connection for a single request.

    Args:
        public_only: refuse private addresses (all stages except the local one).
        ca_file: the authorities to trust, in PEM; ``None`` for the public ones.
    """

    def __init__(self, *, public_only: bool, total_seconds: float = TOTAL_SECONDS, ca_file: str | None = None) -> None:
        self._total = total_seconds
        self._public_only = public_only
        self._ca_file = ca_file
        self._pools = PoolManager(num_pools=32, maxsize=64)
        self._pools.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
        self._fresh = PoolManager(num_pools=32)
        self._fresh.pool_classes_by_scheme = {"http": _FreshPool, "https": _FreshTlsPool}

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, repeat: bool, fresh: bool = False) -> Reply:
        """POST ``body``; with ``repeat``, retry once after ``NotReached`` or ``ConnectionDropped``.

        With ``fresh``, the request gets a new connection. A kept-alive connection may have died while the process was
        frozen, leaving it unknown whether the request arrived.

        Raises:
            OutboundError: see its subclasses.
        """
        if not url.startswith(("https://", "http://")):
            raise NotReached("the address cannot be used")
        with _call_limits(time.monotonic() + self._total, self._public_only, self._ca_file):
            try:
                return self._exchange(url, body, headers, fresh)
            except (NotReached, ConnectionDropped) as failure:
                if not repeat:
                    raise
                first = failure
            try:
                return self._exchange(url, body, headers, fresh)
            except NotReached:
                raise first from None  # the first request may have been seen

    def _exchange(self, url: str, body: bytes, headers: Mapping[str, str], fresh: bool) -> Reply:
        started = time.monotonic()
        handled = sys.exception()
        closing = {"Connection": "close"} if fresh else {}
        _call.sent = False
        try:
            answer = (self._fresh if fresh else self._pools).urlopen(
                "POST",
                url,
                body=body,
                headers={**_HEADERS, **headers, **closing},
                timeout=Timeout(connect=CONNECT_SECONDS, read=_remaining()),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            header_capture.record_received(answer.headers)
            try:
                content = _read(answer)
            except BaseException:
                answer.close()
                raise
            answer.release_conn()
        except ResponseTooLarge:
            raise
        except (HTTPError, OSError, ValueError, http.client.HTTPException) as error:
            raise _translate(error, handled) from error
        return Reply(answer.status, content, answer.headers, time.monotonic() - started)


def _headers_in(head: bytes) -> dict[str, str]:
    """Parse the headers from the first bytes of a request."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name: value for name, _, value in (line.partition(": ") for line in lines) if name}


def _read(raw: Any) -> bytes:
    content = bytearray()
    while chunk := raw.read(_CHUNK, decode_content=False):
        content += chunk
        if len(content) > ANSWER_BYTES:
            raise ResponseTooLarge(f"the response is larger than {ANSWER_BYTES // 1_000_000} MB")
    return bytes(content)


@contextlib.contextmanager
def _call_limits(moment: float, public_only: bool, ca_file: str | None) -> Iterator[None]:
    _call.moment = moment
    _call.public_only = public_only
    _call.ca_file = ca_file
    try:
        yield
    finally:
        vars(_call).clear()


def _remaining() -> float:
    left: float = _call.moment - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _translate(error: BaseException, handled: BaseException | None) -> OutboundError:
    """Convert an error to an ``OutboundError``, ignoring ``handled``, an error that the caller was already handling."""
    causes = list(_chain(error, handled))
    if not _call.sent:
        return NotReached(_reason(causes))
    if any(isinstance(cause, ReadTimeoutError | TimeoutError) for cause in causes):
        return TimedOut("no answer came in time")
    return ConnectionDropped("the connection broke before the response was complete")


def _reason(causes: list[BaseException]) -> str:
    if any(isinstance(cause, _Refused) for cause in causes):
        return "the address is not public"
    if any(isinstance(cause, _Untrusted) for cause in causes):
        return "no trusted TLS connection could be made"
    if any(isinstance(cause, LocationValueError) for cause in causes):
        return "the address cannot be used"
    return "no connection could be made"


def _chain(error: BaseException, handled: BaseException | None) -> Iterator[BaseException]:
    """An error with its causes, its context, and errors among its arguments."""
    pending: list[Any] = [error]
    seen = {id(handled)}
    while pending:
        current = pending.pop()
        if isinstance(current, BaseException) and id(current) not in seen:
            seen.add(id(current))
            yield current
            pending += [current.__cause__, current.__context__, getattr(current, "reason", None), *current.args]


class _Refused(OSError):
    """The host has no public address."""


class _Untrusted(NewConnectionError):
    """The TLS handshake failed before any of the request was sent."""


class _DeadlineReader(io.RawIOBase):
    """Reads from a socket; each read may take the rest of the call's time."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._raw: Any = sock.makefile("rb", buffering=0)
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_remaining())
        read: int | None = self._raw.readinto(buffer)
        self.ended = read == 0
        return read

    def close(self) -> None:
        self._raw.close()
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
        self.sock.settimeout(_remaining())
        if not _call.sent:
            header_capture.record_sent(_headers_in(data))
        _call.sent = True
        super().send(data)  # type: ignore[misc]

    def _new_conn(self) -> socket.socket:
        until = time.monotonic() + min(CONNECT_SECONDS, max(_call.moment - time.monotonic(), 0.001))
        try:
            usable = not _call.public_only or may_be_public(self.host)
            found = _resolve(self.host, self.port, until - time.monotonic()) if usable else []
        except (OSError, UnicodeError) as error:
            raise NameResolutionError(self.host, self, socket.gaierror(str(error))) from error  # type: ignore[arg-type]
        failure: Exception = _Refused("the address is not public")
        for address in dict.fromkeys(str(entry[4][0]) for entry in found):
            if _call.public_only and not is_public(address):
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
        self.ssl_context = _trust(_call.ca_file or certifi.where())
        try:
            super().connect()
        except (OSError, SSLError) as error:
            raise _Untrusted(self, "no TLS connection could be made") from error


@cache
def _trust(authorities: str) -> ssl.SSLContext:
    """The TLS context and its trusted authorities; cached, because loading them takes longer than a handshake."""
    context = create_urllib3_context()
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
