"""Access to SQS queues."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from chalicelib.foundation.aws.calls import send_twice


class Queue:
    """An SQS queue, found by name. Messages may be delivered more than once. All calls raise AwsError."""

    BATCH = 10
    LONGEST_DELAY = 900

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def url(self) -> str:
        found: str = send_twice("sqs", "GetQueueUrl", {"QueueName": self.name})["QueueUrl"]
        return found

    def send(self, body: str, delay: int = 0) -> None:
        """Queue a message, visible after ``delay`` seconds (at most 900)."""
        send_twice("sqs", "SendMessage", {"QueueUrl": self.url, "MessageBody": body, "DelaySeconds": delay})

    def send_all(self, bodies: Sequence[str]) -> list[str]:
        """Queue up to ``BATCH`` messages in one call. Returns the messages that SQS did not accept."""
        entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
        answer = send_twice("sqs", "SendMessageBatch", {"QueueUrl": self.url, "Entries": entries})
        return [bodies[int(failed["Id"])] for failed in answer.get("Failed", ())]

    def count_messages(self) -> int:
        """Return the approximate number of visible messages."""
        name = "ApproximateNumberOfMessages"
        answer = send_twice("sqs", "GetQueueAttributes", {"QueueUrl": self.url, "AttributeNames": [name]})
        return int(answer["Attributes"][name])
