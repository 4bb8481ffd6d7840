"""Counts: added up in any order, and stored without what is zero."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.foundation.dynamodb.items import pack, unpack
from chalicelib.statistics.call_counts import COUNTED, SERVICES, Blamed, CallCounts, Latencies, Service

TALLIES = st.builds(CallCounts, **{name: st.integers(0, 10**9) for name in COUNTED})


@settings(deadline=None)
@given(TALLIES, TALLIES, TALLIES)
def test_counts_are_added_up_in_any_order(first: CallCounts, second: CallCounts, third: CallCounts) -> None:
    forth, back = CallCounts(), CallCounts()
    for tally in (first, second, third):
        forth.include(tally)
    for tally in (third, second, first):
        back.include(tally)

    assert forth == back
    assert forth.asked == first.asked + second.asked + third.asked


@settings(deadline=None)
@given(TALLIES)
def test_counts_that_were_stored_are_read_again(tally: CallCounts) -> None:
    item = unpack(pack(tally.to_item()))

    assert CallCounts.from_item(item) == tally
    assert 0 not in item.values()


@pytest.mark.parametrize("blamed", get_args(Blamed))
def test_a_failure_is_counted_by_whose_fault_it_is(blamed: Blamed) -> None:
    tally = CallCounts(calls=3)

    tally.count_failure(blamed)
    tally.count_failure(blamed)

    assert tally.to_item() == {"calls": 3, f"{blamed}_failures": 2}


def test_every_service_is_one_of_those_that_are_shown() -> None:
    assert get_args(Service) == SERVICES


def test_the_times_of_the_service_and_of_banks_are_kept_apart() -> None:
    one, other = Latencies(), Latencies()
    one.hub.add(3)
    other.bank.add(250)

    one.include(other)

    assert (one.hub.count, one.hub.microseconds, one.bank.count, one.bank.microseconds) == (1, 3000, 1, 250_000)
    assert Latencies.from_item(unpack(pack(one.to_item()))) == one
