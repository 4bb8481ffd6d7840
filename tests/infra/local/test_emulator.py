"""The emulator's process: one request at a time, long polls that block nobody."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from infra.local.emulator import Emulator
from infra.local.process import ChildProcess, python_command


def client(service: str, url: str) -> Any:
    return boto3.client(service, endpoint_url=url)


@pytest.fixture(scope="module")
def emulator() -> Iterator[str]:
    child = ChildProcess(python_command("infra.local.emulator"), output=subprocess.PIPE)
    yield child.first_line()
    child.stop()


def test_requests_are_carried_out_one_at_a_time() -> None:
    inside: list[int] = []
    most: list[int] = []

    def application(environ: Any, start_response: Any) -> list[bytes]:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.002)
        inside.pop()
        start_response("200 OK", [])
        return [environ["wsgi.input"].read()]

    serial = Emulator(application)
    threads = [threading.Thread(target=serial, args=({}, b"x")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8


def test_a_long_poll_ends_as_soon_as_a_message_is_sent() -> None:
    queue: list[str] = []

    def application(environ: Any, start_response: Any) -> list[bytes]:
        request = json.loads(environ["wsgi.input"].read())
        start_response("200 OK", [])
        if environ["HTTP_X_AMZ_TARGET"] == "AmazonSQS.SendMessage":
            queue.append("sent")
            return [b"{}"]
        assert request["WaitTimeSeconds"] == 0
        return [json.dumps({"Messages": queue}).encode()]

    serial = Emulator(application)
    answers: list[Any] = []
    receive = {"HTTP_X_AMZ_TARGET": "AmazonSQS.ReceiveMessage"}
    poll = threading.Thread(target=lambda: answers.append(serial(receive, b'{"WaitTimeSeconds": 20}')))
    poll.start()
    serial({"HTTP_X_AMZ_TARGET": "AmazonSQS.SendMessage"}, b"{}")
    poll.join(5)
    assert json.loads(answers[0][2]) == {"Messages": ["sent"]}


def test_a_waiting_receiver_keeps_nobody_from_working(emulator: str) -> None:
    sqs = client("sqs", emulator)
    url = sqs.create_queue(QueueName="waiting")["QueueUrl"]
    received: list[Any] = []
    poll = threading.Thread(target=lambda: received.append(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)))
    poll.start()
    client("sqs", emulator).send_message(QueueUrl=url, MessageBody="hello")
    poll.join(5)
    assert received[0]["Messages"][0]["Body"] == "hello"


def test_a_short_poll_of_an_empty_queue_returns_at_once(emulator: str) -> None:
    sqs = client("sqs", emulator)
    url = sqs.create_queue(QueueName="empty")["QueueUrl"]
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


class Asked:
    """An application without messages that counts how often it is asked for some."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, environ: Any, start_response: Any) -> list[bytes]:
        self.times += 1
        start_response("200 OK", [])
        return [b"{}"]


@pytest.mark.parametrize(
    ("until_message", "times"), [([], 1), ([0.05], 2), ([0.05, 0.05, 0.05], 4), ([5.0], 1)], ids=str
)
def test_a_waiting_receiver_asks_again_only_when_a_message_can_be_there(until_message: list[float], times: int) -> None:
    asked, left = Asked(), iter(until_message)
    begun = time.monotonic()
    answer = Emulator(asked, None, lambda: next(left, float("inf")))(
        {"HTTP_X_AMZ_TARGET": "AmazonSQS.ReceiveMessage"}, b'{"WaitTimeSeconds": 0.3}'
    )

    assert (answer[2], asked.times) == (b"{}", times)
    assert time.monotonic() - begun >= 0.3


def test_a_delayed_message_is_received_when_it_becomes_visible_and_a_sent_one_within_50_ms(emulator: str) -> None:
    sqs = client("sqs", emulator)
    url = sqs.create_queue(QueueName="delayed")["QueueUrl"]
    took: list[float] = []

    def receive() -> None:
        (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"]
        took.append(time.time() - float(message["Body"]))

    for delay in (0, 1):
        poll = threading.Thread(target=receive)
        poll.start()
        time.sleep(0.3)
        client("sqs", emulator).send_message(QueueUrl=url, MessageBody=str(time.time()), DelaySeconds=delay)
        poll.join(10)

    assert 0 < took[0] < 0.05
    assert 1 <= took[1] < 1.1
