"""Tests of the circuit breaker: opening of a circuit, duration of the pause, and the probe after the pause."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from chalicelib.foundation.http.outbound import TOTAL_SECONDS
from chalicelib.foundation.moved_clock import MovedClock
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES, Breaker
from chalicelib.openbanking.bank_client.bank_failures import OPEN_SECONDS, CircuitOpen
from tests.kit.time import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))


@pytest.fixture
def breaker(clock: ManualClock) -> Breaker:
    return Breaker(clock)


def fail(breaker: Breaker, times: int, key: str = "bank") -> None:
    for _ in range(times):
        breaker.admit(key)
        breaker.record_failure(key)


def refused_for(call: Callable[[str], None], key: str = "bank") -> int:
    with pytest.raises(CircuitOpen) as caught:
        call(key)
    return caught.value.retry_after


def test_the_limits_of_the_circuit_breaker_are_5_failures_and_30_seconds() -> None:
    assert (FAILURES, OPEN_SECONDS) == (5, 30)


def test_the_time_limit_of_a_call_is_shorter_than_the_open_time_of_a_circuit_breaker() -> None:
    """Therefore, a call that starts before the circuit opens ends before the probe starts."""
    assert TOTAL_SECONDS < OPEN_SECONDS


def test_five_failures_in_a_row_open_a_circuit_for_thirty_seconds(breaker: Breaker, clock: ManualClock) -> None:
    fail(breaker, 4)
    breaker.admit("bank")
    breaker.record_failure("bank")

    assert refused_for(breaker.admit) == 30
    clock.advance(12.5)
    assert refused_for(breaker.admit) == 18
    clock.advance(17.4)
    assert refused_for(breaker.admit) == 1
    clock.advance(0.1)
    breaker.admit("bank")


def test_a_successful_call_resets_the_count_of_failures(breaker: Breaker) -> None:
    for _ in range(3):
        fail(breaker, 4)
        breaker.record_success("bank")

    fail(breaker, 4)
    breaker.admit("bank")


def test_every_bank_has_its_own_circuit(breaker: Breaker) -> None:
    fail(breaker, 5)
    fail(breaker, 4, "another bank")

    refused_for(breaker.admit)
    breaker.admit("another bank")


def test_one_of_many_concurrent_calls_becomes_the_probe(breaker: Breaker, clock: ManualClock) -> None:
    fail(breaker, 5)
    clock.advance(30)
    refused: list[int] = []
    at_once = threading.Barrier(8)

    def call() -> None:
        at_once.wait()
        try:
            breaker.admit("bank")
        except CircuitOpen as error:
            refused.append(error.retry_after)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == [1] * 7


def test_a_probe_that_succeeds_closes_the_circuit(breaker: Breaker, clock: ManualClock) -> None:
    fail(breaker, 5)
    clock.advance(30)
    breaker.admit("bank")
    refused_for(breaker.admit)

    breaker.record_success("bank")

    fail(breaker, 4)
    breaker.admit("bank")


def test_a_probe_that_fails_opens_the_circuit_again(breaker: Breaker, clock: ManualClock) -> None:
    fail(breaker, 5)
    for _ in range(2):
        clock.advance(30)
        breaker.admit("bank")
        clock.advance(20)
        breaker.record_failure("bank")
        assert refused_for(breaker.admit) == 30


def test_record_failure_returns_true_if_the_failure_opens_a_circuit_breaker(
    breaker: Breaker, clock: ManualClock
) -> None:
    told = [breaker.record_failure("bank") for _ in range(7)]
    clock.advance(30)
    breaker.admit("bank")
    told.append(breaker.record_failure("bank"))

    assert told == [False] * 4 + [True, False, False, True]


def test_a_new_probe_is_permitted_30_seconds_after_a_probe_that_did_not_finish(
    breaker: Breaker, clock: ManualClock
) -> None:
    fail(breaker, 5)
    clock.advance(30)
    breaker.admit("bank")

    clock.advance(29.9)
    assert refused_for(breaker.admit) == 1
    clock.advance(0.1)
    breaker.admit("bank")
    assert refused_for(breaker.admit) == 1


def test_a_late_failure_does_not_extend_the_open_time_of_a_circuit_breaker(
    breaker: Breaker, clock: ManualClock
) -> None:
    fail(breaker, 5)
    clock.advance(20)
    breaker.record_failure("bank")

    assert refused_for(breaker.admit) == 10


def test_a_late_successful_response_closes_an_open_circuit_breaker(breaker: Breaker) -> None:
    fail(breaker, 5)

    breaker.record_success("bank")

    breaker.admit("bank")


def test_the_function_require_closed_checks_a_circuit_breaker_without_claiming_the_probe(
    breaker: Breaker, clock: ManualClock
) -> None:
    breaker.require_closed("bank")
    fail(breaker, 5)
    assert refused_for(breaker.require_closed) == 30

    clock.advance(30)
    breaker.require_closed("bank")
    breaker.admit("bank")
    assert refused_for(breaker.require_closed) == 1
    breaker.record_success("bank")
    breaker.require_closed("bank")


def test_the_circuit_breaker_counts_the_concurrent_failures_of_all_threads(breaker: Breaker) -> None:
    threads = [threading.Thread(target=fail, args=(breaker, 1)) for _ in range(FAILURES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert refused_for(breaker.admit) == 30


def test_the_pause_of_a_circuit_breaker_ends_on_time_although_the_clock_was_set_back(
    breaker: Breaker, clock: ManualClock
) -> None:
    fail(breaker, 5)
    clock.advance(-3600)
    clock.advance(29.9)
    assert refused_for(breaker.admit) == 1
    clock.advance(0.1)
    breaker.admit("bank")
    clock.advance(-3600)
    clock.advance(500)
    breaker.admit("bank")


def test_the_pause_of_a_circuit_breaker_is_measured_in_real_time_after_a_clock_advance(clock: ManualClock) -> None:
    moved = MovedClock(clock, lambda: 0)
    breaker = Breaker(moved)
    fail(breaker, 5)

    moved.move_to(86_400)
    assert refused_for(breaker.admit) == 30
    clock.advance(30)
    breaker.admit("bank")


def test_setting_a_clock_back_does_not_extend_a_pause_beyond_30_seconds(breaker: Breaker, clock: ManualClock) -> None:
    fail(breaker, 5)
    clock.advance(-3600)

    assert refused_for(breaker.admit) == 30
    clock.advance(30)
    breaker.admit("bank")
    clock.advance(-3600)
    assert refused_for(breaker.admit) == 1
    clock.advance(30)
    breaker.admit("bank")
