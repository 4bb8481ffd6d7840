"""UTC days: their hours, ranges, quarters and text format."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.statistics.days import (
    DAY_SECONDS,
    DayRange,
    clock_time,
    day_of,
    days_of_quarter,
    hours_of,
    parse_day,
    quarter_of,
    yesterday,
)
from tests.kit.time import ManualClock

DAY = date(2026, 11, 22)


def test_the_hours_of_a_statistics_day_are_in_utc() -> None:
    hours = hours_of(DAY)

    assert len(hours) == 24
    assert hours[9] == datetime(2026, 11, 22, 9, tzinfo=UTC).timestamp()
    assert {day_of(hours[0]), day_of(hours[0] + DAY_SECONDS - 1)} == {DAY}
    assert hours_of(DAY + timedelta(days=1))[0] == hours[0] + DAY_SECONDS


def test_the_latest_completed_statistics_day_is_yesterday_in_utc() -> None:
    clock = ManualClock(datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC))
    assert yesterday(clock) == date(2026, 2, 28)

    clock.advance(1)
    assert yesterday(clock) == date(2026, 3, 1)


def test_a_range_contains_all_days_from_the_first_to_the_last() -> None:
    days = DayRange(date(2026, 2, 27), date(2026, 3, 2))

    assert (len(days), [f"{day:%m-%d}" for day in days]) == (4, ["02-27", "02-28", "03-01", "03-02"])
    assert list(DayRange(DAY, DAY)) == [DAY]
    assert list(DayRange(DAY, DAY - timedelta(days=2))) == DayRange(DAY, DAY - timedelta(days=2)).quarters == []


@pytest.mark.parametrize(
    ("since", "until", "quarters"),
    [
        ("2026-11-22", "2026-11-22", ["2026-Q4"]),
        ("2026-03-31", "2026-04-01", ["2026-Q1", "2026-Q2"]),
        ("2025-11-15", "2026-07-01", ["2025-Q4", "2026-Q1", "2026-Q2", "2026-Q3"]),
    ],
)
def test_a_range_of_days_contains_their_quarters(since: str, until: str, quarters: list[str]) -> None:
    assert DayRange(parse_day(since), parse_day(until)).quarters == quarters


def test_a_day_has_exactly_one_valid_text_format() -> None:
    assert parse_day("2026-11-22") == DAY
    for text in ("", "20261122", "2026-W47-7", "2026-11-22 ", "22.11.2026", "2026-02-30", "\u0662026-11-22", "today"):
        with pytest.raises(ValueError, match="is not a day: use the format 2026-11-22"):
            parse_day(text)


def test_a_second_is_formatted_as_a_time_of_day_and_the_end_of_the_day_as_24_00_00() -> None:
    assert [clock_time(second) for second in (0, 36_127, DAY_SECONDS)] == ["00:00:00", "10:02:07", "24:00:00"]


@given(st.dates(date(1000, 1, 1), date(2999, 12, 31)))
def test_every_day_belongs_to_exactly_one_quarter(day: date) -> None:
    days = days_of_quarter(quarter_of(day))

    assert days.since <= day <= days.until
    assert days.quarters == [quarter_of(day)]
    assert quarter_of(days.since - timedelta(days=1)) != quarter_of(day) != quarter_of(days.until + timedelta(days=1))


def test_a_quarter_contains_its_first_to_its_last_day() -> None:
    assert days_of_quarter("2026-Q1") == DayRange(date(2026, 1, 1), date(2026, 3, 31))
    assert days_of_quarter("2024-Q1").until == date(2024, 3, 31)
    assert days_of_quarter("2026-Q4") == DayRange(date(2026, 10, 1), date(2026, 12, 31))


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-Q0", "2026-Q5", "2026Q1", "26-Q1", " 2026-Q1", "2026-q1", "9999-Q4"]
)
def test_an_invalid_quarter_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quarter: use the format 2026-Q4"):
        days_of_quarter(text)
