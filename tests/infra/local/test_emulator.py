"""The emulator's process: one request at a time, long polls that block nobody, state that comes back."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
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


def test_key_material_and_secrets_survive_a_restart(tmp_path: Path) -> None:
    command = python_command("infra.local.emulator", "--state", str(tmp_path / "state.json"))

    first = ChildProcess(command, output=subprocess.PIPE)
    url = first.first_line()
    key = client("kms", url).create_key(Description="the key")["KeyMetadata"]["KeyId"]
    sealed = client("kms", url).encrypt(KeyId=key, Plaintext=b"kept")["CiphertextBlob"]
    secrets = client("secretsmanager", url)
    secrets.create_secret(Name="full")
    secrets.create_secret(Name="empty")
    secrets.put_secret_value(SecretId="full", SecretString="old")
    secrets.put_secret_value(SecretId="full", SecretString="new")
    first.stop()

    assert (tmp_path / "state.json").stat().st_mode & 0o077 == 0
    second = ChildProcess(command, output=subprocess.PIPE)
    url = second.first_line()
    assert client("kms", url).create_key(Description="the key")["KeyMetadata"]["KeyId"] == key
    assert client("kms", url).decrypt(CiphertextBlob=sealed)["Plaintext"] == b"kept"
    assert client("secretsmanager", url).get_secret_value(SecretId="full")["SecretString"] == "new"
    second.stop()
