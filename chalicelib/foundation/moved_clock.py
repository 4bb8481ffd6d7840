"""Business time of the one-machine stack. Its operator can advance this time.

The table ``demo-banks`` stores the offset from real time, and every process reads the offset once a second. The offset
never decreases, so a process that reads an old value never moves back in time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.context import tight_deadline
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import ConditionFailed, Store, StoreError
from chalicelib.foundation.lazy_dataclasses import dataclass

TABLE = "demo-banks"
KEY = {"bank": "clock", "id": "offset"}
CACHED_SECONDS = 1.0
"""The maximum time in seconds for which a process may use an offset after another process has changed it."""
READ_SECONDS = 0.2
"""The maximum time in seconds for which a request waits for a new read of the offset."""
CLAIMED_SECONDS = 300
"""The time in seconds for which an interrupted clock advance prevents another clock advance."""


class MovedClock(Clock):
    """The clock of a process. Business time is ``real`` plus the stored offset."""

    def __init__(self, real: Clock, read_offset: Callable[[], int]) -> None:
        self._real = real
        self._read_offset = read_offset
        self._offset = 0
        self._read_at: float | None = None
        self._reading, self._moving = threading.Lock(), threading.Lock()

    @property
    def real(self) -> Clock:
        return self._real

    @property
    def offset_seconds(self) -> int:
        """Return the latest known offset. The offset is unchanged if storage fails.

        One thread reads the offset. Other threads use the known offset, but wait for the first read.
        """
        if self._is_old() and self._reading.acquire(blocking=self._read_at is None):
            try:
                self._read_again()
            finally:
                self._reading.release()
        return self._offset

    def move_to(self, offset_seconds: int) -> None:
        """Use a new offset in this process immediately. A new offset below the known offset is ignored."""
        with self._moving:
            self._offset = max(self._offset, offset_seconds)

    def _is_old(self) -> bool:
        return self._read_at is None or self._real.monotonic() - self._read_at >= CACHED_SECONDS

    def _read_again(self) -> None:
        if self._is_old():
            is_first, started = self._read_at is None, self._real.monotonic()
            limit = nullcontext() if is_first else tight_deadline(self._real.monotonic, started + READ_SECONDS)
            with suppress(StoreError), limit:
                self.move_to(self._read_offset())
            self._read_at = self._real.monotonic()

    def time(self) -> int:
        return self._real.time() + self.offset_seconds

    def now(self) -> datetime:
        return self._real.now() + timedelta(seconds=self.offset_seconds)

    def monotonic(self) -> float:
        return self._real.monotonic()


class ClockBusy(Exception):
    """Another process or request is advancing the clock."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The stored offset.

    A clock advance claims the stored row, and each step renews the claim. So only one clock advance runs at a time.
    """

    store: Store

    def read(self) -> int:
        """Read the offset in seconds. Raises: StoreError."""
        item = self.store.get(TABLE, KEY) or {}
        return int(item.get("offset_seconds", 0))

    def claim(self, move_id: str, now: int) -> int:
        """Begin a clock advance at the real time ``now``. Returns the initial offset. Raises: ClockBusy, StoreError.

        A claim older than ``CLAIMED_SECONDS`` belongs to a terminated process and is replaced. A retry after a lost
        response finds its own claim.
        """
        members = {"move_id": move_id, "claimed_until": now + CLAIMED_SECONDS}
        is_free = Attr("claimed_until").not_exists() | Attr("claimed_until").lt(now)
        try:
            claimed = self.store.update(TABLE, KEY, set=members, condition=is_free | Attr("move_id").eq(move_id))
        except ConditionFailed:
            raise ClockBusy from None
        return int(claimed.get("offset_seconds", 0))

    def write(self, move_id: str, offset_seconds: int, now: int) -> None:
        """Store one step of a clock advance. Raises: ClockBusy, if a different clock advance has taken over;
        StoreError.
        """
        members = {"offset_seconds": offset_seconds, "claimed_until": now + CLAIMED_SECONDS}
        self._update(move_id, members, ())

    def end(self, move_id: str, offset_seconds: int | None = None) -> None:
        """End a clock advance with its last step. Raises: ClockBusy, if a different clock advance has taken over;
        StoreError.
        """
        members = {} if offset_seconds is None else {"offset_seconds": offset_seconds}
        self._update(move_id, members, ("move_id", "claimed_until"))

    def give_up(self, move_id: str) -> None:
        """Release the claim of a failed clock advance. If storage is not available, the claim expires by itself."""
        with suppress(ClockBusy, StoreError):
            self.end(move_id)

    def _update(self, move_id: str, members: Mapping[str, object], without: tuple[str, ...]) -> None:
        try:
            self.store.update(TABLE, KEY, set=members, remove=without, condition=Attr("move_id").eq(move_id))
        except ConditionFailed:
            raise ClockBusy from None
