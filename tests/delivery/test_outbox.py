"""Tests of the outbox: a delivery is recorded in the same transaction as its cause, and queued at least once."""

from typing import Any

import pytest

from chalicelib.delivery.delivery_plan import SWEEP_WAITS
from chalicelib.delivery.delivery_record import record_key
from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation import log
from chalicelib.foundation.aws.errors import ErrorResponse, NotSent
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.dynamodb.store import Check, ConditionFailed, absent
from chalicelib.foundation.identifiers import is_uuid
from tests.causeway import Causeway
from tests.delivery.conftest import record_delivery, recording_send_all, unrecorded_delivery
from tests.kit.logs import Lines

pytestmark = pytest.mark.dynamodb

FAILURES = [
    ErrorResponse("SendMessageBatch", "AWS.SimpleQueueService.NonExistentQueue"),
    NotSent("no connection could be made"),
]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    messages: list[tuple[str, int]] = []
    monkeypatch.setattr(Queue, "send", lambda queue, body, delay=0: messages.append((body, delay)))
    return messages


def test_a_delivery_stores_its_cause_receiver_and_request_id(causeway: Causeway) -> None:
    log.bind(request_id="the-cause")
    recorded = record_delivery(
        causeway, "relay", request_id="a-request", receiver="bank#BIC", bic="BIC", consent_id=None
    )
    log.clear()

    delivery = causeway.delivery(recorded)
    assert (delivery.kind, delivery.topic, delivery.receiver, delivery.bic) == ("relay", "a.topic", "bank#BIC", "BIC")
    assert delivery.request_id == "a-request"
    assert delivery.cause_id == "the-cause"
    assert delivery.consent_id is None


def test_the_default_request_id_is_a_uuid_for_a_bank_and_the_delivery_id_for_a_client(causeway: Causeway) -> None:
    told = [
        causeway.delivery(record_delivery(causeway, receiver=receiver)) for receiver in ("bank#ALPHGB21", "client#one")
    ]

    assert [is_uuid(delivery.request_id) for delivery in told] == [True, False]
    assert told[1].request_id == told[1].delivery_id


def test_a_delivery_is_recorded_only_if_the_causing_change_is_written(causeway: Causeway, recorded: str) -> None:
    made = unrecorded_delivery(causeway, body="a body")

    with pytest.raises(ConditionFailed):
        causeway.hub.store.transact([*made.operations, Check(*record_key(recorded), absent("delivery_id"))])
    assert causeway.hub.store.get(*record_key(made.delivery_ids[0])) is None


def test_adding_recorded_deliveries_combines_the_storage_operations(causeway: Causeway) -> None:
    first, second = unrecorded_delivery(causeway, body="a body"), unrecorded_delivery(causeway)
    both = sum([first, RecordedDeliveries(), second], RecordedDeliveries())

    assert both.delivery_ids == first.delivery_ids + second.delivery_ids
    assert [put.item["part"] for put in both.operations] == ["record", "body#000", "record"]


def test_the_queue_message_contains_only_the_delivery_id(causeway: Causeway, outbox: Outbox) -> None:
    made = unrecorded_delivery(causeway, body="a body")
    outbox.dispatch(made)

    assert made.delivery_ids[0] in causeway.queued()


def test_dispatching_no_deliveries_queues_and_logs_nothing(
    outbox: Outbox, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Queue, "send_all")
    outbox.dispatch(RecordedDeliveries())

    assert lines.text == ""


@pytest.mark.parametrize("failure", FAILURES)
def test_the_sweep_queues_a_delivery_after_a_queue_failure(
    causeway: Causeway, outbox: Outbox, failure: Exception, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    def send_all(*arguments: Any) -> list[str]:
        raise failure

    made = unrecorded_delivery(causeway)
    causeway.hub.store.transact(made.operations)
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "send_all", send_all)
        outbox.dispatch(made)

    (delivery_id,) = made.delivery_ids
    assert lines.all()[-1]["delivery_ids"] == [delivery_id]
    causeway.clock.advance(SWEEP_WAITS[0])
    assert causeway.hub.delivery.call(sweep) >= 1
    assert delivery_id in causeway.queued()


def test_messages_rejected_by_the_queue_are_logged_and_not_counted(
    outbox: Outbox, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queue, "send_all", lambda queue, bodies: bodies[1:2])

    assert outbox.queue(["a", "b", "c"]) == 2
    (line,) = lines.all()
    assert line["message"] == "delivery not queued"
    assert line["delivery_ids"] == ["b"]
    assert line["error"] == "refused"


def test_a_failed_batch_does_not_stop_the_remaining_batches(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def send_all(queue: Queue, bodies: list[str]) -> list[str]:
        if "15" in bodies:
            raise FAILURES[1]
        return []

    monkeypatch.setattr(Queue, "send_all", send_all)

    assert outbox.queue([str(number) for number in range(35)]) == 25


@pytest.mark.parametrize("count", [0, 1, 10, 11, 321])
def test_each_delivery_is_queued_once_in_batches_of_ten(
    outbox: Outbox, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[str]] = []
    monkeypatch.setattr(Queue, "send_all", recording_send_all(batches))
    ids = [str(number) for number in range(count)]

    assert outbox.queue(ids) == count
    assert sorted(each for batch in batches for each in batch) == sorted(ids)
    assert len(batches) == -(-count // 10)


def test_a_delivery_due_within_15_minutes_is_queued_with_a_delay(outbox: Outbox, sent: list[tuple[str, int]]) -> None:
    outbox.queue_later("soon", 1)
    outbox.queue_later("late", 900)

    assert sent == [("soon", 1), ("late", 900)]


def test_a_delivery_due_after_15_minutes_is_not_queued(outbox: Outbox, sent: list[tuple[str, int]]) -> None:
    outbox.queue_later("later", 901)

    assert sent == []


@pytest.mark.parametrize("failure", FAILURES)
def test_a_queue_failure_for_a_delayed_message_is_logged_without_an_exception(
    outbox: Outbox, failure: Exception, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    def send(*arguments: Any) -> None:
        raise failure

    monkeypatch.setattr(Queue, "send", send)
    outbox.queue_later("soon", 5)

    assert [line["message"] for line in lines.all()] == ["delivery not queued"]
