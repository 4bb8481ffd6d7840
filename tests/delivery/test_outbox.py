"""The outbox: what is recorded is recorded with its cause, and queued at least once."""

from __future__ import annotations

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
from tests.delivery.deliveries import intended, noting, record
from tests.log_lines import Lines
from tests.world import World

pytestmark = pytest.mark.dynamodb

FAILURES = [
    ErrorResponse("SendMessageBatch", "AWS.SimpleQueueService.NonExistentQueue"),
    NotSent("no connection could be made"),
]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The messages sent one by one, with their delays; nothing is really sent."""
    messages: list[tuple[str, int]] = []
    monkeypatch.setattr(Queue, "send", lambda queue, body, delay=0: messages.append((body, delay)))
    return messages


def test_a_delivery_knows_what_it_was_recorded_for(world: World) -> None:
    log.bind(request_id="the-cause")
    recorded = record(world, "relay", request_id="a-request", receiver="bank#BIC", bic="BIC", consent_id=None)
    log.clear()

    delivery = world.delivery(recorded)
    assert (delivery.kind, delivery.topic, delivery.receiver, delivery.bic) == ("relay", "a.topic", "bank#BIC", "BIC")
    assert delivery.request_id == "a-request"
    assert delivery.cause_id == "the-cause"
    assert delivery.consent_id is None


def test_a_delivery_that_is_not_given_an_id_has_one_that_its_receiver_understands(world: World) -> None:
    told = [world.delivery(record(world, receiver=receiver)) for receiver in ("bank#ALPHGB21", "client#one")]

    assert [is_uuid(delivery.request_id) for delivery in told] == [True, False]
    assert told[1].request_id == told[1].delivery_id


def test_a_delivery_is_recorded_with_its_cause_or_not_at_all(world: World, recorded: str) -> None:
    made = intended(world, body="a body")

    with pytest.raises(ConditionFailed):
        world.hub.store.transact([*made.operations, Check(*record_key(recorded), absent("delivery_id"))])
    assert world.hub.store.get(*record_key(made.delivery_ids[0])) is None


def test_recorded_deliveries_add_up(world: World) -> None:
    first, second = intended(world, body="a body"), intended(world)
    both = sum([first, RecordedDeliveries(), second], RecordedDeliveries())

    assert both.delivery_ids == first.delivery_ids + second.delivery_ids
    assert [put.item["part"] for put in both.operations] == ["record", "body#000", "record"]


def test_the_message_carries_the_id_and_nothing_else(world: World, outbox: Outbox) -> None:
    made = intended(world, body="a body")
    outbox.dispatch(made)

    assert made.delivery_ids[0] in world.queued()


def test_nothing_recorded_is_nothing_queued_or_logged(
    outbox: Outbox, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Queue, "send_all")
    outbox.dispatch(RecordedDeliveries())

    assert lines.text == ""


@pytest.mark.parametrize("failure", FAILURES)
def test_a_queue_that_fails_loses_nothing(
    world: World, outbox: Outbox, failure: Exception, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    def send_all(*arguments: Any) -> list[str]:
        raise failure

    made = intended(world)
    world.hub.store.transact(made.operations)
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "send_all", send_all)
        outbox.dispatch(made)

    (delivery_id,) = made.delivery_ids
    assert lines.all()[-1]["delivery_ids"] == [delivery_id]
    world.clock.advance(SWEEP_WAITS[0])
    assert world.hub.delivery.call(sweep) >= 1
    assert delivery_id in world.queued()


def test_messages_that_a_queue_refuses_are_not_counted_and_named(
    outbox: Outbox, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queue, "send_all", lambda queue, bodies: bodies[1:2])

    assert outbox.queue(["a", "b", "c"]) == 2
    (line,) = lines.all()
    assert line["message"] == "delivery not queued"
    assert line["delivery_ids"] == ["b"]
    assert line["error"] == "refused"


def test_a_batch_that_fails_keeps_no_other_from_being_sent(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def send_all(queue: Queue, bodies: list[str]) -> list[str]:
        if "15" in bodies:
            raise FAILURES[1]
        return []

    monkeypatch.setattr(Queue, "send_all", send_all)

    assert outbox.queue([str(number) for number in range(35)]) == 25


@pytest.mark.parametrize("count", [0, 1, 10, 11, 321])
def test_deliveries_are_queued_once_each_ten_in_a_message_batch(
    outbox: Outbox, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[str]] = []
    monkeypatch.setattr(Queue, "send_all", noting(batches))
    ids = [str(number) for number in range(count)]

    assert outbox.queue(ids) == count
    assert sorted(each for batch in batches for each in batch) == sorted(ids)
    assert len(batches) == -(-count // 10)


def test_what_is_due_within_a_quarter_of_an_hour_waits_in_the_queue(
    outbox: Outbox, sent: list[tuple[str, int]]
) -> None:
    outbox.queue_later("soon", 1)
    outbox.queue_later("late", 900)

    assert sent == [("soon", 1), ("late", 900)]


def test_what_is_due_later_waits_in_dynamodb(outbox: Outbox, sent: list[tuple[str, int]]) -> None:
    outbox.queue_later("later", 901)

    assert sent == []


@pytest.mark.parametrize("failure", FAILURES)
def test_a_queue_that_takes_no_later_message_is_no_failure(
    outbox: Outbox, failure: Exception, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    def send(*arguments: Any) -> None:
        raise failure

    monkeypatch.setattr(Queue, "send", send)
    outbox.queue_later("soon", 5)

    assert [line["message"] for line in lines.all()] == ["delivery not queued"]
