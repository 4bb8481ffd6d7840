"""Determines which failures are retried, and the delay before each retry."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

Kind = Literal["read", "payment", "refresh", "code", "once"]
"""``read``: repeating has no effect. ``payment``: repeated with the same Idempotency-Key. ``refresh``: the same refresh
token is answered again for 60 seconds. ``code``: an authorization code, whose second use is refused and ends the
consent; without the answer to its first use nobody has the consent's tokens, so a repeat can only help. ``once``:
repeated only if the hub cannot have done it."""
NOT_SENT, LOST, SERVER_FAILED = "not_sent", "lost", "server_failed"
"""No connection was made; a connection broke, or no answer came in time; any status from 500 on."""

REPEATED: Mapping[Kind, frozenset[str | int]] = {
    "read": frozenset({NOT_SENT, LOST, 429, SERVER_FAILED}),
    "payment": frozenset({NOT_SENT, LOST, 409, 429, SERVER_FAILED}),
    "refresh": frozenset({NOT_SENT, LOST, 429, SERVER_FAILED}),
    "code": frozenset({NOT_SENT, LOST, 429, SERVER_FAILED}),
    "once": frozenset({NOT_SENT, 429}),
}
"""The failures after which each kind of call is repeated. An answer with a ``reason_code`` is final."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The number of retries of a call, and their delays in seconds."""

    waits: tuple[float, ...] = (0.5, 1.5, 4.0)
    """The wait before each repeat, ±20 %. ``()`` means that nothing is repeated."""
    longest_wait: float = 30.0
    """A call is not repeated if the hub asks for a longer wait (``Retry-After``): the error tells it."""

    def wait(self, repeat: int, retry_after: float | None) -> float | None:
        """Return the seconds before a retry, where 0 is the first retry; ``None`` if the failure is final."""
        if repeat >= len(self.waits) or (retry_after or 0) > self.longest_wait:
            return None
        return max(self.waits[repeat] * random.uniform(0.8, 1.2), retry_after or 0)


REFRESH_WAITS = Retries(waits=(0.2, 0.5, 1.0, 2.0, 4.0), longest_wait=5.0)
"""For a refresh. Its lost answer is repeated for 60 seconds from its first use, so all repeats must be over by then."""
REFRESH_SECONDS = 45.0
"""A refresh is not repeated later than this after its first attempt."""
REFRESH_TIMEOUT = 10.0
"""A refresh reaches no bank: a longer silence is a lost answer."""
LONGEST_RETRY_AFTER = 366 * 86400.0
"""A longer ``Retry-After`` is taken for this many seconds, which every system can wait."""


def retry_after(header: str | None, now: float) -> float | None:
    """Return the seconds of a ``Retry-After`` header, which has seconds or a date; ``None`` if missing or invalid."""
    text = (header or "").strip()
    try:
        seconds = float(text) if text.isascii() and text.isdigit() else _moment(text) - now
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER)


def _moment(text: str) -> float:
    """Convert an HTTP date to Unix seconds. Raises ``ValueError`` or ``OverflowError``."""
    moment = parsedate_to_datetime(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def utc(seconds: float) -> datetime:
    """Convert Unix seconds to a UTC time."""
    return datetime.fromtimestamp(seconds, UTC)
