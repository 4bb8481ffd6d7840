"""What ``chalice local`` leaves out: queue consumers and schedules, run as Lambda would run them.

They are discovered on the Chalice application. A message is deleted when its handler returns and left in the queue when
it raises, so that visibility, redrive and the dead-letter queue behave as deployed.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from chalice.app import Chalice, ScheduledEventConfig, ScheduleExpression, SQSEventConfig
from chalice.local import LambdaContext

from infra.local import logfile, schedules

ACCOUNT = "123456789012"
POLLERS = 16
"""How many batches of one queue are worked on at a time."""

_WAIT_SECONDS = 20
_BACK_OFF_SECONDS = 1.0
_LARGEST_BATCH = 10

Handler = Callable[[Any, Any], Any]
logger = logging.getLogger(__name__)


class EventRunner:
    """Runs every consumer and schedule of an application in threads of its own.

    Args:
        application: the Chalice application.
        timeouts: how long each function may take when deployed, in seconds, by name; ``""`` for all others.
        region: for the events' ARNs.
        sqs: a boto3 SQS client; made from the environment when left out.
        now: the time, for schedules.
    """

    def __init__(
        self,
        application: Chalice,
        *,
        timeouts: Mapping[str, int],
        region: str,
        sqs: Any = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._application = application
        self._timeouts = timeouts
        self._region = region
        self._sqs = sqs
        self._now = now
        self._stopped = threading.Event()
        self._idle = threading.Condition()
        self._busy = 0

    @property
    def consumers(self) -> list[SQSEventConfig]:
        return [source for source in self._application.event_sources if isinstance(source, SQSEventConfig)]

    @property
    def scheduled(self) -> list[ScheduledEventConfig]:
        return [source for source in self._application.event_sources if isinstance(source, ScheduledEventConfig)]

    def start(self) -> None:
        """Start all threads. Raises: InvalidSchedule, or ClientError when a queue does not exist."""
        due = [(source, schedules.parse(expression(source))) for source in self.scheduled]
        self._sqs = self._sqs or _sqs_client()
        urls = [
            (source, self._sqs.get_queue_url(QueueName=queue_name(source))["QueueUrl"]) for source in self.consumers
        ]
        for source, url in urls:
            for number in range(POLLERS):
                self._begin(f"{source.name}-{number}", self._consume, source, url)
        for schedule, when in due:
            self._begin(schedule.name, self._keep_schedule, schedule, when)

    def stop(self, timeout: float = 3.0) -> None:
        """Take no further messages, and give the functions that run now ``timeout`` seconds to finish."""
        self._stopped.set()
        with self._idle:
            self._idle.wait_for(lambda: not self._busy, timeout)

    def consume_once(self, source: SQSEventConfig, url: str, wait: int = 0) -> int:
        """Receive one batch and hand it to its handler; answers how many messages were deleted."""
        answer = self._sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=min(source.batch_size, _LARGEST_BATCH),
            WaitTimeSeconds=wait,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages = answer.get("Messages", [])
        if not messages or self._stopped.is_set():
            return 0
        event = sqs_event(messages, f"arn:aws:sqs:{self._region}:{ACCOUNT}:{queue_name(source)}", self._region)
        if not self._invoke(source.name, event):
            return 0
        for message in messages:
            self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return len(messages)

    def run_schedule(self, source: ScheduledEventConfig) -> bool:
        """Run one scheduled function now; answers whether it returned."""
        return self._invoke(source.name, schedule_event(source.name, self._now(), self._region))

    def _invoke(self, name: str, event: Any) -> bool:
        timeout = self._timeouts.get(name, self._timeouts.get("", 60))
        context = LambdaContext(function_name=name, memory_size=512, max_runtime_ms=timeout * 1000)
        handler: Handler = self._application.handler_map[name]
        with self._count_as_running(), logfile.log_as(name):
            try:
                handler(event, context)
            except Exception:
                logger.exception("the function %s failed", name)
                return False
        return True

    @contextmanager
    def _count_as_running(self) -> Iterator[None]:
        with self._idle:
            self._busy += 1
        try:
            yield
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def _consume(self, source: SQSEventConfig, url: str) -> None:
        while not self._stopped.is_set():
            try:
                self.consume_once(source, url, _WAIT_SECONDS)
            except (BotoCoreError, ClientError) as error:
                if not self._stopped.wait(_BACK_OFF_SECONDS):
                    logger.warning("the queue of %s cannot be read: %s", source.name, type(error).__name__)

    def _keep_schedule(self, source: ScheduledEventConfig, schedule: schedules.Schedule) -> None:
        due = schedule.after(self._now())
        while not self._stopped.wait(max(0.0, (due - self._now()).total_seconds())):
            self.run_schedule(source)
            due = schedule.after(max(due, self._now()) if isinstance(schedule, schedules.CronSchedule) else due)

    def _begin(self, name: str, work: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=work, args=arguments, name=name, daemon=True).start()


def queue_name(source: SQSEventConfig) -> str:
    """The name of a consumer's queue, whether it was registered by name or by ARN."""
    return source.queue or str(source.queue_arn).rpartition(":")[2]


def expression(source: ScheduledEventConfig) -> str:
    """A schedule's expression as text."""
    given = source.schedule_expression
    return str(given.to_string()) if isinstance(given, ScheduleExpression) else str(given)


def sqs_event(messages: list[Any], arn: str, region: str) -> dict[str, Any]:
    """The event that Lambda makes of a batch of messages."""
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message.get("Attributes", {}),
                "messageAttributes": {
                    name: {f"{key[0].lower()}{key[1:]}": part for key, part in value.items()}
                    for name, value in message.get("MessageAttributes", {}).items()
                },
                "md5OfBody": message.get("MD5OfBody", ""),
                "eventSource": "aws:sqs",
                "eventSourceARN": arn,
                "awsRegion": region,
            }
            for message in messages
        ]
    }


def schedule_event(name: str, moment: datetime, region: str) -> dict[str, Any]:
    """The event that EventBridge sends for a schedule."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [f"arn:aws:events:{region}:{ACCOUNT}:rule/{name}"],
        "detail": {},
    }


def _sqs_client() -> Any:
    """A client whose reads outlast a long poll, with a connection for every poller."""
    return boto3.client(
        "sqs", config=Config(connect_timeout=2, read_timeout=_WAIT_SECONDS + 10, max_pool_connections=32)
    )
