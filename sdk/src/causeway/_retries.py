"""Determines which failures are retried, and the delay before each retry."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

Kind = Literal["read", "payment", "refresh", "code", "once"]
"""The kinds of calls, which differ in their retries. ``read``: a retry has no side effect. ``payment``: a retry has the
same Idempotency-Key. ``refresh``: for 60 seconds, the hub answers a repeated refresh token with the same response.
``code``: the second use of an authorization code is refused and ends the consent; a retry is safe nevertheless, because
the tokens of the consent are lost with the first response. ``once``: a call is retried only if the hub cannot have
executed it.
"""
NOT_SENT, LOST, SERVER_FAILED = "not_sent", "lost", "server_failed"
"""Failures of a call: no connection was made; the connection was lost or the response timed out; the status is 500 or
higher.
"""

REPEATED: Mapping[Kind, frozenset[str | int]] = {
    "read": frozenset({NOT_SENT, LOST, 429, SERVER_FAILED}),
    "payment": frozenset({NOT_SENT, LOST, 409, 429, SERVER_FAILED}),
    "refresh": frozenset({NOT_SENT, LOST, 429, SERVER_FAILED}),
    "code": frozenset({NOT_SENT, LOST, 429, SERVER_FAILED}),
    "once": frozenset({NOT_SENT, 429}),
}
"""The failures after which each kind of call is retried. A response with a ``reason_code`` is final."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The number of retries of a call, and their delays in seconds."""

    waits: tuple[float, ...] = (0.5, 1.5, 4.0)
    """The delay before each retry, with a random variation of ±20 %. With ``()``, calls are not retried."""
    longest_wait: float = 30.0
    """The longest ``Retry-After`` for which a call is retried. If the hub requests a longer wait, the error contains
    the wait.
    """

    def wait(self, repeat: int, retry_after: float | None) -> float | None:
        """Return the seconds before a retry, where 0 is the first retry. Return ``None`` if the failure is final."""
        if repeat >= len(self.waits) or (retry_after or 0) > self.longest_wait:
            return None
        return max(self.waits[repeat] * random.uniform(0.8, 1.2), retry_after or 0)


REFRESH_WAITS = Retries(waits=(0.2, 0.5, 1.0, 2.0, 4.0), longest_wait=5.0)
"""The retries of a token refresh. The hub repeats a lost response only for 60 seconds after the first use of the
refresh token, so all retries must end within this time.
"""
REFRESH_SECONDS = 45.0
"""Number of seconds after the first attempt within which a refresh is retried."""
REFRESH_TIMEOUT = 10.0
"""The timeout of a refresh in seconds. The hub calls no bank for a refresh, so a response that takes longer is
considered lost.
"""
LONGEST_RETRY_AFTER = 366 * 86400.0
"""The maximum value of ``Retry-After`` in seconds. Longer values are reduced to it, because not every system supports
longer waits.
"""


def retry_after(header: str | None, now: float) -> float | None:
    """Return the seconds in a ``Retry-After`` header, which contains seconds or a date. Return ``None`` if the header
    is missing or invalid.
    """
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
