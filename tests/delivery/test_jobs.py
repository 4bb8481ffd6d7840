"""Tests of the Lambda functions that attempt deliveries and run the sweep."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from chalicelib.delivery.delivery_plan import SWEEP_WAITS
from chalicelib.delivery.worker import Worker
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from infra.local.event_runner import sqs_event
from tests.causeway import Causeway
from tests.delivery.conftest import Receiver, failure
from tests.kit.logs import Lines, metric_values
from tests.kit.time import PATIENCE_SECONDS, run_schedule


def run(name: str, event: dict[str, Any], context: object = None) -> Any:
    from app import app

    return app.handler_map[name](event, context)


def deliver(*bodies: str) -> Any:
    messages = [{"MessageId": f"of {body}", "ReceiptHandle": "", "Body": body, "MD5OfBody": "0"} for body in bodies]
    return run("deliver", sqs_event(messages, "arn:aws:sqs:eu-west-1:1:deliveries", "eu-west-1"))


class Scripted:
    def __init__(self, **attempts: Callable[[], object]) -> None:
        self.attempts = attempts
        self.made: list[str] = []

    def attempt(self, delivery_id: str) -> None:
        log.bind(delivery_id=delivery_id)
        self.attempts.get(delivery_id, lambda: None)()
        self.made.append(delivery_id)


def unreachable() -> None:
    raise StoreUnavailable("the storage did not answer")


@pytest.fixture(autouse=True)
def at_work(causeway: Causeway, worker: Worker) -> None:
    causeway.hub.delivery.__dict__["worker"] = worker


def test_a_queue_message_starts_a_delivery_attempt(causeway: Causeway, receiver: Receiver, recorded: str) -> None:
    deliver(recorded)

    assert [dispatch.delivery.delivery_id for dispatch in receiver.got] == [recorded]
    assert causeway.delivery(recorded).state == "delivered"


def test_a_failure_of_the_receiver_does_not_fail_the_function(
    causeway: Causeway, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [failure()]
    deliver(recorded)

    assert causeway.delivery(recorded).attempts == 1


def test_unavailable_storage_fails_the_function_so_that_sqs_retries_the_message(
    causeway: Causeway, recorded: str
) -> None:
    with causeway.storage_gone("batch_get"), pytest.raises(StoreUnavailable):
        deliver(recorded)


def test_aborted_attempts_of_a_batch_are_returned_as_batch_item_failures(causeway: Causeway, lines: Lines) -> None:
    causeway.hub.delivery.__dict__["worker"] = scripted = Scripted(second=unreachable, fourth=unreachable)

    answer = deliver("first", "second", "third", "fourth")

    assert answer == {"batchItemFailures": [{"itemIdentifier": "of second"}, {"itemIdentifier": "of fourth"}]}
    assert sorted(scripted.made) == ["first", "third"]
    told = {(line["message"], line["delivery_id"]) for line in lines.all()}
    assert told == {("attempt aborted", "second"), ("attempt aborted", "fourth")}
    assert all("unreachable" in line["exception"] for line in lines.all())


def test_aborted_attempts_of_a_batch_are_counted_in_a_metric(
    capsys: pytest.CaptureFixture[str], causeway: Causeway
) -> None:
    """The metric counts only aborted attempts of batches.

    If a single message fails, Lambda counts a function error.
    """
    causeway.hub.delivery.__dict__["worker"] = Scripted(second=unreachable, fourth=unreachable)
    deliver("first", "third")
    deliver("first", "second", "third", "fourth")

    assert metric_values(capsys.readouterr().out, "BrokenAttempts", Stage="local") == [2]


def test_a_batch_of_successful_attempts_returns_no_batch_item_failures(causeway: Causeway) -> None:
    causeway.hub.delivery.__dict__["worker"] = Scripted()

    assert deliver("first", "second") == {"batchItemFailures": []}


def test_a_function_call_with_a_single_message_returns_none(recorded: str) -> None:
    assert deliver(recorded) is None


def test_an_unresponsive_receiver_does_not_delay_other_messages(causeway: Causeway) -> None:
    others = [str(number) for number in range(9)]
    arrived = threading.Semaphore(0)

    def hang() -> None:
        assert all(arrived.acquire(timeout=PATIENCE_SECONDS) for _ in others)

    attempts = dict.fromkeys(others, arrived.release)
    causeway.hub.delivery.__dict__["worker"] = scripted = Scripted(hangs=hang, **attempts)

    assert deliver("hangs", *others) == {"batchItemFailures": []}
    assert scripted.made[-1] == "hangs"
    assert sorted(scripted.made) == [*others, "hangs"]


def test_each_log_line_of_parallel_messages_has_the_delivery_id_of_the_message(
    causeway: Causeway, lines: Lines
) -> None:
    bound = threading.Barrier(2)

    def say() -> None:
        bound.wait(PATIENCE_SECONDS)
        log.info("attempted")

    causeway.hub.delivery.__dict__["worker"] = Scripted(first=say, second=say)
    deliver("first", "second")

    assert sorted(line["delivery_id"] for line in lines.all()) == ["first", "second"]


def test_the_log_context_of_a_message_is_removed_after_the_message(recorded: str, lines: Lines) -> None:
    deliver(recorded)
    log.info("afterwards")

    first, *_, last = lines.all()
    assert first["request_id"]
    assert "request_id" not in last


def test_a_sweep_with_due_deliveries_logs_their_number(causeway: Causeway, recorded: str, lines: Lines) -> None:
    causeway.clock.advance(SWEEP_WAITS[0])
    run_schedule(partial(run, "sweep"))

    (line,) = lines.all()
    assert (line["message"], line["queued"] >= 1) == ("swept", True)
    assert recorded in causeway.queued()


def test_a_sweep_without_due_deliveries_logs_nothing(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.delivery.sweeper.sweep", lambda: 0)
    run_schedule(partial(run, "sweep"))

    assert lines.text == ""
