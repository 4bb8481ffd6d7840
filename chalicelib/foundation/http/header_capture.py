"""The headers of a call to another party, noted by what makes the call for whoever began to look on.

In between every outcome is put into other words, and a defect may end it anywhere: passed along from one to the other
the headers would get lost just when they are looked for. A call that nobody looks on at notes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class CapturedHeaders:
    """What was seen of the latest call, in clear, so that it must not be logged or stored as it is.

    Attributes:
        sent: the headers of the request, as soon as its first byte was sent.
        received: those of the answer, as soon as they had come, even if the rest of it never did.
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
