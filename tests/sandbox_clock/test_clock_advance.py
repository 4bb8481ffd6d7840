"""Tests of clock advances. An advance moves business time hour by hour and runs each schedule in the hour in which work
is due. Only one advance runs at a time.
"""

import contextlib
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from chalicelib.foundation import context
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from chalicelib.foundation.moved_clock import KEY, TABLE, ClockBusy, ClockOffset, MovedClock
from chalicelib.sandbox_clock.clock_advance import MOST_SECONDS, ClockAdvance, ScheduledWork
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.kit.time import PATIENCE_SECONDS, ManualClock, WatchedLock

START = datetime(2026, 3, 2, 9, 20, tzinfo=UTC)
HOUR, DAY = 3600, 86_400


class Diary:
    """A fake schedule with given due times. ``done`` lists the execution times in hours after the start."""

    def __init__(self, clock: MovedClock, *due_after: int, changes: bool = False) -> None:
        self._clock = clock
        self._start = clock.time()
        self.due = [self._start + seconds for seconds in due_after]
        self.changes = changes
        self.done: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def next_due(self, after: int, until: int) -> int | None:
        return min((at for at in self.due if at <= until), default=None)

    def run(self) -> bool:
        self.done.append((self._clock.time() - self._start) / HOUR)
        self.due = [at for at in self.due if at > self._clock.time()]
        self.meanwhile()
        return self.changes

    @property
    def work(self) -> ScheduledWork:
        return ScheduledWork("diary", self.next_due, self.run)


@pytest.fixture
def offset(causeway: Causeway) -> ClockOffset:
    causeway.hub.store.delete(TABLE, KEY)
    return ClockOffset(causeway.hub.store)


@pytest.fixture
def clock(offset: ClockOffset) -> MovedClock:
    return MovedClock(ManualClock(START), offset.read)


def advance(clock: MovedClock, offset: ClockOffset, *diaries: Diary) -> ClockAdvance:
    return ClockAdvance(clock, offset, [diary.work for diary in diaries])


def test_a_clock_advance_adds_exactly_the_requested_seconds(clock: MovedClock, offset: ClockOffset) -> None:
    before = clock.time()
    reached = advance(clock, offset).advance(90_061)

    assert (reached.now, reached.offset_seconds) == (before + 90_061, 90_061)
    assert clock.time() == reached.now
    assert offset.read() == 90_061


def test_a_clock_advance_runs_scheduled_work_in_the_hour_in_which_the_work_is_due(
    clock: MovedClock, offset: ClockOffset
) -> None:
    diary = Diary(clock, 10, HOUR + 1, 5 * HOUR, 30 * HOUR)
    advance(clock, offset, diary).advance(DAY)

    assert diary.done == [1, 2, 5]


def test_a_clock_advance_of_half_an_hour_runs_due_work_at_the_end_of_the_advance(
    clock: MovedClock, offset: ClockOffset
) -> None:
    diary = Diary(clock, 60)
    advance(clock, offset, diary).advance(HOUR // 2)

    assert diary.done == [0.5]


def test_a_clock_advance_runs_a_schedule_once_for_each_hour_with_due_work(
    clock: MovedClock, offset: ClockOffset
) -> None:
    diary = Diary(clock, *range(0, DAY, 60))
    advance(clock, offset, diary).advance(DAY)

    assert diary.done == list(range(1, 25))


def test_failed_work_is_retried_in_the_next_hour_and_does_not_stop_other_work(
    clock: MovedClock, offset: ClockOffset, lines: Lines
) -> None:
    broken, diary = Diary(clock, 10), Diary(clock, 4 * HOUR)

    def fail() -> bool:
        broken.done.append(0)
        raise RuntimeError("no luck")

    work = [ScheduledWork("broken", broken.next_due, fail), diary.work]
    ClockAdvance(clock, offset, work).advance(6 * HOUR)

    assert len(broken.done) == 6
    assert diary.done == [4]
    failed = [line["schedule"] for line in lines.all() if line["message"] == "scheduled work failed"]
    assert failed == ["broken"] * 6


def test_failed_daily_work_is_retried_in_the_next_hour(clock: MovedClock, offset: ClockOffset) -> None:
    start, attempts = clock.time(), list[int]()

    def daily(after: int, until: int) -> int | None:
        due = start + (after - start) // DAY * DAY + DAY
        return due if due <= until else None

    def fail_once() -> bool:
        attempts.append((clock.time() - start) // HOUR)
        if len(attempts) == 1:
            raise RuntimeError("no luck")
        return False

    ClockAdvance(clock, offset, [ScheduledWork("daily", daily, fail_once)]).advance(2 * DAY)

    assert attempts == [24, 25, 48]


def test_a_clock_advance_runs_work_that_earlier_work_has_scheduled(clock: MovedClock, offset: ClockOffset) -> None:
    first, second = Diary(clock, HOUR, changes=True), Diary(clock)
    first.meanwhile = lambda: second.due.append(clock.time() + 2 * HOUR)
    advance(clock, offset, first, second).advance(DAY)

    assert (first.done, second.done) == ([1], [3])


def test_a_clock_advance_continues_after_the_deadline_of_its_request(clock: MovedClock, offset: ClockOffset) -> None:
    work = Diary(clock, HOUR, DAY)
    real = clock.real
    assert isinstance(real, ManualClock)
    work.meanwhile = lambda: real.advance(60)

    with context.deadline(real.monotonic, real.monotonic() + 26):
        advance(clock, offset, work).advance(2 * DAY)

    assert len(work.done) == 2
    assert offset.read() == 2 * DAY


def test_a_clock_advance_stores_the_offset_of_each_step_for_all_processes(
    clock: MovedClock, offset: ClockOffset
) -> None:
    diary, stored = Diary(clock, HOUR, 3 * HOUR), list[int]()
    diary.meanwhile = lambda: stored.append(offset.read())
    advance(clock, offset, diary).advance(DAY)

    assert stored == [HOUR, 3 * HOUR]


@pytest.mark.parametrize("seconds", [0, -DAY, MOST_SECONDS + 1])
def test_a_clock_advance_backward_or_beyond_400_days_is_rejected(
    clock: MovedClock, offset: ClockOffset, seconds: int
) -> None:
    diary = Diary(clock, 0)
    with pytest.raises(ValueError, match="forward only, by at most 400 days"):
        advance(clock, offset, diary).advance(seconds)

    assert (offset.read(), diary.done) == (0, [])


def test_a_clock_advance_of_400_days_is_accepted(clock: MovedClock, offset: ClockOffset) -> None:
    assert advance(clock, offset).advance(400 * DAY).offset_seconds == 400 * DAY


def test_a_concurrent_clock_advance_raises_clock_busy(clock: MovedClock, offset: ClockOffset) -> None:
    diary, refused = Diary(clock, HOUR), list[bool]()
    mover = advance(clock, offset, diary)

    def move_again() -> None:
        with pytest.raises(ClockBusy):
            mover.advance(DAY)
        refused.append(mover.is_stopped)

    diary.meanwhile = move_again
    assert mover.advance(2 * HOUR).offset_seconds == 2 * HOUR
    assert refused == [True]
    assert not mover.is_stopped


def test_a_failed_clock_advance_logs_the_offset_that_was_reached(
    causeway: Causeway, clock: MovedClock, offset: ClockOffset, lines: Lines
) -> None:
    diary = Diary(clock, HOUR, 5 * HOUR)
    mover, gone = advance(clock, offset, diary), contextlib.ExitStack()
    diary.meanwhile = lambda: gone.enter_context(causeway.storage_gone("update"))
    with gone, pytest.raises(StoreUnavailable):
        mover.advance(DAY)

    assert [line["offset_seconds"] for line in lines.all() if line["message"] == "clock moved"] == [HOUR]


def test_a_clock_advance_waits_while_the_clock_is_stopped(clock: MovedClock, offset: ClockOffset) -> None:
    mover, reached, lock = advance(clock, offset), list[int](), WatchedLock()
    mover.__dict__["_stopped"] = lock
    with mover.stopped():
        assert mover.is_stopped
        mine = threading.Thread(target=lambda: reached.append(mover.advance(DAY).offset_seconds))
        mine.start()
        lock.wait_for_waiting()
        assert (reached, offset.read()) == ([], 0)
    mine.join(PATIENCE_SECONDS)

    assert reached == [DAY]
    assert not mover.is_stopped


def test_a_clock_advance_that_fails_to_start_does_not_block_the_next_clock_advance(
    causeway: Causeway, clock: MovedClock
) -> None:
    mover = advance(clock, ClockOffset(causeway.hub.store))
    with causeway.answer_lost("update", applied=True), pytest.raises(StoreUnavailable):
        mover.advance(DAY)

    assert mover.advance(DAY).offset_seconds == DAY


def test_a_clock_advance_that_is_replaced_by_another_clock_advance_raises_clock_busy(
    clock: MovedClock, offset: ClockOffset
) -> None:
    diary = Diary(clock, HOUR, 5 * HOUR)

    def take_over() -> None:
        offset.claim("other", now=2**40)

    diary.meanwhile = take_over
    with pytest.raises(ClockBusy):
        advance(clock, offset, diary).advance(DAY)

    assert offset.read() == HOUR


def test_a_clock_advance_logs_a_warning_with_old_and_new_time(
    clock: MovedClock, offset: ClockOffset, lines: Lines
) -> None:
    advance(clock, offset).advance(DAY)
    (line,) = lines.all()

    assert (line["level"], line["message"]) == ("WARNING", "clock moved")
    assert line["moved_from"] == "2026-03-02T09:20:00+00:00"
    assert line["moved_to"] == "2026-03-03T09:20:00+00:00"
    assert line["offset_seconds"] == DAY
