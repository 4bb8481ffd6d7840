"""Durations in buckets: added up in any order, close to the truth, and exact on average."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.foundation.dynamodb.items import pack, unpack
from chalicelib.statistics.histogram import STEPS, Histogram

DURATIONS = st.lists(st.floats(min_value=0, max_value=30_000), max_size=30)


def histogram(durations: list[float]) -> Histogram:
    made = Histogram()
    for milliseconds in durations:
        made.add(milliseconds)
    return made


def rank(durations: list[float], percent: int) -> float:
    """The duration that was enough for so many of a hundred."""
    return sorted(durations)[max(math.ceil(len(durations) * percent / 100), 1) - 1]


@settings(deadline=None)
@given(DURATIONS.filter(bool), st.integers(1, 100))
def test_a_percentile_is_never_too_low_and_too_high_by_less_than_a_bucket(durations: list[float], percent: int) -> None:
    found, truth = histogram(durations).percentile(percent), rank(durations, percent)

    assert found is not None
    rounding = Decimal("0.05")
    assert Decimal(truth) - rounding <= found
    assert found <= Decimal(max(truth, 1) * 2 ** (1 / STEPS)) + rounding


@settings(deadline=None)
@given(DURATIONS, DURATIONS, DURATIONS)
def test_what_is_added_up_in_any_order_is_the_same(first: list[float], second: list[float], third: list[float]) -> None:
    forth, back = Histogram(), Histogram()
    for durations in (first, second, third):
        forth.include(histogram(durations))
    for durations in (third, second, first):
        back.include(histogram(durations))

    assert forth == back == histogram(first + second + third)
    assert forth.count == len(first + second + third)


@settings(deadline=None)
@given(DURATIONS)
def test_what_was_stored_is_read_again(durations: list[float]) -> None:
    kept = histogram(durations)

    assert Histogram.from_item(unpack(pack(kept.to_item()))) == kept


@pytest.mark.parametrize("percent", [1, 50, 95, 99, 100])
def test_of_nothing_there_is_no_percentile_and_no_average(percent: int) -> None:
    assert (Histogram().percentile(percent), Histogram().average, Histogram().count) == (None, None, 0)


def test_an_average_is_exact() -> None:
    assert histogram([0.1, 0.2, 999.9]).average == Decimal("333.4")
    assert histogram([0.05] * 3).average == Decimal("0.1")  # 0.05 is rounded up


@pytest.mark.parametrize(
    ("milliseconds", "bucket"), [(0, 0), (0.4, 0), (1, 0), (1.05, 1), (2, 8), (2.01, 9), (1024, 80), (20_000, 115)]
)
def test_a_bucket_ends_at_a_power_of_the_eighth_root_of_two(milliseconds: float, bucket: int) -> None:
    assert histogram([milliseconds]).buckets == {bucket: 1}


def test_percentiles_tell_slow_ones_from_fast_ones() -> None:
    made = histogram([10] * 94 + [100] * 5 + [1000])

    assert [made.percentile(percent) for percent in (50, 95, 99, 100)] == [
        Decimal("10.4"),
        Decimal("107.6"),
        Decimal("107.6"),
        Decimal("1024.0"),
    ]
