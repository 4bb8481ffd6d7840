"""How figures are written: in the units that fit, and a dash for what is not known."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from chalicelib.statistics.days import DayRange
from chalicelib.website.performance_text import (
    day,
    describe_latency,
    down_times,
    downtime,
    duration,
    group_thousands,
    latency_text,
    percent,
    short_day,
)


def test_what_is_not_known_is_a_dash() -> None:
    assert {percent(None), duration(None), downtime(None)} == {"\u2013"}


@pytest.mark.parametrize(
    ("number", "written"),
    [("100.000", "100 %"), ("99.999", "99.999 %"), ("0.000", "0 %"), ("99.5", "99.5 %"), ("0.120", "0.120 %")],
)
def test_a_share_is_written_in_percent(number: str, written: str) -> None:
    assert percent(Decimal(number)) == written


@pytest.mark.parametrize(
    ("milliseconds", "written"),
    [("0", "0.0 ms"), ("4.76", "4.8 ms"), ("99.9", "99.9 ms"), ("100.0", "100 ms"), ("1250.5", "1,251 ms")],
)
def test_a_short_time_is_told_more_exactly(milliseconds: str, written: str) -> None:
    assert duration(Decimal(milliseconds)) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "none"),
        (6, "6 s"),
        (270, "4 min 30 s"),
        (7260, "2 h 1 min"),
        (3605, "1 h 5 s"),
        (7325, "2 h 2 min"),
        (86400, "24 h"),
    ],
)
def test_how_long_it_was_down_is_told_in_the_two_largest_units(seconds: int, written: str) -> None:
    assert downtime(seconds) == written


def test_when_it_was_down_is_told_of_the_first_times() -> None:
    times = [(36120, 38640), (39000, 39030), (50000, 50060), (60000, 60060), (86000, 86400)]

    assert down_times(times[:2]) == "10:02\u201310:44, 10:50:00\u201310:50:30"
    assert down_times(times).endswith("13:53\u201313:54 and 2 more")
    assert down_times(times[-1:]) == "23:53\u201324:00"


def test_days_and_numbers_are_written_for_people() -> None:
    assert (day(date(2026, 3, 2)), short_day(date(2026, 11, 21))) == ("2 Mar 2026", "21 Nov")
    assert group_thousands(1234567) == "1,234,567"


def test_latencies_are_told_by_percentile() -> None:
    first, second = [[Decimal(each) for each in found] for found in (("107.6", "430.5", "3158.5"), ("10", "20", "30"))]

    assert latency_text(first) == "p50 108 ms, p95 431 ms, p99 3,159 ms"
    assert describe_latency([first, second], DayRange(date(2026, 3, 1), date(2026, 3, 9))) == (
        "On 2 of 9 days: p50 between 10.0 ms and 108 ms, p95 between 20.0 ms and 431 ms, "
        "p99 between 30.0 ms and 3,159 ms."
    )
