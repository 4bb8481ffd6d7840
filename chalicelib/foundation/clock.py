"""Clocks, which are passed as parameters so that tests can change the time."""

from __future__ import annotations

import time
from datetime import UTC, datetime

CLOCK_SKEW_SECONDS = 5
"""The maximum difference between the clocks of two processes. A time that another process wrote may be this much in the
future. A claim of another process remains valid for this long after its end.
"""


class Clock:
    """The system clock. ``time`` and ``now`` return the same time. Use ``monotonic`` for durations only."""

    @property
    def real(self) -> Clock:
        """A clock that is never advanced. Signatures, proofs, TLS, sessions, cookies and one-time links use it."""
        return self

    @property
    def offset_seconds(self) -> int:
        """The difference between business time and ``real``, which is 0 unless the clock was advanced
        (``moved_clock``).
        """
        return 0

    def time(self) -> int:
        """Return Unix seconds."""
        return int(time.time())

    def now(self) -> datetime:
        """Return the current time as an aware UTC datetime."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start. The value never decreases."""
        return time.monotonic()


def milliseconds(clock: Clock) -> int:
    """Return the clock's time in Unix milliseconds."""
    return int(clock.now().timestamp() * 1000)


def timestamp(seconds: int) -> str:
    """Format Unix seconds as ``YYYY-MM-DDTHH:MM:SS+00:00``, the 25 characters used on every interface."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
