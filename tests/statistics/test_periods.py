"""Days are grouped into periods: single days, or weeks for more than 92 days."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from chalicelib.statistics.days import DAILY, DayRange
from chalicelib.statistics.periods import Reports, split_into_periods, summarize_periods, summarize_reports
from tests.statistics.bank_days import ALPHA, past_records, record, summarize

TODAY = date(2026, 3, 2)
"""A Monday, which is the current day in these tests."""


def test_a_range_of_up_to_92_days_is_divided_into_daily_periods() -> None:
    days = DayRange(TODAY - timedelta(days=DAILY), TODAY - timedelta(days=1))

    assert days.periods == [DayRange(day, day) for day in days]


def test_more_than_92_days_are_divided_into_weeks_with_shorter_first_and_last_weeks() -> None:
    days = DayRange(date(2025, 11, 28), TODAY)
    periods = days.periods

    assert periods[:2] == [
        DayRange(date(2025, 11, 28), date(2025, 11, 30)),
        DayRange(date(2025, 12, 1), date(2025, 12, 7)),
    ]
    assert periods[-1] == DayRange(TODAY, TODAY)
    assert {len(period) for period in periods[1:-1]} == {7}
    assert [day for period in periods for day in period] == list(days)


@pytest.mark.parametrize("length", [30, 92, 93, 366])
def test_the_sum_of_the_periods_equals_the_summary_of_their_days(length: int) -> None:
    found = list(past_records(ALPHA, TODAY, length))
    periods = split_into_periods(found, DayRange(TODAY - timedelta(days=length), TODAY - timedelta(days=1)))

    assert summarize_periods(periods) == summarize(found)
    assert sum(period.records for period in periods) == length
    assert sum(period.down_days for period in periods) == sum(bool(each.down) for each in found)


def test_a_period_has_latencies_per_service_and_a_one_day_period_also_lists_downtimes() -> None:
    found = list(past_records(ALPHA, TODAY, 120))
    days = DayRange(TODAY - timedelta(days=120), TODAY - timedelta(days=1))
    week = next(period for period in split_into_periods(found, days) if TODAY - timedelta(days=10) in period.days)
    (day,) = split_into_periods(found, DayRange(TODAY - timedelta(days=4), TODAY - timedelta(days=4)))

    inside = [each for each in found if each.day in list(week.days)]
    assert week.latencies["PISP"].bank.count == sum(
        each.latencies["PISP"].bank.count for each in inside if each.latencies
    )
    assert (week.down, week.is_day) == ((), False)
    assert day.down == next(each.down for each in found if each.day == TODAY - timedelta(days=4)) != ()


def test_a_period_without_day_records_is_empty() -> None:
    (first, second) = split_into_periods([record(ALPHA, TODAY)], DayRange(TODAY - timedelta(days=1), TODAY))

    assert (first.records, first.used_days, first.summary.availability) == (0, 0, None)
    assert (second.records, second.used_days) == (1, 0)


def test_each_reported_day_has_the_same_weight_in_the_period_averages() -> None:
    days = [
        replace(record(ALPHA, TODAY), report="received", consent_duration=40_000, payment_duration=20_001),
        replace(record(ALPHA, TODAY), report="received", consent_duration=None, payment_duration=20_000),
        replace(record(ALPHA, TODAY), report="missing"),
        record(ALPHA, TODAY),
    ]

    assert summarize_reports(days) == Reports(3, 2, Decimal("40000.0"), Decimal("20000.5"))
    assert summarize_reports(days[2:]) == Reports(1, 0)
