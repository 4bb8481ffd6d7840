"""A bank is down from the first of five consecutive requests without an answer until the next answer, or midnight."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.statistics.days import hours_of
from chalicelib.statistics.downtime import downtime_spans
from chalicelib.statistics.hourly_counters import HourlyCounters

DAY = date(2026, 3, 2)
MIDNIGHT = hours_of(DAY)[0]
END = 86_400
Reply = tuple[int, bool]
"""The second of the day that a request was sent in (below 0: of the day before), and whether it was answered."""


def slip_of(replies: Iterable[Reply]) -> list[HourlyCounters]:
    """Slips of one instance that saw all this."""
    slips: dict[int, HourlyCounters] = {}
    for second, was_answered in replies:
        at = MIDNIGHT + second
        slip = slips.setdefault(at - at % 3600, HourlyCounters("ALPHGB21", at - at % 3600))
        if was_answered:
            slip.record_answer(at)
        else:
            slip.record_no_answer(at)
    return list(slips.values())


def down(*replies: Reply) -> tuple[tuple[int, int], ...]:
    return downtime_spans(slip_of(replies), DAY)


def silence(*seconds: int) -> list[Reply]:
    return [(second, False) for second in seconds]


def test_five_in_a_row_are_down_from_the_first_until_the_next_answer() -> None:
    assert down(*silence(100, 110, 120, 130, 140), (500, True)) == ((100, 500),)
    assert down(*silence(100, 110, 120, 130, 140, 150, 499), (500, True)) == ((100, 500),)


def test_four_in_a_row_are_not() -> None:
    assert down(*silence(100, 110, 120, 130), (500, True)) == ()
    assert down(*silence(100, 110, 120, 130)) == ()


def test_an_answer_in_between_begins_the_count_anew() -> None:
    assert down(*silence(1, 2, 3, 4), (5, True), *silence(6, 7, 8, 9), (10, True)) == ()
    assert down(*silence(1, 2, 3, 4), (5, True), *silence(6, 7, 8, 9, 10), (20, True)) == ((6, 20),)


def test_an_answer_in_the_same_second_means_that_it_was_up() -> None:
    assert down(*silence(7, 7, 7, 7, 7, 7), (7, True)) == ()
    assert down(*silence(1, 2, 3, 4, 5), (5, True)) == ()
    assert down(*silence(7, 7, 7, 7, 7), (8, True)) == ((7, 8),)


def test_without_a_later_answer_it_is_down_until_midnight() -> None:
    assert down((0, True), *silence(86_395, 86_396, 86_397, 86_398, 86_399)) == ((86_395, END),)


def test_it_may_be_down_several_times() -> None:
    assert down(*silence(1, 2, 3, 4, 5), (9, True), *silence(11, 12, 13, 14, 15), (19, True)) == ((1, 9), (11, 19))


def test_a_series_goes_on_over_hours() -> None:
    assert down(*silence(3000, 5000, 9000, 13_000, 20_000), (30_000, True)) == ((3000, 30_000),)


def test_a_series_is_that_of_all_instances_together() -> None:
    one = slip_of([*silence(100, 120, 140), (200, True)])
    other = slip_of(silence(110, 130))

    assert downtime_spans([*one, *other], DAY) == downtime_spans([*other, *one], DAY) == ((100, 200),)
    assert downtime_spans([*one, *other, *slip_of([(125, True)])], DAY) == ()


def test_a_series_that_began_the_day_before_counts_from_midnight_on() -> None:
    assert down(*silence(-30, -20, -10, 5, 10), (60, True)) == ((0, 60),)
    assert down(*silence(-50, -40, -30, -20, -10), (60, True)) == ((0, 60),)
    assert down(*silence(-50, -40, -30, -20, -10)) == ((0, END),)
    assert down(*silence(-50, -40, -30, -20, -10), (-5, True)) == ()
    assert down(*silence(-50, -40, -30, -20, -10), (0, True)) == ()


def test_the_day_before_is_not_down_on_account_of_requests_after_it() -> None:
    early = slip_of(silence(86_390, 86_391, 86_392))
    late = slip_of(silence(86_400, 86_401, 86_402))

    assert downtime_spans([*early, *late], DAY) == ()
    assert downtime_spans([*early, *late], date(2026, 3, 3)) == ((0, END),)


def test_a_day_without_requests_is_not_down() -> None:
    assert downtime_spans([], DAY) == ()
    assert downtime_spans([HourlyCounters("ALPHGB21", MIDNIGHT)], DAY) == ()


def model(replies: Iterable[Reply]) -> list[int]:
    """The seconds of the day that it was down in, looked at one by one."""
    seen = list(replies)
    answered = {second for second, was_answered in seen if was_answered}
    series: list[int] = []
    found: set[int] = set()
    for second in range(min((second for second, _ in seen), default=0), 100):
        if second in answered:
            series = []
        else:
            series += [second] * sum(each == (second, False) for each in seen)
        if len(series) >= 5:
            found |= set(range(series[0], second + 1))
    return sorted(second for second in found if second >= 0)


near_midnight = st.lists(st.tuples(st.integers(-40, 60), st.booleans() | st.just(False)), max_size=40)


@settings(deadline=None)
@given(near_midnight)
def test_it_is_as_a_model_says_that_goes_second_by_second(replies: list[Reply]) -> None:
    spans = downtime_spans(slip_of(replies), DAY)

    assert [second for since, until in spans for second in range(since, min(until, 100))] == model(replies)
    assert all(0 <= since < until <= END for since, until in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-7200, END + 3600), st.booleans()), max_size=40), st.randoms())
def test_who_counted_what_and_in_which_order_slips_come_makes_no_difference(
    replies: list[Reply], chance: object
) -> None:
    slips = [slip for reply in replies for slip in slip_of([reply])]
    shuffled = list(slips)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert downtime_spans(shuffled, DAY) == downtime_spans(slips, DAY) == downtime_spans(slip_of(replies), DAY)


@pytest.mark.parametrize("count", range(1, 8))
def test_it_is_down_with_five_and_more(count: int) -> None:
    assert bool(down(*silence(*range(count)), (100, True))) == (count >= 5)
