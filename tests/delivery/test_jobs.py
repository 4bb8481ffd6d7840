"""What runs without a caller, as Lambda calls it."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.delivery.worker import Worker
from chalicelib.foundation import log
from chalicelib.foundation.store import StoreUnavailable
from infra.local.events import schedule_event, sqs_event
from tests.conftest import Lines
from tests.delivery.conftest import Receiver, fail
from tests.world import START, World

SCHEDULED = schedule_event("sweep", START, "eu-west-1")


def run(name: str, event: dict[str, Any]) -> None:
    from app import app

    app.handler_map[name](event, None)


def deliver(*bodies: str) -> None:
    messages = [{"MessageId": body, "ReceiptHandle": body, "Body": body, "MD5OfBody": "0"} for body in bodies]
    run("deliver", sqs_event(messages, "arn:aws:sqs:eu-west-1:1:deliveries", "eu-west-1"))


@pytest.fixture(autouse=True)
def at_work(world: World, worker: Worker) -> None:
    """The functions' worker sends to the scripted receiver."""
    world.hub.__dict__["worker"] = worker


def test_a_message_is_an_attempt(world: World, receiver: Receiver, recorded: str) -> None:
    deliver(recorded)

    assert [parcel.delivery.delivery_id for parcel in receiver.got] == [recorded]
    assert world.delivery(recorded).state == "delivered"


def test_a_receiver_that_fails_is_no_failure_of_the_function(world: World, receiver: Receiver, recorded: str) -> None:
    receiver.failures = [fail()]
    deliver(recorded)

    assert world.delivery(recorded).attempts == 1


def test_storage_that_cannot_be_reached_leaves_the_message_to_come_again(world: World, recorded: str) -> None:
    with world.storage_gone("batch_get"), pytest.raises(StoreUnavailable):
        deliver(recorded)


def test_the_lines_of_one_message_do_not_name_the_request_of_another(recorded: str, lines: Lines) -> None:
    deliver(recorded)
    log.info("afterwards")

    first, *_, last = lines.all()
    assert first["request_id"]
    assert "request_id" not in last


def test_a_sweep_that_finds_something_says_how_much(world: World, recorded: str, lines: Lines) -> None:
    run("sweep", SCHEDULED)

    (line,) = lines.all()
    assert (line["message"], line["queued"] >= 1) == ("swept", True)
    assert recorded in world.queued()


def test_a_sweep_that_finds_nothing_says_nothing(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.delivery.sweeper.Sweeper.sweep", lambda sweeper: 0)
    run("sweep", SCHEDULED)

    assert lines.text == ""
