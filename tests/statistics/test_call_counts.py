"""Tests of call counts and durations. Values are summed in any order, zeros are not stored, and averages are rounded
half up.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.dynamodb.items import pack, unpack
from chalicelib.statistics.call_counts import (
    COUNTED,
    SERVICES,
    STEPS,
    Blamed,
    CallCounts,
    Histogram,
    Latencies,
    Service,
    percent,
    round_half_up,
)
from tests.statistics.bank_days import histogram


@pytest.mark.parametrize(
    ("number", "places", "written"), [("0.25", 1, "0.3"), ("0.35", 1, "0.4"), ("7", 2, "7.00"), ("0.0049", 2, "0.00")]
)
def test_a_count_or_duration_that_ends_in_one_half_is_rounded_up(number: str, places: int, written: str) -> None:
    assert str(round_half_up(Decimal(number), places)) == written


@pytest.mark.parametrize(
    ("part", "whole", "written"),
    [(1, 3, "33.333"), (2, 3, "66.667"), (0, 7, "0.000"), (7, 7, "100.000"), (0, 0, "None")],
)
def test_a_percentage_has_three_decimals_and_is_none_if_the_total_is_zero(part: int, whole: int, written: str) -> None:
    assert str(percent(part, whole)) == written


DURATIONS = st.lists(st.floats(min_value=0, max_value=30_000), max_size=30)


Total = TypeVar("Total", Histogram, CallCounts)


def add(total: Total, parts: Sequence[Total]) -> Total:
    for each in parts:
        total.include(each)
    return total


def rank(durations: list[float], percent: int) -> float:
    return sorted(durations)[max(math.ceil(len(durations) * percent / 100), 1) - 1]


@given(DURATIONS.filter(bool), st.integers(1, 100))
def test_a_percentile_exceeds_the_exact_value_by_less_than_one_bucket(durations: list[float], percent: int) -> None:
    found, truth = histogram(*durations).percentile(percent), rank(durations, percent)

    assert found is not None
    rounding = Decimal("0.05")
    assert Decimal(truth) - rounding <= found
    assert found <= Decimal(max(truth, 1) * 2 ** (1 / STEPS)) + rounding


@given(DURATIONS, DURATIONS, DURATIONS)
def test_the_sum_of_histograms_does_not_depend_on_their_order(
    first: list[float], second: list[float], third: list[float]
) -> None:
    parts = [histogram(*durations) for durations in (first, second, third)]
    total = add(Histogram(), parts)

    assert total == add(Histogram(), parts[::-1]) == histogram(*first, *second, *third)
    assert total.count == len(first + second + third)


@given(DURATIONS)
def test_a_histogram_is_unchanged_after_storage(durations: list[float]) -> None:
    kept = histogram(*durations)

    assert Histogram.from_item(unpack(pack(kept.to_item()))) == kept


@pytest.mark.parametrize("percent", [1, 50, 95, 99, 100])
def test_an_empty_histogram_has_no_percentile_and_no_average(percent: int) -> None:
    assert Histogram().percentile(percent) is None
    assert Histogram().average is None
    assert Histogram().count == 0


def test_an_average_duration_is_computed_exactly() -> None:
    assert histogram(0.1, 0.2, 999.9).average == Decimal("333.4")
    assert histogram(0.05, 0.05, 0.05).average == Decimal("0.1")  # 0.05 is rounded up


@pytest.mark.parametrize(
    ("milliseconds", "bucket"), [(0, 0), (0.4, 0), (1, 0), (1.05, 1), (2, 8), (2.01, 9), (1024, 80), (20_000, 115)]
)
def test_histogram_bucket_bounds_grow_by_the_eighth_root_of_two(milliseconds: float, bucket: int) -> None:
    assert histogram(milliseconds).buckets == {bucket: 1}


@pytest.mark.parametrize(("percent", "milliseconds"), [(50, "10.4"), (95, "107.6"), (99, "107.6"), (100, "1024.0")])
def test_percentiles_distinguish_fast_and_slow_durations(percent: int, milliseconds: str) -> None:
    assert histogram(*[10] * 94, *[100] * 5, 1000).percentile(percent) == Decimal(milliseconds)


TALLIES = st.builds(CallCounts, **{name: st.integers(0, 10**9) for name in COUNTED})


@given(TALLIES, TALLIES, TALLIES)
def test_the_sum_of_call_counts_does_not_depend_on_their_order(
    first: CallCounts, second: CallCounts, third: CallCounts
) -> None:
    parts = [first, second, third]
    total = add(CallCounts(), parts)

    assert total == add(CallCounts(), parts[::-1])
    assert total.bank_requests == sum(each.bank_requests for each in parts)


@given(TALLIES)
def test_call_counts_are_unchanged_after_storage(tally: CallCounts) -> None:
    item = unpack(pack(tally.to_item()))

    assert CallCounts.from_item(item) == tally
    assert 0 not in item.values()


@pytest.mark.parametrize("blamed", get_args(Blamed))
def test_a_failure_is_counted_for_the_party_at_fault(blamed: Blamed) -> None:
    tally = CallCounts(calls=3)

    tally.count_failure(blamed)
    tally.count_failure(blamed)

    assert tally.to_item() == {"calls": 3, f"{blamed}_failures": 2}


def test_the_list_of_services_contains_every_service() -> None:
    assert get_args(Service) == SERVICES


def test_latencies_of_the_service_and_of_banks_are_counted_separately() -> None:
    one, other = Latencies(), Latencies()
    one.hub.add(3)
    other.bank.add(250)

    one.include(other)

    assert (one.hub.count, one.hub.microseconds) == (1, 3000)
    assert (one.bank.count, one.bank.microseconds) == (1, 250_000)
    assert Latencies.from_item(unpack(pack(one.to_item()))) == one
