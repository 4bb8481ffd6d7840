"""Time helpers for tests: manual clocks, waits with a long timeout, scheduled jobs, and statement counts."""

import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any, TypeVar

from chalicelib.foundation.clock import Clock

PATIENCE_SECONDS = 180
"""The timeout of every wait for an expected event, in seconds. A wait ends as soon as the event occurs."""
_PAUSE_SECONDS = 0.02

_Seen = TypeVar("_Seen")


class ManualClock(Clock):
    """A clock that changes only when ``advance`` is called. A negative number sets the clock back, as an operator
    might.
    """

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
    """The clock of another process. The clock is a fixed number of seconds ahead of or behind ``clock``."""

    def __init__(self, clock: Clock, ahead: float) -> None:
        self._clock, self._ahead = clock, ahead

    def time(self) -> int:
        return int(self.now().timestamp())

    def now(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return self._clock.monotonic()


def wait_for(look: Callable[[], _Seen | None], complaint: str = "it did not come") -> _Seen:
    """Call ``look`` until the function returns a true value. Raises: AssertionError, with the message ``complaint``."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < until, complaint
        time.sleep(_PAUSE_SECONDS)
    return seen


def limit_under_test(seconds: float) -> float:
    """Mark a time limit that a test reaches intentionally. The test checks the limit's effect, not the duration."""
    return seconds


class WatchedLock:
    """A lock that counts the waiting threads. Tests replace a lock of the code under test with a ``WatchedLock``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = threading.Semaphore(0)

    def acquire(self, blocking: bool = True) -> bool:
        if self._lock.acquire(blocking=False):
            return True
        if not blocking:
            return False
        self._waiting.release()
        return self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def locked(self) -> bool:
        return self._lock.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def wait_for_waiting(self, count: int = 1) -> None:
        for _ in range(count):
            assert self._waiting.acquire(timeout=PATIENCE_SECONDS), "nobody waits for the lock"


def run_schedule(job: Callable[[Any, Any], object], seconds: int = 55) -> None:
    """Run a scheduled job as Lambda does, with a function timeout of ``seconds``."""
    from chalice.local import LambdaContext

    from infra.local.event_runner import schedule_event

    event = schedule_event("any", datetime.now(UTC), "eu-west-1")
    job(event, LambdaContext(function_name="any", memory_size=512, max_runtime_ms=seconds * 1000))


def count_statements(call: Callable[[], object]) -> int:
    """Return the number of Python lines that ``call`` executes in this thread, which is equal on every machine."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
