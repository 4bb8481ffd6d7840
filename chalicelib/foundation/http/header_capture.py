"""Captures the headers of calls to other parties, and the beginning of each response.

Errors are translated on their way to the caller, and a defect can end a call at any point, so headers passed along
with results would be lost when they are needed most. Outside ``context.capturing``, nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from chalicelib.foundation.context import current
from chalicelib.foundation.lazy_dataclasses import dataclass

CAPTURED_BYTES = 65_536
"""The number of bytes of a response body that are captured."""


@dataclass(slots=True)
class CapturedHeaders:
    """The headers of the latest call, unredacted: do not log or store them as they are.

    Attributes:
        sent: the request headers, set when the first byte is sent.
        received: the response headers, even if the body is incomplete.
        beginning: the first bytes of the response body, as far as it came.
    """

    sent: Mapping[str, str] | None = field(default=None, repr=False)
    received: Mapping[str, str] | None = field(default=None, repr=False)
    beginning: bytes = field(default=b"", repr=False)


def record_sent(headers: Mapping[str, str]) -> None:
    """Record the headers of a request and clear any earlier response."""
    if (exchange := current().captured) is not None:
        exchange.sent, exchange.received, exchange.beginning = headers, None, b""


def record_received(headers: Mapping[str, str]) -> None:
    """Record the headers of a response."""
    if (exchange := current().captured) is not None:
        exchange.received = headers


def record_body(body: bytes | bytearray) -> None:
    """Record the beginning of a response body."""
    if (exchange := current().captured) is not None:
        exchange.beginning = bytes(body[:CAPTURED_BYTES])
