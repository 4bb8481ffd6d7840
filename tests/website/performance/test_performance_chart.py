"""The performance charts: chronological days, gaps without data, and descriptions."""

import re
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.statistics.call_counts import CallCounts, Latencies
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DAY_SECONDS, DayRange
from chalicelib.statistics.periods import split_into_periods
from chalicelib.website.performance.performance_chart import (
    HEIGHT,
    WIDTH,
    Axis,
    PerformanceChart,
    availability_chart,
    latency_chart,
    report_chart,
)
from chalicelib.website.performance.performance_text import (
    count_days,
    day,
    day_range,
    describe_latency,
    down_times,
    downtime,
    duration,
    group_thousands,
    latency_text,
    percent,
    seconds,
    short_day,
)


def test_an_unknown_performance_figure_is_shown_as_a_dash() -> None:
    assert {percent(None), duration(None), downtime(None)} == {"\u2013"}


@pytest.mark.parametrize(
    ("number", "written"),
    [("100.000", "100 %"), ("99.999", "99.999 %"), ("0.000", "0 %"), ("99.5", "99.5 %"), ("0.120", "0.120 %")],
)
def test_a_ratio_is_formatted_as_a_percentage(number: str, written: str) -> None:
    assert percent(Decimal(number)) == written


@pytest.mark.parametrize(
    ("milliseconds", "written"),
    [("0", "0.0 ms"), ("4.76", "4.8 ms"), ("99.9", "99.9 ms"), ("100.0", "100 ms"), ("1250.5", "1,251 ms")],
)
def test_durations_below_100_ms_have_one_decimal(milliseconds: str, written: str) -> None:
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
def test_downtime_is_formatted_in_its_two_largest_units(seconds: int, written: str) -> None:
    assert downtime(seconds) == written


def test_a_list_of_downtime_periods_contains_the_first_three() -> None:
    times = [(36120, 38640), (39000, 39030), (50000, 50060), (60000, 60060), (86000, 86400)]

    assert down_times(times[:2]) == "10:02\u201310:44, 10:50:00\u201310:50:30"
    assert down_times(times).endswith("13:53\u201313:54 and 2 more")
    assert down_times(times[-1:]) == "23:53\u201324:00"


def test_days_and_large_numbers_are_formatted_for_display() -> None:
    assert (day(date(2026, 3, 2)), short_day(date(2026, 11, 21))) == ("2 Mar 2026", "21 Nov")
    assert group_thousands(1234567) == "1,234,567"


def test_day_ranges_omit_a_repeated_month_and_year() -> None:
    first = date(2026, 2, 2)
    weeks = [DayRange(first, first), DayRange(first, date(2026, 2, 8)), DayRange(first, date(2026, 3, 1))]

    assert [day_range(week) for week in weeks] == ["2 Feb 2026", "2 \u2013 8 Feb 2026", "2 Feb \u2013 1 Mar 2026"]
    assert day_range(DayRange(date(2025, 12, 29), date(2026, 1, 4))) == "29 Dec 2025 \u2013 4 Jan 2026"


def test_reported_durations_are_formatted_in_seconds() -> None:
    assert [seconds(each) for each in (41_250, Decimal("999.9"), 0, None)] == ["41.3 s", "1.0 s", "0.0 s", "\u2013"]


def test_days_are_counted_by_the_source_of_their_figures() -> None:
    days = [replace(known(number), made_up=number > 6) for number in range(9)]

    assert count_days(days, TEN_DAYS) == "10 days: 7 measured, 2 made up, 1 without figures"
    assert count_days(days[:7], DayRange(FIRST, FIRST + timedelta(days=6))) == "7 days, all measured"
    assert count_days([], DayRange(FIRST, FIRST)) == "1 day, without figures"


def test_latencies_are_described_by_percentile() -> None:
    first, second = [[Decimal(each) for each in found] for found in (("107.6", "430.5", "3158.5"), ("10", "20", "30"))]

    assert latency_text(first) == "p50 108 ms, p95 431 ms, p99 3,159 ms"
    days = DayRange(date(2026, 3, 1), date(2026, 3, 9))
    assert describe_latency([first, second], split_into_periods([], days)) == (
        "On 2 of 9 days: p50 between 10.0 ms and 108 ms, p95 between 20.0 ms and 431 ms, "
        "p99 between 30.0 ms and 3,159 ms."
    )


FIRST = date(2026, 2, 1)
TEN_DAYS = DayRange(FIRST, date(2026, 2, 10))


def known(number: int, *, down: int = 0, bank: tuple[float, ...] = (100,)) -> DayRecord:
    latencies = Latencies()
    for milliseconds in bank:
        latencies.bank.add(milliseconds)
    return DayRecord(
        "ALPHGB21",
        "A bank",
        FIRST + timedelta(days=number),
        {"AISP": CallCounts(calls=1, answered=1)},
        {"AISP": latencies},
        ((0, down),) if down else (),
    )


def quiet(number: int) -> DayRecord:
    return DayRecord("ALPHGB21", "A bank", FIRST + timedelta(days=number))


def available(records: list[DayRecord], days: DayRange = TEN_DAYS) -> PerformanceChart:
    made = availability_chart(split_into_periods(records, days))
    assert made is not None
    return made


def at_the_bank(records: list[DayRecord], days: DayRange = TEN_DAYS) -> PerformanceChart:
    made = latency_chart("Time at the bank", split_into_periods(records, days), "bank")
    assert made is not None
    return made


def path(made: PerformanceChart, name: str) -> str:
    (found,) = [shape.path for shape in made.shapes if shape.name == name]
    return found


def columns(text: str) -> list[tuple[float, float, float, float]]:
    found = re.findall(r"M([\d.e+-]+) ([\d.]+)h([\d.]+)V([\d.]+)h-[\d.]+z", text)
    assert "".join(re.findall("[Mz]", text)) == "Mz" * len(found)
    return [tuple(float(number) for number in each) for each in found]  # type: ignore[misc]


def lines(text: str) -> list[list[tuple[float, float]]]:
    return [
        [tuple(float(number) for number in point.split()) for point in run.rstrip("z").split("L")]  # type: ignore[misc]
        for run in text.split("M")[1:]
    ]


# -- availability


def test_each_day_is_a_column_with_its_downtime_at_the_top() -> None:
    made = available([known(0), known(1, down=DAY_SECONDS // 100), known(9)])
    up, down = columns(path(made, "up")), columns(path(made, "down"))

    assert [(left // 100, top, bottom) for left, top, _, bottom in up] == [(0, 0, 160), (1, 160, 160), (9, 0, 160)]
    assert [(left // 100, top, bottom) for left, top, _, bottom in down] == [(1, 0, 160)]
    assert made.scale == ["100 %", "99.5 %", "99 %"]


@pytest.mark.parametrize(
    ("down", "lowest"), [(0, "99 %"), (864, "99 %"), (865, "98 %"), (40_000, "50 %"), (50_000, "0 %"), (86_400, "0 %")]
)
def test_the_availability_scale_starts_at_or_below_the_lowest_daily_availability(down: int, lowest: str) -> None:
    assert available([known(0), known(1, down=down)]).scale[-1] == lowest


def test_a_short_downtime_is_visible_next_to_a_long_downtime() -> None:
    made = available([known(0, down=DAY_SECONDS), known(1, down=1)])

    assert [bottom for *_, bottom in columns(path(made, "down"))] == [160, 2]


def test_a_day_without_calls_has_no_column_and_a_tooltip() -> None:
    made = available([known(0), quiet(1), known(3)])

    assert [left // 100 for left, *_ in columns(path(made, "up"))] == [0, 3]
    assert made.tips[:4] == ["1 Feb 2026: 100 %", "2 Feb 2026: no calls", "3 Feb 2026: no record", "4 Feb 2026: 100 %"]


def test_availability_is_described_in_words() -> None:
    records = [known(0), known(1, down=270), known(2, down=60), quiet(3)]

    assert available(records).description == (
        "Requests on 3 of 10 days. Down on 2 of them; longest on 2 Feb 2026: 99.688 %, down 4 min 30 s."
    )
    assert available(records[:1]).description == "Requests on 1 of 10 days. Never down."


def test_synthetic_days_are_marked_in_chart_and_description() -> None:
    records = [known(0), replace(known(1, down=864), made_up=True), replace(quiet(2), made_up=True)]
    for made in (available(records), at_the_bank(records)):
        assert path(made, "made-up") == "M100 157h100"
        assert [each.endswith("(made up)") for each in made.tips[:3]] == [False, True, False]

    assert available(records).tips[1] == "2 Feb 2026: 99 %, down 14 min 24 s (made up)"
    assert available(records).description.startswith("Requests on 2 of 10 days. 1 of them made up. Down on 1")
    assert at_the_bank(records).description.endswith(" 1 of them made up.")
    assert available(records[1:]).description.startswith("Requests on 1 of 10 days. All of them are made up. ")


def test_a_chart_without_synthetic_days_does_not_mention_synthetic_days() -> None:
    for made in (available([known(0)]), at_the_bank([known(0)])):
        assert "made-up" not in [shape.name for shape in made.shapes]
        assert "made up" not in made.description


def test_no_performance_chart_is_drawn_without_figures() -> None:
    for records in ([], [quiet(0), quiet(1)]):
        periods = split_into_periods(records, TEN_DAYS)
        assert availability_chart(periods) is None
        assert latency_chart("Time at the bank", periods, "bank") is None
        assert report_chart(periods) is None
    assert latency_chart("Time in this service", split_into_periods([known(0)], TEN_DAYS), "hub") is None


# -- weeks and reports

HUNDRED_DAYS = DayRange(FIRST, FIRST + timedelta(days=99))


def test_more_than_92_days_are_drawn_as_weeks() -> None:
    made = available([known(0), known(1, down=600), replace(known(2), made_up=True)], HUNDRED_DAYS)

    assert made.title == "Availability by week"
    assert made.tips[:3] == [
        "1 Feb 2026: 100 %",
        "2 \u2013 8 Feb 2026: 99.653 %, down 10 min (1 of 2 days made up)",
        "9 \u2013 15 Feb 2026: no record",
    ]
    assert len(made.tips) == 16
    assert made.description == (
        "Requests on 3 of 100 days. 1 of them made up. Down on 1 of them; longest on 2 \u2013 8 Feb 2026: "
        "99.653 %, down 10 min (1 of 2 days made up)."
    )
    latencies = at_the_bank([known(0), known(1)], HUNDRED_DAYS)
    assert latencies.title == "Time at the bank, by week"
    assert latencies.description.startswith("In 2 of 16 weeks: p50 between ")
    assert latencies.dates[0].words == "1 Feb"
    assert latencies.dates[-1].words == "11 May"


def reported(number: int, consent: int | None, payment: int | None) -> DayRecord:
    return replace(known(number), report="received", consent_duration=consent, payment_duration=payment)


def test_reported_durations_are_drawn_as_two_lines_with_separate_gaps() -> None:
    days = [reported(0, 40_000, 20_000), reported(1, 44_000, None), reported(2, None, 22_000)]
    made = report_chart(split_into_periods([*days, replace(known(3), report="missing"), known(4)], TEN_DAYS))

    assert made is not None
    assert made.scale == ["60 s", "30 s", "0 s"]
    assert [[x for x, _ in run] for run in lines(path(made, "consent"))] == [[50, 150]]
    assert [[x for x, _ in run] for run in lines(path(made, "payment"))] == [[50], [250]]
    assert [(dot.name, dot.across) for dot in made.dots] == [("payment", 5), ("payment", 25)]
    assert made.tips[:6] == [
        "1 Feb 2026: consent 40.0 s, payment 20.0 s",
        "2 Feb 2026: consent 44.0 s, payment \u2013",
        "3 Feb 2026: consent \u2013, payment 22.0 s",
        "4 Feb 2026: not reported",
        "5 Feb 2026: no report expected",
        "6 Feb 2026: no record",
    ]
    assert made.description == (
        "On 3 of 10 days: consents between 40.0 s and 44.0 s, payments between 20.0 s and 22.0 s."
    )


def test_no_report_chart_is_drawn_without_a_reported_duration() -> None:
    assert report_chart(split_into_periods([known(0), reported(1, None, None)], TEN_DAYS)) is None


# -- latency


def test_a_chart_line_breaks_at_a_missing_day() -> None:
    made = at_the_bank([known(0), known(1), quiet(2), known(4), known(5), known(6)])

    for name in ("p50", "p95", "p99"):
        assert [[x for x, _ in run] for run in lines(path(made, name))] == [[50, 150], [450, 550, 650]]
    assert [len(run) for run in lines(path(made, "band"))] == [4, 6]
    assert made.dots == []


def test_a_day_without_adjacent_days_is_drawn_as_a_dot() -> None:
    made = at_the_bank([known(0), known(1), known(5), known(9)])

    assert [(dot.name, dot.across) for dot in made.dots if dot.name == "p50"] == [("p50", 55), ("p50", 95)]
    assert {dot.name for dot in made.dots} == {"p50", "p95", "p99"}


def test_percentile_lines_are_drawn_in_ascending_order() -> None:
    made = at_the_bank([known(0, bank=(*[100] * 90, *[400] * 8, 3000, 3000)), known(1)])
    heights = [lines(path(made, name))[0][0][1] for name in ("p50", "p95", "p99")]

    assert heights == sorted(heights, reverse=True)
    assert made.scale == ["4,000 ms", "2,000 ms", "0 ms"]
    assert made.tips[0] == "1 Feb 2026: p50 108 ms, p95 431 ms, p99 3,158 ms"
    assert made.description == (
        "On 2 of 10 days: p50 between 108 ms and 108 ms, p95 between 108 ms and 431 ms, "
        "p99 between 108 ms and 3,158 ms."
    )


@pytest.mark.parametrize(
    ("milliseconds", "scale"),
    [
        (0.2, ["1 ms", "0.5 ms", "0 ms"]),
        (5, ["6 ms", "3 ms", "0 ms"]),
        (9, ["10 ms", "5 ms", "0 ms"]),
        (90, ["100 ms", "50 ms", "0 ms"]),
        (25_000, ["30,000 ms", "15,000 ms", "0 ms"]),
    ],
)
def test_the_latency_scale_uses_round_numbers(milliseconds: float, scale: list[str]) -> None:
    assert at_the_bank([known(0, bank=(milliseconds,))]).scale == scale


# -- days


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        ("2026-02-01", "2026-02-01", ["1 Feb"]),
        ("2026-02-01", "2026-02-02", ["1 Feb", "2 Feb"]),
        ("2026-02-01", "2026-02-06", ["1 Feb", "2 Feb", "3 Feb", "4 Feb", "5 Feb", "6 Feb"]),
        ("2026-02-01", "2026-02-10", ["1 Feb", "4 Feb", "7 Feb", "10 Feb"]),
        ("2026-01-30", "2026-02-28", ["30 Jan", "9 Feb", "18 Feb", "28 Feb"]),
        ("2025-03-01", "2026-02-28", ["1 Mar 2025", "31 May 2025", "30 Aug 2025", "29 Nov 2025", "28 Feb"]),
    ],
)
def test_the_date_labels_of_a_chart_include_the_first_and_the_last_day(
    since: str, until: str, words: list[str]
) -> None:
    days = DayRange(date.fromisoformat(since), date.fromisoformat(until))
    labels = Axis([DayRange(each, each) for each in days]).date_labels()

    assert [label.words for label in labels] == words
    outer = ["start", "end"] if len(days) > 8 else ["middle", "middle"]
    assert [labels[0].anchor, labels[-1].anchor] == outer if len(labels) > 1 else ["middle"]
    assert {label.anchor for label in labels[1:-1]} <= {"middle"}


def test_the_date_labels_of_a_chart_are_evenly_spaced() -> None:
    for length in range(1, 367):
        days = DayRange(FIRST, FIRST + timedelta(days=length - 1))
        labels = Axis([DayRange(each, each) for each in days]).date_labels()
        named = [round(label.across * length / 100 - 0.5) for label in labels]
        if length > 8:
            named[0], named[-1] = 0, length - 1
        apart = [later - earlier for earlier, later in pairwise(named)]

        assert min(length, 4) <= len(named) <= 8, length
        assert apart == apart[::-1], length
        assert not apart or max(apart) - min(apart) <= 1, length


@given(
    length=st.integers(1, 366),
    days=st.dictionaries(
        st.integers(0, 365),
        st.tuples(st.integers(0, DAY_SECONDS), st.lists(st.floats(0, 10**6), min_size=1, max_size=3)),
        min_size=1,
        max_size=20,
    ),
)
def test_every_shape_is_drawn_inside_the_chart(length: int, days: dict[int, tuple[int, list[float]]]) -> None:
    inside = {number % length: value for number, value in days.items()}
    records = [known(number, down=down, bank=tuple(bank)) for number, (down, bank) in inside.items()]
    shown = DayRange(FIRST, FIRST + timedelta(days=length - 1))
    first, second = available(records, shown), at_the_bank(records, shown)

    for name in ("up", "down"):
        for left, top, width, bottom in columns(path(first, name)):
            assert 0 <= left <= left + width <= WIDTH * 1.001
            assert 0 <= top <= bottom <= HEIGHT
    for name in ("band", "p50", "p95", "p99"):
        for run in lines(path(second, name)):
            assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in run)
    for made in (first, second):
        assert len(made.tips) == len(shown.periods)
        assert all(0 <= dot.across <= 100 and 0 <= dot.down <= HEIGHT for dot in made.dots)
    assert Decimal(first.scale[-1].removesuffix(" %")) < 100
