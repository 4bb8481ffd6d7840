"""Rate limits of calls: the burst, the rate per minute, and the retry time for a rejected caller."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from chalicelib.foundation.call_limits import MAX_CALLERS, CallLimits, LimitReached
from tests.kit.time import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))


@pytest.fixture
def limits(clock: ManualClock) -> CallLimits:
    return CallLimits(clock)


def admitted(limits: CallLimits, caller: str, limit: int, attempts: int) -> int:
    return sum(is_admitted(limits, caller, limit) for _ in range(attempts))


def is_admitted(limits: CallLimits, caller: str, limit: int) -> bool:
    try:
        limits.admit(caller, limit)
    except LimitReached:
        return False
    return True


def refused_for(limits: CallLimits, caller: str, limit: int) -> int:
    with pytest.raises(LimitReached) as caught:
        limits.admit(caller, limit)
    assert caught.value.limit == limit
    return caught.value.retry_after


@pytest.mark.parametrize("limit", [1, 7, 60, 3000, 59_999])
def test_a_caller_may_make_all_calls_of_a_minute_in_one_burst(limits: CallLimits, limit: int) -> None:
    assert admitted(limits, "a", limit, limit + 5) == limit


def test_a_call_above_the_burst_is_accepted_after_a_fraction_of_a_minute(
    limits: CallLimits, clock: ManualClock
) -> None:
    assert admitted(limits, "a", 4, 5) == 4

    assert refused_for(limits, "a", 4) == 15
    clock.advance(10)
    assert refused_for(limits, "a", 4) == 5
    clock.advance(4.5)
    assert refused_for(limits, "a", 4) == 1
    clock.advance(0.5)
    assert admitted(limits, "a", 4, 2) == 1


def test_a_rejected_call_is_accepted_after_the_advised_wait(limits: CallLimits, clock: ManualClock) -> None:
    for limit in (1, 7, 11, 13, 59):
        admitted(limits, f"of {limit}", limit, limit)
        clock.advance(refused_for(limits, f"of {limit}", limit))
        limits.admit(f"of {limit}", limit)


def test_calls_at_a_steady_rate_at_the_limit_are_never_rejected(limits: CallLimits, clock: ManualClock) -> None:
    for _ in range(1000):
        limits.admit("a", 90)
        clock.advance(60 / 90)


def test_a_clock_set_back_does_not_reduce_the_rate_limit(limits: CallLimits, clock: ManualClock) -> None:
    limits.admit("a", 2)
    clock.advance(-3600)

    assert admitted(limits, "a", 2, 3) == 1
    clock.advance(30)
    assert admitted(limits, "a", 2, 3) == 1


def test_rejected_calls_do_not_count_towards_the_rate_limit(limits: CallLimits, clock: ManualClock) -> None:
    admitted(limits, "a", 2, 100)
    clock.advance(60)

    assert admitted(limits, "a", 2, 3) == 2


def test_callers_have_separate_rate_limits(limits: CallLimits) -> None:
    assert admitted(limits, "a", 3, 10) == 3
    assert admitted(limits, "b", 5, 10) == 5


def test_a_lower_rate_limit_applies_to_the_next_call(limits: CallLimits, clock: ManualClock) -> None:
    admitted(limits, "a", 60, 30)  # half a minute's calls

    assert admitted(limits, "a", 2, 2) == 1
    assert refused_for(limits, "a", 2) == 30
    assert admitted(limits, "a", 60, 10) == 0
    clock.advance(1)
    assert admitted(limits, "a", 60, 10) == 1


def test_the_number_of_callers_stored_for_rate_limits_is_limited(limits: CallLimits) -> None:
    for number in range(MAX_CALLERS):
        limits.admit(str(number), 1)
    assert not is_admitted(limits, "0", 1)

    limits.admit("one more", 1)

    assert len(limits.admitted) == MAX_CALLERS
    assert is_admitted(limits, "0", 1)
    assert not is_admitted(limits, "2", 1)


def test_each_parallel_call_counts_once_towards_the_rate_limit(limits: CallLimits) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: is_admitted(limits, "a", 500), range(2000)))

    assert sum(answers) == 500
