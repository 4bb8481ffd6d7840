"""The headers of a call to another party, captured by the caller for whoever started the capture.

Outcomes are translated on the way back, and a defect may end the call anywhere, so passing the headers along would lose
them when they matter. Without a capture nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field

from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(slots=True)
class CapturedHeaders:
    """The latest call's headers in clear: do not log or store them as they are.

    Attributes:
        sent: the headers of the request, as soon as its first byte was sent.
        received: those of the answer, even if the rest of it never came.
    """

    sent: Mapping[str, str] | None = field(default=None, repr=False)
    received: Mapping[str, str] | None = field(default=None, repr=False)


_looking_on: ContextVar[CapturedHeaders | None] = ContextVar("looking_on", default=None)


@contextmanager
def capture_headers(exchange: CapturedHeaders) -> Iterator[None]:
    """Has the calls that are made inside, in this thread, note their headers in ``exchange``."""
    before = _looking_on.set(exchange)
    try:
        yield
    finally:
        _looking_on.reset(before)


def record_sent(headers: Mapping[str, str]) -> None:
    """Note that a request is on its way, which has no answer yet."""
    if (exchange := _looking_on.get()) is not None:
        exchange.sent, exchange.received = headers, None


def record_received(headers: Mapping[str, str]) -> None:
    """Note that an answer has begun."""
    if (exchange := _looking_on.get()) is not None:
        exchange.received = headers
