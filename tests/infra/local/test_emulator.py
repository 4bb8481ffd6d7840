"""The emulator process handles one request at a time. During a request, messages can still be sent and received."""

import json
import socket
import subprocess
import threading
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from moto import mock_aws
from moto.sqs.models import sqs_backends

from infra.local.emulator import Emulator
from infra.local.process import ChildProcess, python_command
from infra.local.sqs import ACCOUNT
from tests.kit.time import PATIENCE_SECONDS


def client(service: str, url: str) -> Any:
    return boto3.client(service, endpoint_url=url)


@pytest.fixture(scope="module")
def emulator() -> Iterator[str]:
    child = ChildProcess(python_command("infra.local.emulator"), output=subprocess.PIPE)
    yield child.first_line()
    child.stop()


def test_the_emulator_handles_requests_one_at_a_time() -> None:
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


def test_messages_are_sent_and_received_during_a_table_request() -> None:
    begun, ended = threading.Event(), threading.Event()

    def application(environ: Any, start_response: Any) -> list[bytes]:
        begun.set()
        assert ended.wait(PATIENCE_SECONDS)
        start_response("200 OK", [])
        return []

    with mock_aws():
        sqs_backends[ACCOUNT]["eu-west-1"].create_queue("emulated")
        emulator = Emulator(application)
        using = threading.Thread(target=emulator, args=({"HTTP_X_AMZ_TARGET": "DynamoDB_20120810.PutItem"}, b"{}"))
        using.start()
        assert begun.wait(PATIENCE_SECONDS)
        for action, members in (("SendMessage", {"MessageBody": "hello"}), ("ReceiveMessage", {})):
            request = json.dumps({"QueueUrl": f"http://127.0.0.1/{ACCOUNT}/emulated", **members}).encode()
            answer = emulator({"HTTP_X_AMZ_TARGET": f"AmazonSQS.{action}"}, request)
            assert answer[0] == "200 OK"
        ended.set()
        using.join(PATIENCE_SECONDS)
    assert json.loads(answer[2])["Messages"][0]["Body"] == "hello"


def test_a_long_poll_does_not_block_other_requests(emulator: str) -> None:
    sqs = client("sqs", emulator)
    url = sqs.create_queue(QueueName="waiting")["QueueUrl"]
    received: list[Any] = []
    poll = threading.Thread(target=lambda: received.append(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)))
    poll.start()
    client("sqs", emulator).send_message(QueueUrl=url, MessageBody="hello")
    poll.join(PATIENCE_SECONDS)
    assert received[0]["Messages"][0]["Body"] == "hello"


def test_a_short_poll_of_an_empty_queue_returns_immediately(emulator: str) -> None:
    sqs = client("sqs", emulator)
    url = sqs.create_queue(QueueName="empty")["QueueUrl"]
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


@pytest.mark.parametrize(
    "headers", ["Host: evil.example", "Host: localhost\r\nno colon", "Host: localhost\r\nContent-Length: -1"]
)
def test_requests_with_an_unknown_host_or_invalid_headers_return_400(emulator: str, headers: str) -> None:
    address = urlsplit(emulator)
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE_SECONDS) as opened:
        opened.sendall(f"POST / HTTP/1.1\r\n{headers}\r\n\r\n".encode())
        received = b"".join(iter(lambda: opened.recv(65536), b""))

    assert received.startswith(b"HTTP/1.1 400 ")


def test_the_emulator_publishes_a_layer_of_20_mb(emulator: str) -> None:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as layer:
        layer.writestr("python/large.so", bytes(20_000_000))

    published = client("lambda", emulator).publish_layer_version(
        LayerName="large", Content={"ZipFile": archive.getvalue()}
    )

    assert published["Version"] == 1
