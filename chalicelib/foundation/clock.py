"""Time, as something that is handed in, so that tests can move it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The source of time. ``time`` and ``now`` agree; ``monotonic`` is for durations only."""

    def time(self) -> int:
        """Unix seconds."""

    def now(self) -> datetime:
        """The same instant as an aware UTC datetime."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""


class SystemClock:
    """The clock of the machine."""

    def time(self) -> int:
        return int(time.time())

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until it is advanced."""

    def __init__(self, start: datetime) -> None:
        self._seconds = start.timestamp()

    def advance(self, seconds: float) -> None:
        self._seconds += seconds

    def time(self) -> int:
        return int(self._seconds)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._seconds, UTC)

    def monotonic(self) -> float:
        return self._seconds


def milliseconds(clock: Clock) -> int:
    """The clock's time in Unix milliseconds."""
    return int(clock.now().timestamp() * 1000)


def timestamp(seconds: int) -> str:
    """Unix seconds as ``YYYY-MM-DDTHH:MM:SS+00:00``, the 25 characters used on every interface."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
