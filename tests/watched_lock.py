"""A lock that says who waits for it, so that a test need not guess how long a thread takes to get there."""

from __future__ import annotations

import threading

from tests.patience import PATIENCE_SECONDS


class WatchedLock:
    """Put in place of a lock of the code under test."""

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
        """Return once ``count`` threads have begun to wait for the lock."""
        for _ in range(count):
            assert self._waiting.acquire(timeout=PATIENCE_SECONDS), "nobody waits for the lock"
