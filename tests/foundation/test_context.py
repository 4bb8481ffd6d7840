"""The time limit of a request applies to its AWS calls, retries and parallel calls."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import Any

import pytest

from chalicelib.cards.storage.sequences import SPARE, Sequences
from chalicelib.foundation import context
from chalicelib.foundation.aws import calls
from chalicelib.foundation.aws.errors import ErrorResponse, NoAnswer, NotSent
from chalicelib.foundation.dynamodb.errors import AnswerLost, NeverSent
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.moved_clock import READ_SECONDS, MovedClock
from chalicelib.foundation.parallel import together
from tests.kit.http import Connection, SocketServer, socket_server
from tests.kit.time import PATIENCE_SECONDS, ManualClock, limit_under_test

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


def limited(clock: ManualClock, seconds: float) -> Any:
    return context.tight_deadline(clock.monotonic, clock.monotonic() + seconds)


# -- the limit


def test_a_request_without_a_time_limit_never_expires() -> None:
    assert (context.is_limited(), context.seconds_left(), context.is_over()) == (False, inf, False)


def test_a_request_time_limit_expires_after_its_seconds_and_applies_only_in_its_code_block(clock: ManualClock) -> None:
    with limited(clock, 2):
        clock.advance(1.5)
        assert context.seconds_left() == pytest.approx(0.5)
        clock.advance(0.5)
        assert context.is_over()
    assert not context.is_limited()


@pytest.mark.parametrize(("outer", "inner"), [(2, 5), (5, 2)])
def test_the_earlier_of_two_time_limits_applies(clock: ManualClock, outer: float, inner: float) -> None:
    with limited(clock, outer), limited(clock, inner):
        assert context.seconds_left() == 2


def test_the_leave_time_function_extends_a_passed_deadline_by_three_seconds(clock: ManualClock) -> None:
    with context.deadline(clock.monotonic, clock.monotonic() + 5):
        clock.advance(6)
        context.leave_time(clock.monotonic)
        assert (context.seconds_left(), context.is_tight()) == (3, True)
    assert not context.is_limited()


def test_the_leave_time_function_does_not_shorten_a_longer_time_limit(clock: ManualClock) -> None:
    with context.deadline(clock.monotonic, clock.monotonic() + 5):
        context.leave_time(clock.monotonic)
        assert (context.seconds_left(), context.is_tight()) == (5, False)


def test_the_leave_time_function_sets_no_limit_without_an_existing_limit(clock: ManualClock) -> None:
    context.leave_time(clock.monotonic)
    assert not context.is_limited()


def test_log_members_bound_in_the_code_block_of_a_time_limit_remain_bound_after_the_block(clock: ManualClock) -> None:
    with limited(clock, 2):
        context.bind(consent_id="1")
    assert context.current().log_members["consent_id"] == "1"
    context.clear()
    assert not context.current().log_members


# -- parallel calls


def test_a_request_time_limit_applies_in_parallel_calls(clock: ManualClock) -> None:
    with limited(clock, 2):
        assert together([context.seconds_left] * 2) == [2, 2]


def test_parallel_calls_that_exceed_the_time_limit_raise_timeout_error(clock: ManualClock) -> None:
    goes_on = threading.Event()
    try:
        with limited(clock, 0.01), pytest.raises(TimeoutError):
            together([partial(goes_on.wait, PATIENCE_SECONDS)] * 2)
    finally:
        goes_on.set()


# -- clients


def silence(connection: Connection) -> None:
    while connection.request():
        connection.stop.wait(PATIENCE_SECONDS)


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Callable[[SocketServer], None]:
    return lambda server: monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")


@pytest.fixture
def short_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "READ_SECONDS", limit_under_test(0.05))


@pytest.mark.parametrize(
    ("left", "seconds"), [(60, (calls.CONNECT_SECONDS, calls.READ_SECONDS)), (0.6, (0.5, 0.6)), (0.3, (0.3, 0.3))]
)
def test_an_aws_call_timeout_is_at_most_the_remaining_time(
    left: float, seconds: tuple[float, float], clock: ManualClock
) -> None:
    with limited(clock, left):
        assert calls.timeouts("sqs") == pytest.approx(seconds)


@pytest.mark.parametrize(("left", "seconds"), [(60, (2, 6)), (1.5, (1.5, 1.5))])
def test_an_aws_call_timeout_is_the_shorter_of_the_service_timeout_and_the_remaining_time(
    left: float, seconds: tuple[float, float], clock: ManualClock
) -> None:
    with context.deadline(clock.monotonic, clock.monotonic() + left):
        assert calls.timeouts("kms") == seconds


def test_an_aws_call_without_a_time_limit_has_the_timeouts_of_the_aws_service() -> None:
    assert (calls.timeouts("sqs"), calls.timeouts("kms")) == ((1, 2), (2, 6))


@pytest.mark.parametrize("service", ["dynamodb", "kms", "sqs", "secretsmanager"])
@pytest.mark.usefixtures("short_reads")
def test_an_aws_call_that_exceeds_the_time_limit_is_not_retried(
    service: str, clock: ManualClock, address: Callable[[SocketServer], None]
) -> None:
    with socket_server(silence) as server:
        address(server)
        with limited(clock, 60), pytest.raises(NoAnswer, match="did not answer Any"):
            calls.send_twice(service, "Any", {})
        server.wait_for(1)

    assert len(server.requests) == 1


def test_no_aws_call_is_sent_after_the_time_limit(clock: ManualClock, address: Callable[[SocketServer], None]) -> None:
    with socket_server(silence) as server:
        address(server)
        with limited(clock, 0), pytest.raises(NotSent):
            calls.send("sqs", "ListQueues", {})

    assert server.requests == []


@pytest.mark.usefixtures("short_reads")
def test_an_aws_call_without_a_response_leaves_time_for_retries(
    clock: ManualClock, address: Callable[[SocketServer], None]
) -> None:
    with socket_server(silence) as server:
        address(server)
        store = Store(partial(calls.send, "dynamodb"), "any", lambda seconds: None)
        with limited(clock, 60), pytest.raises(AnswerLost):
            store.get("any", {"id": "1"})
        server.wait_for(3)

    assert len(server.requests) == 3


def test_a_refused_aws_connection_is_reported_immediately(
    clock: ManualClock, address: Callable[[SocketServer], None]
) -> None:
    def behave(connection: Connection) -> None:
        while connection.request():
            connection.answer(b'{"__type": "ServiceUnavailable"}', "503 Service Unavailable")

    with socket_server(behave) as server:
        address(server)
        with limited(clock, 60), pytest.raises(ErrorResponse):
            calls.send_twice("sqs", "ListQueues", {})

    assert len(server.requests) == 1


# -- the store


class Client:
    def __init__(self, clock: ManualClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self.made = 0

    def __call__(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.made += 1
        self._clock.advance(self._seconds)
        raise NoAnswer(operation)


def test_the_store_does_not_retry_a_call_after_the_time_limit(clock: ManualClock) -> None:
    slow = Client(clock, 0.9)
    pauses: list[float] = []
    store = Store(slow, "any", pauses.append, monotonic=clock.monotonic)

    with limited(clock, 2), pytest.raises(AnswerLost):
        store.transact([])

    assert slow.made == 3
    assert max(pauses) <= 2


def test_the_store_starts_no_call_after_the_time_limit(clock: ManualClock) -> None:
    slow = Client(clock, 1)
    with limited(clock, 0), pytest.raises(NeverSent):
        Store(slow, "any").transact([])

    assert slow.made == 0


# -- what a request waits for


def test_generating_an_identifier_after_the_time_limit_raises_the_never_sent_exception(clock: ManualClock) -> None:
    sequences = Sequences(Store(Client(clock, 0), "any"))

    with sequences._lock:
        with limited(clock, 0), pytest.raises(NeverSent):
            sequences.next("authorization")
        assert sequences.spare("authorization") >= SPARE


def test_a_spare_identifier_has_11_digits_if_no_reserved_identifier_is_left(clock: ManualClock) -> None:
    slow = Client(clock, 0)
    sequences = Sequences(Store(slow, "any"))
    sequences.left["authorization"] = range(7, 8)

    assert sequences.spare("authorization") == 7
    assert len(str(sequences.spare("authorization"))) == 11
    assert slow.made == 0


def test_reading_the_clock_offset_again_has_a_short_time_limit(clock: ManualClock) -> None:
    left: list[float] = []

    def read() -> int:
        left.append(context.seconds_left())
        return 0

    moved = MovedClock(clock, read)
    moved.time()
    clock.advance(1)
    moved.time()

    assert left == [inf, pytest.approx(READ_SECONDS)]
