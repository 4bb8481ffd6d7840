"""The clock returns the same time in two representations. The clock of tests changes only by ``advance``."""

from datetime import UTC, datetime, timedelta

from chalicelib.foundation.clock import Clock, timestamp
from tests.kit.time import ManualClock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def test_the_two_time_representations_of_the_system_clock_agree() -> None:
    clock: Clock = Clock()

    assert clock.now().tzinfo is UTC
    assert abs(clock.now().timestamp() - clock.time()) <= 1.5
    assert clock.monotonic() <= clock.monotonic()


def test_the_manual_clock_changes_only_by_advance() -> None:
    clock = ManualClock(START)
    before = (clock.time(), clock.now(), clock.monotonic())

    assert (clock.time(), clock.now(), clock.monotonic()) == before
    clock.advance(90)
    assert clock.time() == before[0] + 90
    assert clock.now() == START + timedelta(seconds=90)
    assert clock.monotonic() == before[2] + 90


def test_fractions_of_a_second_add_up_in_the_manual_clock() -> None:
    clock = ManualClock(START)
    for _ in range(4):
        clock.advance(0.25)

    assert clock.time() == int(START.timestamp()) + 1


def test_a_timestamp_has_25_characters_and_is_in_utc() -> None:
    assert timestamp(int(START.timestamp())) == "2026-03-02T09:00:00+00:00"
    assert len(timestamp(0)) == 25
