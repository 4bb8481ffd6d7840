"""Calls to other parties, with limits that protect against slow, oversized and misleading responses.

The limits are 3 s to connect, 20 s in total, responses of at most 5 MB, and no redirects. A caller, or the context of
the request, may set lower limits. The whole exchange has one deadline, checked before every socket read, so a party
that sends one byte a second cannot prolong it. Outside the local stage, the party's address must be public. It is
checked after name resolution, and the same address is used for the connection.

Whether a request may have reached the other party is recorded when its first byte is sent, not inferred from errors.
"""

from __future__ import annotations

import http.client
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from chalicelib.foundation import context
from chalicelib.foundation.http.addresses import has_web_scheme
from chalicelib.foundation.http.connection_pool import AddressUnusable, BodyTooLarge, Connections, read_body
from chalicelib.foundation.http.deadline_connections import AddressRefused, Exchange, SlowCheck, TlsFailed
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.version import USER_AGENT

TOTAL_SECONDS = 20.0
ANSWER_BYTES = 5_000_000
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": USER_AGENT}


class OutboundError(Exception):
    """A call did not receive a complete response. The message is readable and contains no data from the request."""


class NotReached(OutboundError):
    """The request was not sent, so the other party cannot have received it."""


class ConnectionDropped(OutboundError):
    """The connection was lost before the response was complete."""


class TimedOut(OutboundError):
    """The call exceeded its time limit."""


class GivenUp(OutboundError):
    """The caller ended a slow call before the call's time limit."""


class ResponseTooLarge(OutboundError):
    """The response is larger than the call allows."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response. ``seconds`` is the duration of the exchange, including connecting."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    seconds: float

    def header(self, name: str) -> str | None:
        """Return the value of a header, whose name may have another case."""
        return next((value for each, value in self.headers.items() if each.lower() == name.lower()), None)

    def retry_after(self, now: int) -> int | None:
        """Return the seconds in ``Retry-After`` (RFC 9110, 10.2.3), or ``None`` if it is missing or invalid.

        The header may contain a date, which is compared with ``now`` (Unix seconds). A past date yields 0.
        """
        value = (self.header("Retry-After") or "").strip()
        try:
            if value.isdecimal() and value.isascii():
                return int(value)
            moment = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        return max(int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) - now, 0)


class Outbound:
    """Sends requests over persistent connections, or over a new connection for a single request.

    Args:
        public_only: refuse private addresses (all stages except the local one).
        ca_file: the authorities to trust, in PEM, or ``None`` for the public authorities.
    """

    def __init__(self, *, public_only: bool, total_seconds: float = TOTAL_SECONDS, ca_file: str | None = None) -> None:
        self.total_seconds = total_seconds
        self._public_only = public_only
        self._ca_file = ca_file
        self._connections = Connections()

    def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        repeat: bool,
        fresh: bool = False,
        slow_check: SlowCheck | None = None,
    ) -> Reply:
        """Post ``body``. If ``repeat`` is true, retry once after ``NotReached`` or ``ConnectionDropped``.

        If ``fresh`` is true, the request uses a new connection. If a persistent connection was closed while the process
        was frozen, it would be unknown whether the request arrived. The check of ``slow_check`` may raise ``GivenUp``.

        Raises:
            OutboundError: the call failed. The subclass states how.
        """
        if not has_web_scheme(url):
            raise NotReached("the address cannot be used")
        exchange = self._new_exchange(self.total_seconds, slow_check)
        try:
            return self.send_once("POST", url, body, headers, exchange, fresh=fresh)
        except (NotReached, ConnectionDropped) as failure:
            if not repeat:
                raise
            first = failure
        try:
            return self.send_once("POST", url, body, headers, exchange, fresh=fresh)
        except NotReached:
            raise first from None  # the first request may have been seen

    def get(self, url: str, *, largest: int, total_seconds: float) -> Reply:
        """Get a document of at most ``largest`` bytes within ``total_seconds``, over a new connection.

        Raises:
            OutboundError: the call failed. The subclass states how.
        """
        if not has_web_scheme(url):
            raise NotReached("the address cannot be used")
        return self.send_once("GET", url, None, {}, self._new_exchange(total_seconds), fresh=True, largest=largest)

    def _new_exchange(self, seconds: float, slow_check: SlowCheck | None = None) -> Exchange:
        return Exchange(
            time.monotonic() + min(seconds, context.seconds_left()), self._public_only, self._ca_file, slow_check
        )

    def send_once(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        exchange: Exchange,
        *,
        fresh: bool,
        largest: int = ANSWER_BYTES,
    ) -> Reply:
        started = time.monotonic()
        handled = sys.exception()
        all_headers = {**_HEADERS, **headers, **({"Connection": "close"} if fresh else {})}
        try:
            with self._connections.response(method, url, body, all_headers, exchange, fresh=fresh) as answer:
                received = _merged(answer.headers)
                context.captured().received = received
                content = _read(answer, largest)
        except OutboundError:
            raise
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise translate(error, handled, sent=exchange.sent) from error
        return Reply(answer.status, content, received, time.monotonic() - started)


def _read(response: http.client.HTTPResponse, largest: int) -> bytes:
    content = bytearray()
    try:
        return read_body(response, largest, content)
    except BodyTooLarge:
        size = f"{largest // 1_000_000} MB" if largest >= 1_000_000 else f"{largest // 1024} KB"
        raise ResponseTooLarge(f"the response is larger than {size}") from None
    finally:
        context.captured().beginning = bytes(content[: context.CAPTURED_BYTES])


def _merged(headers: http.client.HTTPMessage) -> dict[str, str]:
    """Return headers by name. Values of a repeated name form a list (RFC 9110, 5.3)."""
    merged: dict[str, str] = {}
    for name, value in headers.items():
        merged[name] = f"{merged[name]}, {value}" if name in merged else value
    return merged


def translate(error: BaseException, handled: BaseException | None, *, sent: bool) -> OutboundError:
    """Convert an error to an ``OutboundError``. Ignore ``handled``, which is an error that the caller was already
    handling.
    """
    causes = list(_chain(error, handled))
    if not sent:
        return NotReached(_reason(causes))
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return TimedOut("no answer came in time")
    return ConnectionDropped("the connection broke before the response was complete")


def _reason(causes: list[BaseException]) -> str:
    if any(isinstance(cause, AddressRefused) for cause in causes):
        return "the address is not public"
    if any(isinstance(cause, TlsFailed) for cause in causes):
        return "no trusted TLS connection could be made"
    if any(isinstance(cause, AddressUnusable) for cause in causes):
        return "the address cannot be used"
    return "no connection could be made"


def _chain(error: BaseException, handled: BaseException | None) -> Iterator[BaseException]:
    pending: list[Any] = [error]
    seen = {id(handled)}
    while pending:
        current = pending.pop()
        if isinstance(current, BaseException) and id(current) not in seen:
            seen.add(id(current))
            yield current
            pending += [current.__cause__, current.__context__]
