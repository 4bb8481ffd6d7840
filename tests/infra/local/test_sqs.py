"""SQS in the emulator: responses, saved messages, and waiting consumers."""

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from moto import mock_aws
from moto.sqs.models import sqs_backends

from infra.local.event_runner import POLLERS
from infra.local.message_queue import MessageQueue
from infra.local.sqs import ACCOUNT, Sqs
from tests.causeway import START
from tests.kit.time import PATIENCE_SECONDS, ManualClock

URL = f"http://127.0.0.1:1/{ACCOUNT}/"
REGION = "eu-west-1"


class Saved:
    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self.sizes: list[int] = []

    def messages(self, queue: str) -> Sequence[tuple[str, str]]:
        return [(number, text) for (of, number), text in self.texts.items() if of == queue]

    def record_messages(self, changes: Sequence[tuple[str, str, str | None]]) -> None:
        self.sizes.append(len(changes))
        for queue, number, text in changes:
            if text is None:
                del self.texts[queue, number]
            else:
                self.texts[queue, number] = text


@pytest.fixture
def saved() -> Saved:
    return Saved()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def sqs(saved: Saved, clock: ManualClock) -> Iterator[Sqs]:
    with mock_aws():
        backend = sqs_backends[ACCOUNT][REGION]
        backend.create_queue("dead")
        arn = backend.queues["dead"].queue_arn
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
        backend.create_queue("work", VisibilityTimeout="180", RedrivePolicy=policy)
        yield Sqs(saved, clock.monotonic)
        for name in ("work", "dead"):
            backend.delete_queue(name)


def call(sqs: Sqs, action: str, queue: str = "work", **request: Any) -> Any:
    status, _, body = sqs.answer(f"AmazonSQS.{action}", json.dumps({"QueueUrl": URL + queue, **request}).encode())
    assert status == "200 OK", body
    return json.loads(body)


def send(sqs: Sqs, *bodies: str, **request: Any) -> None:
    for body in bodies:
        call(sqs, "SendMessage", MessageBody=body, **request)


def received(sqs: Sqs, queue: str = "work", **request: Any) -> list[Any]:
    return list(call(sqs, "ReceiveMessage", queue, **request).get("Messages", []))


def bodies(messages: Sequence[Any]) -> list[str]:
    return [message["Body"] for message in messages]


def counts(sqs: Sqs, queue: str = "work") -> tuple[str, ...]:
    answer = call(sqs, "GetQueueAttributes", queue, AttributeNames=["All"])["Attributes"]
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    return tuple(answer[name] for name in (*names, "ApproximateNumberOfMessagesDelayed"))


def test_a_message_is_received_again_only_after_the_visibility_timeout(sqs: Sqs, clock: ManualClock) -> None:
    send(sqs, "one", "two")

    assert bodies(received(sqs, MaxNumberOfMessages=10)) == ["one", "two"]
    clock.advance(179)
    assert received(sqs) == []
    clock.advance(1)
    assert bodies(received(sqs, MaxNumberOfMessages=10)) == ["one", "two"]


def test_a_deleted_message_is_not_received_again_and_can_be_deleted_twice(sqs: Sqs, clock: ManualClock) -> None:
    send(sqs, "one")
    (message,) = received(sqs)
    for _ in range(2):
        call(sqs, "DeleteMessage", ReceiptHandle=message["ReceiptHandle"])

    clock.advance(180)
    assert (received(sqs), counts(sqs)) == ([], ("0", "0", "0"))


def test_received_messages_have_the_requested_attributes(sqs: Sqs) -> None:
    own = {"kind": {"DataType": "String", "StringValue": "event"}}
    send(sqs, "one", MessageAttributes=own)
    (message,) = received(sqs, AttributeNames=["All"], MessageAttributeNames=["All"], VisibilityTimeout=0)

    assert message["MessageAttributes"] == own
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert message["Attributes"]["SentTimestamp"] == str(int(START.timestamp()) * 1000)
    assert message["MD5OfBody"] == "f97c5d29941bfb1b2fdab0874906ab82"
    assert received(sqs)[0].keys() == {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}


def test_a_message_that_is_received_too_often_is_moved_to_the_dead_letter_queue(
    sqs: Sqs, clock: ManualClock, saved: Saved
) -> None:
    send(sqs, "broken")
    for _ in range(2):
        assert bodies(received(sqs)) == ["broken"]
        clock.advance(180)

    assert (received(sqs), bodies(received(sqs, "dead"))) == ([], ["broken"])
    assert [queue for queue, _ in saved.texts] == ["dead"]


def test_a_message_older_than_the_retention_period_is_dropped(sqs: Sqs, clock: ManualClock, saved: Saved) -> None:
    send(sqs, "old")
    clock.advance(4 * 86400 + 1)

    assert (received(sqs), saved.texts) == ([], {})


def test_a_batch_sends_and_deletes_up_to_ten_messages(sqs: Sqs) -> None:
    entries = [{"Id": str(number), "MessageBody": f"body {number}", "DelaySeconds": number} for number in range(3)]
    sent = call(sqs, "SendMessageBatch", Entries=entries)
    assert [each["Id"] for each in sent["Successful"]] == ["0", "1", "2"]
    assert counts(sqs) == ("1", "0", "2")
    (message,) = received(sqs)
    assert counts(sqs) == ("0", "1", "2")
    handle = {"Id": "a", "ReceiptHandle": message["ReceiptHandle"]}
    assert call(sqs, "ChangeMessageVisibilityBatch", Entries=[{**handle, "VisibilityTimeout": 0}])["Successful"]
    assert counts(sqs) == ("1", "0", "2")
    assert call(sqs, "DeleteMessageBatch", Entries=[handle]) == {"Successful": [{"Id": "a"}], "Failed": []}
    call(sqs, "PurgeQueue")
    assert counts(sqs) == ("0", "0", "0")


REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("SendMessage", "unknown", {"MessageBody": "x"}, "QueueDoesNotExist"),
    ("SendMessage", "work", {"MessageBody": ""}, "InvalidParameterValue"),
    ("SendMessage", "work", {"MessageBody": "x", "DelaySeconds": 901}, "InvalidParameterValue"),
    ("SendMessageBatch", "work", {"Entries": []}, "InvalidParameterValue"),
    ("SendMessageBatch", "work", {"Entries": [{"Id": "a", "MessageBody": "x"}] * 2}, "InvalidParameterValue"),
    ("ReceiveMessage", "work", {"MaxNumberOfMessages": 11}, "InvalidParameterValue"),
    ("DeleteMessage", "work", {"ReceiptHandle": "none"}, "ReceiptHandleIsInvalid"),
    ("ChangeMessageVisibility", "work", {"ReceiptHandle": "gone#1"}, "InvalidParameterValue"),
    ("GetQueueAttributes", "work", {"AttributeNames": ["Colour"]}, "InvalidAttributeName"),
]


@pytest.mark.parametrize(("action", "queue", "request_", "code"), REFUSED)
def test_invalid_calls_are_refused_with_the_error_code_of_sqs(
    action: str, queue: str, request_: dict[str, Any], code: str, sqs: Sqs
) -> None:
    asked = json.dumps({"QueueUrl": URL + queue, **request_}).encode()
    status, headers, body = sqs.answer(f"AmazonSQS.{action}", asked)

    assert status == "400 Bad Request"
    assert json.loads(body)["__type"] == f"com.amazonaws.sqs#{code}"
    assert "x-amzn-query-error" in dict(headers)


def test_the_emulator_handles_sqs_calls_for_messages_and_moto_handles_sqs_calls_for_queues(sqs: Sqs) -> None:
    assert sqs.handles("AmazonSQS.SendMessage")
    assert not sqs.handles("AmazonSQS.CreateQueue")
    assert not sqs.handles("DynamoDB_20120810.SendMessage")
    assert not sqs.handles("")


def test_an_sqs_call_saves_only_the_changed_messages(sqs: Sqs, saved: Saved) -> None:
    send(sqs, *(f"body {number}" for number in range(100)))
    saved.sizes.clear()
    send(sqs, "another")
    (message,) = received(sqs)
    call(sqs, "DeleteMessage", ReceiptHandle=message["ReceiptHandle"])

    assert saved.sizes == [1, 1]
    assert len(saved.texts) == 100


def test_saved_messages_of_this_and_earlier_releases_are_restored_in_order(
    sqs: Sqs, saved: Saved, clock: ManualClock
) -> None:
    for body in ("one", "two", "three"):
        send(sqs, body)
        clock.advance(1)
    send(sqs, "delayed", DelaySeconds=60)
    received(sqs)
    saved.texts["work", "an-id"] = json.dumps({"body": "of an earlier release", "delayed_until": 0.0})

    again = Sqs(saved, clock.monotonic)
    found = bodies(received(again, MaxNumberOfMessages=10))
    assert [body for body in found if body != "of an earlier release"] == ["one", "two", "three"]
    assert len(found) == 4
    clock.advance(60)
    assert bodies(received(again)) == ["delayed"]


def test_a_queue_that_was_deleted_and_created_again_is_empty(sqs: Sqs, saved: Saved) -> None:
    send(sqs, "one")
    backend = sqs_backends[ACCOUNT][REGION]
    backend.delete_queue("work")
    backend.create_queue("work")

    assert (received(sqs), saved.texts) == ([], {})


def test_a_waiting_consumer_receives_a_sent_message(sqs: Sqs) -> None:
    found: list[Any] = []
    consumer = threading.Thread(target=lambda: found.extend(received(sqs, WaitTimeSeconds=20)))
    consumer.start()
    send(sqs, "hello")
    consumer.join(PATIENCE_SECONDS)

    assert bodies(found) == ["hello"]


def test_sixteen_consumers_receive_each_of_ten_thousand_messages_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    real = MessageQueue.take
    monkeypatch.setattr(MessageQueue, "take", lambda queue: (looks.append(1), real(queue))[1])  # type: ignore[func-returns-value]
    found: list[str] = []

    def consume(sqs: Sqs) -> None:
        while messages := received(sqs, WaitTimeSeconds=1):
            found.append(messages[0]["Body"])
            call(sqs, "DeleteMessage", ReceiptHandle=messages[0]["ReceiptHandle"])

    with mock_aws():
        backend = sqs_backends[ACCOUNT][REGION]
        backend.create_queue("work", VisibilityTimeout="3600")
        sqs = Sqs()
        for start in range(0, 10_000, 10):
            entries = [{"Id": str(number), "MessageBody": str(start + number)} for number in range(10)]
            call(sqs, "SendMessageBatch", Entries=entries)
        consumers = [threading.Thread(target=consume, args=(sqs,)) for _ in range(POLLERS)]
        for consumer in consumers:
            consumer.start()
        for consumer in consumers:
            consumer.join(PATIENCE_SECONDS)
        backend.delete_queue("work")

    assert sorted(map(int, found)) == [*range(10_000)]
    assert len(looks) <= 10_000 + 2 * POLLERS
