"""Advances business time hour by hour, and runs the work that is due in each hour.

Each step first stores the new clock offset, which every process then uses. If a clock advance is interrupted, only part
of the requested time has passed, but no work is lost, because unfinished work remains due.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from chalicelib.foundation import context, log
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.moved_clock import ClockOffset, MovedClock
from chalicelib.statistics.days import DAY_SECONDS, HOUR_SECONDS

MOST_SECONDS = 400 * DAY_SECONDS
"""The maximum number of seconds of one clock advance."""


NextDue = Callable[[int, int], int | None]
"""A function that returns the time at which a job next has work, or ``None`` if there is no work in the search period.
The arguments are the time of the latest run and the end of the search period (Unix seconds).
"""


@dataclass(frozen=True, slots=True)
class ScheduledWork:
    """A scheduled job of the service.

    During a clock advance, the job runs only at hours with due work.

    Attributes:
        name: the name of the job's deployed function.
        next_due: see ``NextDue``.
        run: runs due work. Returns whether other work may have become due.
    """

    name: str
    next_due: NextDue
    run: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class BusinessTime:
    """Business time after a clock advance: the time in Unix seconds, and the difference from real time."""

    now: int
    offset_seconds: int


class OutOfRange(ValueError):
    """The target time is out of range. The message is a sentence."""


class ClockAdvance:
    """Advances the clock of this process and, through storage, the clocks of all other processes. Scheduled jobs run
    during the advance.
    """

    def __init__(self, clock: MovedClock, offset: ClockOffset, work: Sequence[ScheduledWork]) -> None:
        self._clock = clock
        self._offset = offset
        self._work = work
        self._stopped = threading.Lock()

    @property
    def is_stopped(self) -> bool:
        """Whether the schedules of the process are suspended by a clock advance or by ``stopped``."""
        return self._stopped.locked()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Suspend the schedules and clock advances in this context. A clock advance waits until the context ends."""
        with self._stopped:
            yield

    def now(self) -> BusinessTime:
        return BusinessTime(self._clock.time(), self._clock.offset_seconds)

    def advance(self, seconds: int) -> BusinessTime:
        """Advance business time by ``seconds``, from 1 to ``MOST_SECONDS``.

        Raises:
            OutOfRange: time has not been advanced.
            ClockBusy: a different clock advance is running. If that advance has taken over the claim, time has been
                advanced in part.
            StoreError: storage failed. Time may have been advanced in part.
        """
        if not 0 < seconds <= MOST_SECONDS:
            raise OutOfRange(f"time moves forward only, by at most {MOST_SECONDS // DAY_SECONDS} days")
        move_id = new_id()
        with context.unlimited():
            try:
                base = self._offset.claim(move_id, self._clock.real.time())
                with self.stopped():
                    self._clock.move_to(base)
                    self._move(move_id, base, seconds)
            except BaseException:
                self._offset.give_up(move_id)
                raise
            return self.now()

    def _move(self, move_id: str, base: int, seconds: int) -> None:
        before = self.now()
        agenda, moved = _Agenda(self._work, before.now, seconds), 0
        try:
            while (step := agenda.next_stop(moved)) is not None:
                self._offset.write(move_id, base + step, self._clock.real.time())
                self._clock.move_to(base + step)
                agenda.run(self._clock.time())
                moved = step
            self._offset.end(move_id, base + seconds)
            self._clock.move_to(base + seconds)
        finally:
            self._log_move(before)

    def _log_move(self, before: BusinessTime) -> None:
        reached = self.now()
        if reached.offset_seconds > before.offset_seconds:
            log.warning(
                "clock moved",
                moved_from=timestamp(before.now),
                moved_to=timestamp(reached.now),
                offset_seconds=reached.offset_seconds,
            )


class _Agenda:
    """The work that is due during one clock advance. Hours are counted from the start of the advance."""

    def __init__(self, work: Sequence[ScheduledWork], start: int, seconds: int) -> None:
        self._work = work
        self._start = start
        self._end = start + seconds
        self._ran_at = dict.fromkeys(range(len(work)), start)
        self._due = {number: each.next_due(start, self._end) for number, each in enumerate(work)}

    def next_stop(self, moved: int) -> int | None:
        """Return the next time after ``moved`` at which the clock advance must stop: the first whole hour with due
        work, or the end.

        Times are in seconds from the start. Return ``None`` at the end.
        """
        due = min((at for at in self._due.values() if at is not None), default=None)
        if due is None or self._start + moved >= self._end:
            return None
        hours = max(-(-(due - self._start) // HOUR_SECONDS), moved // HOUR_SECONDS + 1)
        return min(hours * HOUR_SECONDS, self._end - self._start)

    def run(self, now: int) -> None:
        ran = [number for number, at in self._due.items() if at is not None and at <= now]
        changed = [self._run(number, now) for number in ran]
        for number in self._due if any(changed) else ran:
            self._due[number] = self._work[number].next_due(self._ran_at[number], self._end)

    def _run(self, number: int, now: int) -> bool:
        """Run one scheduled job. If the job fails, its work remains due. Returns whether other work may have become
        due.
        """
        try:
            changed = self._work[number].run()
        except Exception:
            log.exception("scheduled work failed", schedule=self._work[number].name)
            return True
        self._ran_at[number] = now
        return changed
