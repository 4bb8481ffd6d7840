"""Tests of tasks: work that a request delegates to a worker in an encrypted queue message, without a stored record."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.delivery.tasks import Tasks
from chalicelib.delivery.worker import Worker
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.crypto.keyring import Unsealable
from tests.causeway import Causeway
from tests.kit.logs import Lines


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def tasks(causeway: Causeway, done: list[str]) -> Tasks:
    causeway.queued()
    handlers: dict[str, Callable[[str], Any]] = {"note": done.append, "other": done.append}
    return Tasks(causeway.hub.vault, causeway.hub.delivery.queue, lambda: handlers)


def test_a_task_is_executed_with_the_decrypted_details(causeway: Causeway, tasks: Tasks, done: list[str]) -> None:
    tasks.send("note", "a secret ä")
    [message] = causeway.queued()

    assert "secret" not in message
    assert tasks.carry_out(message)
    assert done == ["a secret ä"]


def test_a_delivery_id_is_not_executed_as_a_task(tasks: Tasks, done: list[str]) -> None:
    assert not tasks.carry_out("3f0c9d8e7a6b5c4d3e2f1a")
    assert done == []


def test_a_task_is_logged_with_the_request_id_of_its_cause(causeway: Causeway, tasks: Tasks, lines: Lines) -> None:
    log.bind(request_id="a-request")
    tasks.send("note", "")
    log.clear()
    [message] = causeway.queued()

    tasks.carry_out(message)
    log.info("carried out")

    assert lines.all()[-1]["request_id"] == "a-request"


def test_the_details_of_a_task_cannot_be_decrypted_for_another_kind(causeway: Causeway, tasks: Tasks) -> None:
    tasks.send("note", "details")
    [message] = causeway.queued()

    with pytest.raises(Unsealable):
        tasks.carry_out(jsontext.dumps({**jsontext.loads(message), "task": "other"}))


def _fail(details: str) -> None:
    raise ZeroDivisionError


def test_a_failing_task_fails_the_attempt_so_that_sqs_retries_the_message(causeway: Causeway) -> None:
    tasks = Tasks(causeway.hub.vault, causeway.hub.delivery.queue, lambda: {"note": _fail})
    worker = causeway.hub.delivery.make(Worker, tasks=tasks)
    causeway.queued()
    tasks.send("note", "")
    [message] = causeway.queued()

    with pytest.raises(ZeroDivisionError):
        worker.attempt(message)
