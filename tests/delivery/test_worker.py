"""The worker: attempts at the decided times, until the receiver has it or the last one is over."""

from __future__ import annotations

import pytest
from botocore.exceptions import EndpointConnectionError

from chalicelib.delivery import worker as module
from chalicelib.delivery.outbox import CLAIMED_SECONDS, Outbox
from chalicelib.delivery.worker import SCHEDULE, Worker
from chalicelib.foundation.store import Item
from tests.delivery.conftest import Receiver, buried, fail, record
from tests.world import World

pytestmark = pytest.mark.dynamodb

MINUTE, HOUR = 60, 3600
DECIDED = (5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR)


def stored(world: World, delivery_id: str) -> Item:
    item = world.hub.store.get("deliveries", {"delivery_id": delivery_id})
    assert item is not None
    return item


def test_a_delivery_that_arrives_is_delivered(world: World, worker: Worker, receiver: Receiver, recorded: str) -> None:
    worker.attempt(recorded)

    ((delivery),) = receiver.got
    assert (delivery.delivery_id, delivery.receiver, delivery.consent_id) == (recorded, "ALPHGB21", "a-consent")
    item = stored(world, recorded)
    assert (item["state"], item["attempts"], item["delivered_at"]) == ("delivered", 1, world.clock.time())


def test_a_message_that_comes_twice_sends_once(worker: Worker, receiver: Receiver, recorded: str) -> None:
    worker.attempt(recorded)
    worker.attempt(recorded)

    assert len(receiver.got) == 1


def test_a_message_that_comes_during_an_attempt_does_nothing(worker: Worker, receiver: Receiver, recorded: str) -> None:
    receiver.meanwhile = lambda: worker.attempt(recorded)
    worker.attempt(recorded)

    assert len(receiver.got) == 1


def test_a_message_of_an_unknown_delivery_does_nothing(worker: Worker, receiver: Receiver) -> None:
    worker.attempt("no-such-delivery")

    assert receiver.got == []


def test_the_schedule_is_the_decided_one() -> None:
    assert SCHEDULE == DECIDED


@pytest.mark.parametrize("jitter", [0.8, 1.0, 1.2])
def test_attempts_follow_the_schedule_and_the_last_failure_is_final(
    world: World,
    worker: Worker,
    receiver: Receiver,
    recorded: str,
    jitter: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module.random, "uniform", lambda low, high: jitter)
    receiver.always = fail()

    for number, delay in enumerate(DECIDED, start=1):
        worker.attempt(recorded)
        item = stored(world, recorded)
        assert (item["state"], item["attempts"]) == ("due", number)
        assert item["due_at"] == world.clock.time() + round(delay * jitter)
        world.clock.advance(round(delay * jitter) - 1)
        worker.attempt(recorded)  # too early
        assert len(receiver.got) == number
        world.clock.advance(1)
    worker.attempt(recorded)

    item = stored(world, recorded)
    assert (item["state"], item["attempts"]) == ("failed", 10)
    assert item["last_error"] == "the bank answered with status 503"
    world.clock.advance(48 * HOUR)
    worker.attempt(recorded)
    assert len(receiver.got) == 10


def test_the_jitter_is_a_fifth_in_both_directions(world: World, outbox: Outbox, worker: Worker) -> None:
    delays = set()
    receiver = Receiver(always=fail())
    for _ in range(25):
        delivery_id = record(world, outbox)
        attempts = Worker(outbox, {"revoke_token": receiver.send})
        attempts.attempt(delivery_id)
        world.clock.advance(CLAIMED_SECONDS)
        attempts.attempt(delivery_id)
        delays.add(stored(world, delivery_id)["due_at"] - world.clock.time())

    assert all(240 <= delay <= 360 for delay in delays)
    assert len(delays) > 8


def test_a_delivery_may_arrive_at_a_later_attempt(
    world: World, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [fail(), fail("no answer came in time")]
    for _ in range(3):
        worker.attempt(recorded)
        world.clock.advance(6 * MINUTE)

    item = stored(world, recorded)
    assert (item["state"], item["attempts"], item["last_error"]) == ("delivered", 3, "no answer came in time")
    assert len({delivery.request_id for delivery in receiver.got}) == 1


def test_a_failure_that_nothing_can_mend_ends_it_at_once(
    world: World, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [fail("the bank answered with status 404", final=True)]
    worker.attempt(recorded)

    item = stored(world, recorded)
    assert (item["state"], item["attempts"]) == ("failed", 1)
    assert item["last_error"] == "the bank answered with status 404"


def test_a_defect_of_ours_counts_as_an_attempt_and_is_reported_to_people(
    world: World, worker: Worker, receiver: Receiver, recorded: str, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.failures = [ZeroDivisionError("hunter2")]

    worker.attempt(recorded)

    item = stored(world, recorded)
    assert (item["state"], item["attempts"]) == ("due", 1)
    assert item["last_error"] == "a defect of this service: ZeroDivisionError"
    assert "delivery met a defect" in caplog.messages
    assert buried(world) == [recorded]
    assert recorded not in world.queued()
    world.clock.advance(CLAIMED_SECONDS)
    worker.attempt(recorded)
    assert stored(world, recorded)["state"] == "delivered"
    assert buried(world) == []


def test_a_receiver_that_fails_is_data_and_is_not_reported(
    world: World, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [fail(final=True)]

    worker.attempt(recorded)

    assert buried(world) == []


def test_a_defect_that_lasts_ends_in_a_failure(
    world: World, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Outbox, "bury", lambda *_: None)
    receiver.always = ZeroDivisionError()

    for _ in range(12):
        worker.attempt(recorded)
        world.clock.advance(48 * HOUR)

    assert (stored(world, recorded)["state"], len(receiver.got)) == ("failed", 10)


def test_a_dead_letter_queue_that_fails_does_not_keep_the_outcome_from_being_written(
    world: World, worker: Worker, receiver: Receiver, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*arguments: object, **options: object) -> None:
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    receiver.failures = [ZeroDivisionError()]
    with monkeypatch.context() as patch:
        patch.setattr("chalicelib.foundation.aws.Queue.send", send)
        worker.attempt(recorded)

    assert (stored(world, recorded)["state"], stored(world, recorded)["attempts"]) == ("due", 1)


def test_an_attempt_that_was_overtaken_leaves_the_later_outcome_alone(
    world: World, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    def overtake() -> None:
        world.clock.advance(CLAIMED_SECONDS)
        worker.attempt(recorded)

    receiver.meanwhile = overtake
    worker.attempt(recorded)

    item = stored(world, recorded)
    assert (item["state"], item["attempts"]) == ("delivered", 2)


def test_the_sweeper_queues_what_was_never_queued(world: World, worker: Worker, recorded: str) -> None:
    assert worker.sweep() >= 1
    assert recorded in world.queued()


def test_the_sweeper_queues_what_is_due_again_and_nothing_else(
    world: World, worker: Worker, receiver: Receiver, recorded: str
) -> None:
    receiver.failures = [fail()]
    worker.attempt(recorded)
    worker.sweep()
    assert recorded not in world.queued()

    world.clock.advance(MINUTE)
    worker.sweep()
    assert recorded in world.queued()
    worker.attempt(recorded)
    worker.sweep()
    assert recorded not in world.queued()


def test_the_sweeper_finds_what_a_worker_left_when_it_died(
    world: World, worker: Worker, outbox: Outbox, receiver: Receiver, recorded: str
) -> None:
    assert outbox.claim(recorded) is not None

    world.clock.advance(CLAIMED_SECONDS)
    worker.sweep()
    for delivery_id in world.queued():
        worker.attempt(delivery_id)
    assert recorded in [delivery.delivery_id for delivery in receiver.got]
    assert stored(world, recorded)["state"] == "delivered"
