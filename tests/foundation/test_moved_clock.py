"""Movable clock: business time moves only forward, in every process, and only one clock move runs at a time."""

import threading
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.moved_clock import (
    CACHED_SECONDS,
    CLAIMED_SECONDS,
    KEY,
    TABLE,
    ClockBusy,
    ClockOffset,
    MovedClock,
)
from chalicelib.foundation.settings import Settings
from tests.causeway import Causeway
from tests.kit.time import PATIENCE_SECONDS, ManualClock, WatchedLock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DAY = 86_400


@pytest.fixture
def real() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def offset(causeway: Causeway) -> ClockOffset:
    causeway.hub.store.delete(TABLE, KEY)
    return ClockOffset(causeway.hub.store)


def move(offset: ClockOffset, seconds: int, now: int = 0) -> None:
    move_id = new_id()
    before = offset.claim(move_id, now)
    offset.write(move_id, before + seconds, now)
    offset.end(move_id)


def test_business_time_is_real_time_plus_the_clock_offset(real: ManualClock) -> None:
    clock = MovedClock(real, lambda: DAY)

    assert clock.time() == real.time() + DAY
    assert clock.now() == START + timedelta(days=1)
    assert clock.offset_seconds == DAY
    assert clock.monotonic() == real.monotonic()


def test_moving_the_clock_does_not_change_real_time(real: ManualClock) -> None:
    assert MovedClock(real, lambda: DAY).real.time() == real.time()


def test_the_real_clock_of_an_immovable_clock_is_the_clock_itself() -> None:
    clock = Clock()

    assert clock.real is clock
    assert clock.offset_seconds == 0


def test_a_clock_move_changes_the_business_time_of_other_processes_within_a_second(
    real: ManualClock, offset: ClockOffset
) -> None:
    clock = MovedClock(real, offset.read)
    before = clock.time()
    move(offset, DAY)

    assert clock.time() == before
    real.advance(CACHED_SECONDS)
    assert clock.time() == real.time() + DAY


def test_an_outdated_clock_offset_does_not_set_business_time_back(real: ManualClock) -> None:
    clock = MovedClock(real, lambda: 0)
    clock.move_to(DAY)

    assert clock.offset_seconds == DAY


def test_all_threads_wait_for_the_first_read_of_the_clock_offset(real: ManualClock) -> None:
    reading, may_end = threading.Event(), threading.Event()

    def read() -> int:
        reading.set()
        assert may_end.wait(PATIENCE_SECONDS)
        return DAY

    clock, seen, lock = MovedClock(real, read), list[int](), WatchedLock()
    clock.__dict__["_reading"] = lock
    threads = [threading.Thread(target=lambda: seen.append(clock.offset_seconds)) for _ in range(2)]
    threads[0].start()
    assert reading.wait(PATIENCE_SECONDS)
    threads[1].start()
    lock.wait_for_waiting()
    may_end.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert seen == [DAY, DAY]


def test_other_threads_use_the_cached_clock_offset_during_a_read(real: ManualClock) -> None:
    seen: list[int] = []

    def read_slowly() -> int:
        other = threading.Thread(target=lambda: seen.append(clock.offset_seconds))
        other.start()
        other.join(PATIENCE_SECONDS)
        return 2 * DAY

    offset = Mock(return_value=DAY)
    clock = MovedClock(real, offset)
    assert clock.offset_seconds == DAY
    offset.side_effect = read_slowly
    real.advance(CACHED_SECONDS)

    assert clock.offset_seconds == 2 * DAY
    assert seen == [DAY]


def test_the_cached_clock_offset_is_used_while_storage_fails(real: ManualClock) -> None:
    answers: list[int | None] = [DAY, None, 2 * DAY]

    def read() -> int:
        if (answer := answers.pop(0)) is None:
            raise StoreUnavailable("gone")
        return answer

    clock = MovedClock(real, read)
    assert clock.offset_seconds == DAY
    real.advance(CACHED_SECONDS)
    assert clock.offset_seconds == DAY
    real.advance(CACHED_SECONDS)
    assert clock.offset_seconds == 2 * DAY


def test_a_changed_clock_offset_is_stored(offset: ClockOffset) -> None:
    assert offset.read() == 0
    move(offset, DAY)
    move(offset, DAY)
    assert offset.read() == 2 * DAY


def test_a_second_concurrent_clock_move_is_rejected(offset: ClockOffset) -> None:
    offset.claim("one", now=0)

    with pytest.raises(ClockBusy):
        offset.claim("other", now=CLAIMED_SECONDS)
    with pytest.raises(ClockBusy):
        offset.write("other", DAY, now=0)
    assert offset.read() == 0


def test_each_step_of_a_clock_move_renews_the_claim(offset: ClockOffset) -> None:
    offset.claim("one", now=0)
    offset.write("one", DAY, now=CLAIMED_SECONDS)

    with pytest.raises(ClockBusy):
        offset.claim("other", now=CLAIMED_SECONDS + 1)


def test_an_expired_claim_of_a_clock_move_is_taken_over_by_the_next_move(offset: ClockOffset) -> None:
    offset.claim("one", now=0)
    offset.write("one", DAY, now=0)

    assert offset.claim("other", now=CLAIMED_SECONDS + 1) == DAY
    with pytest.raises(ClockBusy):
        offset.write("one", 2 * DAY, now=CLAIMED_SECONDS + 1)
    with pytest.raises(ClockBusy):
        offset.end("one")


def test_the_claim_of_a_clock_move_may_be_retried_after_a_lost_response(offset: ClockOffset) -> None:
    offset.claim("one", now=0)

    assert offset.claim("one", now=0) == 0


@pytest.mark.dynamodb
def test_one_of_many_concurrent_clock_moves_starts(offset: ClockOffset) -> None:
    begun: list[str] = []

    def begin(name: str) -> None:
        try:
            offset.claim(name, now=0)
        except ClockBusy:
            return
        begun.append(name)

    threads = [threading.Thread(target=begin, args=(new_id(),)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(begun) == 1


def test_only_the_clock_of_the_local_stage_can_be_moved() -> None:
    deployed = Settings.from_environment({"STAGE": "dev", "PUBLIC_URL": "https://dev.example.com"})

    assert isinstance(Infrastructure(Settings.from_environment({"STAGE": "local"})).clock, MovedClock)
    assert type(Infrastructure(deployed).clock) is Clock
