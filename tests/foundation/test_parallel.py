"""Parallel calls run concurrently and return results in order. If one call fails, all other calls still run."""

import threading
from functools import partial

import pytest

from chalicelib.foundation import log, parallel
from chalicelib.foundation.context import tight_deadline
from chalicelib.foundation.http.connection_pool import CONNECTIONS_PER_HOST
from chalicelib.foundation.parallel import WIDTH, in_time, together
from tests.kit.time import PATIENCE_SECONDS, limit_under_test


def test_parallel_results_are_in_the_order_of_the_calls() -> None:
    calls = [partial(int, str(number)) for number in range(100)]

    assert together(calls) == list(range(100))


def test_an_empty_list_of_parallel_calls_returns_an_empty_list() -> None:
    assert together([]) == []


def test_the_configured_number_of_calls_runs_in_parallel() -> None:
    barrier = threading.Barrier(WIDTH)

    assert sorted(together([lambda: barrier.wait(PATIENCE_SECONDS)] * WIDTH)) == list(range(WIDTH))


def test_a_single_parallel_call_runs_in_the_thread_of_the_caller() -> None:
    assert together([threading.get_ident]) == [threading.get_ident()]


def test_all_calls_run_in_the_thread_of_the_caller_if_parallelism_is_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "WIDTH", 1)

    assert set(together([threading.get_ident] * 5)) == {threading.get_ident()}


def test_a_failure_of_a_parallel_call_is_raised_after_all_other_calls() -> None:
    made: list[int] = []

    def call(number: int) -> None:
        if number in (1, 2):
            raise ValueError(number)
        made.append(number)

    with pytest.raises(ValueError, match="1"):
        together([partial(call, number) for number in range(50)])
    assert sorted(made) == [0, *range(3, 50)]


def test_parallel_calls_log_the_request_id_of_the_caller() -> None:
    log.bind(request_id="a-request")
    try:
        assert together([log.request_id] * 3) == ["a-request"] * 3
    finally:
        log.clear()
    assert together([log.request_id] * 3) == [None] * 3


def test_the_in_time_function_ends_a_call_at_the_time_limit_of_the_request() -> None:
    is_over = threading.Event()
    try:
        with tight_deadline(lambda: 0.0, limit_under_test(0.1)), pytest.raises(TimeoutError):
            in_time(lambda: is_over.wait(PATIENCE_SECONDS))
    finally:
        is_over.set()


def test_the_in_time_function_preserves_results_errors_and_log_context() -> None:
    def fail() -> None:
        raise LookupError("missing")

    log.bind(request_id="a-request")
    try:
        assert in_time(log.request_id) == "a-request"  # without a limit, in the same thread
        with tight_deadline(lambda: 0.0, PATIENCE_SECONDS):
            assert in_time(log.request_id) == "a-request"
            with pytest.raises(LookupError, match="missing"):
                in_time(fail)
    finally:
        log.clear()


def test_the_connection_pool_has_a_connection_for_every_parallel_call() -> None:
    assert CONNECTIONS_PER_HOST >= WIDTH
