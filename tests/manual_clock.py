"""A clock for tests: time moves only when it is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from chalicelib.foundation.clock import Clock


class ManualClock(Clock):
    """A clock that stands still until it is advanced; a negative number sets it back, as an operator would."""

    def __init__(self, start: datetime) -> None:
        self._seconds = self._monotonic = start.timestamp()

    def advance(self, seconds: float) -> None:
        self._seconds += seconds
        self._monotonic += max(seconds, 0)

    def time(self) -> int:
        return int(self._seconds)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._seconds, UTC)

    def monotonic(self) -> float:
        return self._monotonic


class FollowingClock(Clock):
    """The clock of another process: always so many seconds ahead of ``clock``, or behind it."""

    def __init__(self, clock: Clock, ahead: float) -> None:
        self._clock, self._ahead = clock, ahead

    def time(self) -> int:
        return int(self.now().timestamp())

    def now(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return self._clock.monotonic()
