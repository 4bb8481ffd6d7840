"""Queues are addressed by name. One call sends at most ten messages."""

import boto3
import pytest

from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.aws.errors import ErrorResponse
from chalicelib.foundation.aws.queues import Queue
from tests.volume.round_trips import RoundTrips

pytestmark = pytest.mark.usefixtures("resources")


def test_a_message_is_sent_to_the_named_sqs_queue() -> None:
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="test-queue")["QueueUrl"]
    queue = Queue("test-queue")

    queue.send("one")
    queue.send("two")
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert sorted(message["Body"] for message in messages) == ["one", "two"]


def test_a_queue_message_can_be_sent_with_a_delay() -> None:
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="test-slow-queue")["QueueUrl"]
    Queue("test-slow-queue").send("later", delay=900)

    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    assert attributes["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}


def test_ten_messages_are_sent_in_one_call() -> None:
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="test-batch-queue")["QueueUrl"]
    queue = Queue("test-batch-queue")
    bodies = [str(number) for number in range(Queue.BATCH)]

    with RoundTrips().counted() as trips:
        queue.count_messages()
        found = trips.made
        assert queue.send_all(bodies) == []
    assert trips.made == found + 1
    assert queue.count_messages() == 10
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert sorted(message["Body"] for message in messages) == bodies


def test_failed_messages_of_a_batch_are_returned() -> None:
    def take_the_first(call: Call, proceed: Proceed) -> Members:
        return {"QueueUrl": ""} | {"Failed": [{"Id": "2"}, {"Id": "1"}]}

    with observe(take_the_first):
        assert Queue("any").send_all(["a", "b", "c"]) == ["c", "b"]


def test_delayed_messages_are_not_counted_as_waiting() -> None:
    boto3.client("sqs").create_queue(QueueName="test-waiting-queue")
    queue = Queue("test-waiting-queue")
    queue.send("now")
    queue.send("later", delay=900)

    assert queue.count_messages() == 1


def test_sending_to_a_missing_queue_raises_an_error_response() -> None:
    for call in (lambda: Queue("no-such-queue").send("one"), lambda: Queue("no-such-queue").count_messages()):
        with pytest.raises(ErrorResponse, match="NonExistentQueue"):
            call()
