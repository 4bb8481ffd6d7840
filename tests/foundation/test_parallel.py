"""Calls made together: all at the same time, answered in their order, and none left out because another failed."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from chalicelib.foundation import log, parallel
from chalicelib.foundation.context import tight_deadline
from chalicelib.foundation.http.connection_pool import CONNECTIONS_PER_HOST
from chalicelib.foundation.parallel import WIDTH, in_time, together
from tests.patience import PATIENCE_SECONDS, limit_under_test


def test_answers_come_in_the_order_of_the_calls() -> None:
    calls = [partial(int, str(number)) for number in range(100)]

    assert together(calls) == list(range(100))


def test_nothing_to_call_answers_nothing() -> None:
    assert together([]) == []


def test_as_many_calls_as_the_width_are_under_way_at_the_same_time() -> None:
    barrier = threading.Barrier(WIDTH)

    assert sorted(together([lambda: barrier.wait(PATIENCE_SECONDS)] * WIDTH)) == list(range(WIDTH))


def test_one_call_alone_stays_in_its_thread() -> None:
    assert together([threading.get_ident]) == [threading.get_ident()]


def test_with_a_width_of_one_all_are_made_in_order_in_the_callers_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "WIDTH", 1)

    assert set(together([threading.get_ident] * 5)) == {threading.get_ident()}


def test_a_failure_is_raised_when_all_others_have_been_made() -> None:
    made: list[int] = []

    def call(number: int) -> None:
        if number in (1, 2):
            raise ValueError(number)
        made.append(number)

    with pytest.raises(ValueError, match="1"):
        together([partial(call, number) for number in range(50)])
    assert sorted(made) == [0, *range(3, 50)]


def test_what_is_logged_meanwhile_belongs_to_the_callers_request() -> None:
    log.bind(request_id="a-request")
    try:
        assert together([log.request_id] * 3) == ["a-request"] * 3
    finally:
        log.clear()
    assert together([log.request_id] * 3) == [None] * 3


def test_a_call_that_knows_no_limit_ends_with_that_of_the_request() -> None:
    is_over = threading.Event()
    try:
        with tight_deadline(lambda: 0.0, limit_under_test(0.1)), pytest.raises(TimeoutError):
            in_time(lambda: is_over.wait(PATIENCE_SECONDS))
    finally:
        is_over.set()


def test_a_call_in_time_has_its_result_its_error_and_its_caller_s_log_context() -> None:
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


def test_a_connection_is_kept_for_every_call_under_way() -> None:
    assert CONNECTIONS_PER_HOST >= WIDTH
