"""What runs without a caller, as Lambda calls it."""

from __future__ import annotations

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
from tests.delivery.deliveries import Receiver, fail
from tests.figures import counted
from tests.log_lines import Lines
from tests.patience import PATIENCE_SECONDS
from tests.schedules import run_schedule
from tests.world import World


def run(name: str, event: dict[str, Any], context: object = None) -> Any:
    from app import app

    return app.handler_map[name](event, context)


def deliver(*bodies: str) -> Any:
    messages = [{"MessageId": f"of {body}", "ReceiptHandle": "", "Body": body, "MD5OfBody": "0"} for body in bodies]
    return run("deliver", sqs_event(messages, "arn:aws:sqs:eu-west-1:1:deliveries", "eu-west-1"))


class Scripted:
    """A worker whose attempts are scripted, by the delivery; those that are not do nothing."""

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
def at_work(world: World, worker: Worker) -> None:
    """The functions' worker sends to the scripted receiver."""
    world.hub.delivery.__dict__["worker"] = worker


def test_a_message_is_an_attempt(world: World, receiver: Receiver, recorded: str) -> None:
    deliver(recorded)

    assert [dispatch.delivery.delivery_id for dispatch in receiver.got] == [recorded]
    assert world.delivery(recorded).state == "delivered"


def test_a_receiver_that_fails_is_no_failure_of_the_function(world: World, receiver: Receiver, recorded: str) -> None:
    receiver.failures = [fail()]
    deliver(recorded)

    assert world.delivery(recorded).attempts == 1


def test_storage_that_cannot_be_reached_leaves_the_message_to_come_again(world: World, recorded: str) -> None:
    with world.storage_gone("batch_get"), pytest.raises(StoreUnavailable):
        deliver(recorded)


def test_of_several_messages_those_come_again_whose_attempt_broke_off(world: World, lines: Lines) -> None:
    world.hub.delivery.__dict__["worker"] = scripted = Scripted(second=unreachable, fourth=unreachable)

    answer = deliver("first", "second", "third", "fourth")

    assert answer == {"batchItemFailures": [{"itemIdentifier": "of second"}, {"itemIdentifier": "of fourth"}]}
    assert sorted(scripted.made) == ["first", "third"]
    told = {(line["message"], line["delivery_id"]) for line in lines.all()}
    assert told == {("attempt aborted", "second"), ("attempt aborted", "fourth")}
    assert all("unreachable" in line["exception"] for line in lines.all())


def test_attempts_that_break_off_beside_others_are_counted(capsys: pytest.CaptureFixture[str], world: World) -> None:
    """Lambda counts those of messages that come alone as errors of the function, and of these it knows nothing."""
    world.hub.delivery.__dict__["worker"] = Scripted(second=unreachable, fourth=unreachable)
    deliver("first", "third")
    deliver("first", "second", "third", "fourth")

    assert counted(capsys.readouterr().out, "BrokenAttempts", Stage="local") == [2]


def test_several_messages_that_all_arrive_are_done_with(world: World) -> None:
    world.hub.delivery.__dict__["worker"] = Scripted()

    assert deliver("first", "second") == {"batchItemFailures": []}


def test_a_message_alone_answers_nothing_that_an_event_source_would_have_to_be_told_of(recorded: str) -> None:
    assert deliver(recorded) is None


def test_a_receiver_that_hangs_does_not_delay_the_other_messages(world: World) -> None:
    others = [str(number) for number in range(9)]
    arrived = threading.Semaphore(0)

    def hang() -> None:
        assert all(arrived.acquire(timeout=PATIENCE_SECONDS) for _ in others)

    attempts = dict.fromkeys(others, arrived.release)
    world.hub.delivery.__dict__["worker"] = scripted = Scripted(hangs=hang, **attempts)

    assert deliver("hangs", *others) == {"batchItemFailures": []}
    assert scripted.made[-1] == "hangs"
    assert sorted(scripted.made) == [*others, "hangs"]


def test_lines_of_messages_beside_each_other_name_their_own_delivery(world: World, lines: Lines) -> None:
    bound = threading.Barrier(2)

    def say() -> None:
        bound.wait(PATIENCE_SECONDS)
        log.info("attempted")

    world.hub.delivery.__dict__["worker"] = Scripted(first=say, second=say)
    deliver("first", "second")

    assert sorted(line["delivery_id"] for line in lines.all()) == ["first", "second"]


def test_the_lines_of_one_message_do_not_name_the_request_of_another(recorded: str, lines: Lines) -> None:
    deliver(recorded)
    log.info("afterwards")

    first, *_, last = lines.all()
    assert first["request_id"]
    assert "request_id" not in last


def test_a_sweep_that_finds_something_says_how_much(world: World, recorded: str, lines: Lines) -> None:
    world.clock.advance(SWEEP_WAITS[0])
    run_schedule(partial(run, "sweep"))

    (line,) = lines.all()
    assert (line["message"], line["queued"] >= 1) == ("swept", True)
    assert recorded in world.queued()


def test_a_sweep_that_finds_nothing_says_nothing(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.delivery.sweeper.sweep", lambda: 0)
    run_schedule(partial(run, "sweep"))

    assert lines.text == ""
