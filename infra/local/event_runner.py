"""Runs queue consumers and schedules as Lambda would. ``chalice local`` does not run them.

The consumers and schedules are read from the Chalice application. A message is deleted if its handler returns. If the
handler raises an exception, the message remains in the queue. Visibility timeouts, redrive and the dead-letter queue
therefore behave as on a deployed stage.
"""

from __future__ import annotations

import logging
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from chalice.app import Chalice, ScheduledEventConfig, ScheduleExpression, SQSEventConfig
from chalice.local import LambdaContext

from infra.local import logfile

ACCOUNT = "123456789012"
POLLERS = 16
"""Number of batches that are handled in parallel for each queue."""

_WAIT_SECONDS = 20
_BACK_OFF_SECONDS = 1.0
_LARGEST_BATCH = 10
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_YEARS_AHEAD = 5
_LONGEST_WAIT = 60.0
"""Maximum number of seconds between two checks of whether a scheduled run is due. Business time may be moved between
the checks.
"""

Handler = Callable[[Any, Any], Any]
logger = logging.getLogger(__name__)


class InvalidSchedule(ValueError):
    """A schedule expression that EventBridge would reject, or that uses ``L``, ``W`` or ``#``, which the local stack
    does not support.
    """


@dataclass(frozen=True, slots=True)
class RateSchedule:
    """A schedule with a fixed interval. The first run is due one interval after the start."""

    period: timedelta

    def after(self, moment: datetime) -> datetime:
        """Return the first time after ``moment`` (UTC) at which a run is due."""
        return moment + self.period


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """A schedule that is due in every minute that matches all six fields. Weekday 1 is Sunday."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    years: frozenset[int]

    def after(self, moment: datetime) -> datetime:
        """Return the first time after ``moment`` (UTC) at which a run is due. Raises: InvalidSchedule, if no run is due
        within five years.
        """
        when = moment.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        last = when.year + _YEARS_AHEAD
        while when.year <= last:
            if not self._day_fits(when):
                when = when.replace(hour=0, minute=0) + timedelta(days=1)
            elif when.hour not in self.hours:
                when = when.replace(minute=0) + timedelta(hours=1)
            elif when.minute not in self.minutes:
                when += timedelta(minutes=1)
            else:
                return when
        raise InvalidSchedule(f"not due in the next {_YEARS_AHEAD} years")

    def _day_fits(self, when: datetime) -> bool:
        is_day = when.month in self.months and when.day in self.days and when.isoweekday() % 7 + 1 in self.weekdays
        return is_day and when.year in self.years


Schedule = RateSchedule | CronSchedule


def parse_schedule(expression: str) -> Schedule:
    """Parse a schedule expression. Raises: InvalidSchedule."""
    if match := re.fullmatch(r"rate\(([1-9][0-9]*) (minute|hour|day)(s?)\)", expression):
        number = int(match[1])
        if (number == 1) == bool(match[3]):
            raise InvalidSchedule(f"{expression}: the unit's number does not fit the value")
        return RateSchedule(timedelta(seconds=number * _UNITS[match[2]]))
    match = re.fullmatch(r"cron\((.+)\)", expression)
    fields = match[1].split() if match else []
    if len(fields) != 6:
        raise InvalidSchedule(f"{expression}: neither a rate nor a cron expression of six fields")
    if (fields[2] == "?") == (fields[4] == "?"):
        raise InvalidSchedule(f"{expression}: exactly one of day-of-month and day-of-week must be ?")
    try:
        return CronSchedule(
            _parse_field(fields[0], 0, 59),
            _parse_field(fields[1], 0, 23),
            _parse_field(fields[2], 1, 31),
            _parse_field(fields[3], 1, 12, _MONTHS),
            _parse_field(fields[4], 1, 7, _WEEKDAYS),
            _parse_field(fields[5], 1970, 2199),
        )
    except ValueError as error:
        raise InvalidSchedule(f"{expression}: {error}") from None


def _parse_field(text: str, low: int, high: int, names: tuple[str, ...] = ()) -> frozenset[int]:
    if text in ("*", "?"):
        return frozenset(range(low, high + 1))
    values: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("*" if span == "*" else span).partition("-")
        start = low if first == "*" else _parse_number(first, low, high, names)
        stop = _parse_number(last, low, high, names) if last else high if step or first == "*" else start
        if stop < start:
            raise ValueError(f"{part!r} ends before it begins")
        values.update(range(start, stop + 1, _parse_number(step, 1, high, ()) if step else 1))
    return frozenset(values)


def _parse_number(text: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text.upper() in names:
        return names.index(text.upper()) + low
    if not text.isdecimal() or not low <= int(text) <= high:
        raise ValueError(f"{text!r} is not from {low} to {high}")
    return int(text)


class EventRunner:
    """Runs an application's consumers and schedules in background threads.

    Args:
        application: the Chalice application.
        timeouts: the timeout of each deployed function in seconds, by name; ``""`` is the default.
        region: the region in the events' ARNs.
        sqs: a boto3 SQS client; by default, configured from the environment.
        now: returns the current time for rate expressions.
        business_now: returns business time for cron expressions; by default ``now``.
        is_resting: returns whether schedules are currently suspended.
    """

    def __init__(
        self,
        application: Chalice,
        *,
        timeouts: Mapping[str, int],
        region: str,
        sqs: Any = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        business_now: Callable[[], datetime] | None = None,
        is_resting: Callable[[], bool] = lambda: False,
    ) -> None:
        self._application = application
        self._timeouts = timeouts
        self._region = region
        self._sqs = sqs
        self._now = now
        self._business_now = business_now or now
        self._is_resting = is_resting
        self._stopped = threading.Event()
        self._idle = threading.Condition()
        self._busy = 0

    @property
    def consumers(self) -> list[SQSEventConfig]:
        return [source for source in self._application.event_sources if isinstance(source, SQSEventConfig)]

    @property
    def schedules(self) -> list[ScheduledEventConfig]:
        return [source for source in self._application.event_sources if isinstance(source, ScheduledEventConfig)]

    def start(self) -> None:
        """Start all threads. Raises: InvalidSchedule; ClientError, if a queue does not exist."""
        due = [(source, parse_schedule(schedule_expression(source))) for source in self.schedules]
        # a read timeout that exceeds a long poll
        config = Config(connect_timeout=2, read_timeout=_WAIT_SECONDS + 10, max_pool_connections=32)
        self._sqs = self._sqs or boto3.client("sqs", config=config)
        urls = [
            (source, self._sqs.get_queue_url(QueueName=queue_name(source))["QueueUrl"]) for source in self.consumers
        ]
        for source, url in urls:
            for number in range(POLLERS):
                self._start_thread(f"{source.name}-{number}", self._consume, source, url)
        for schedule, when in due:
            self._start_thread(schedule.name, self._keep_schedule, schedule, when)

    def stop(self, timeout: float = 3.0) -> None:
        """Stop receiving messages, and wait up to ``timeout`` seconds for running functions to finish."""
        self._stopped.set()
        with self._idle:
            self._idle.wait_for(lambda: not self._busy, timeout)

    def consume_once(self, source: SQSEventConfig, url: str, wait: int = 0) -> int:
        """Receive one batch from a queue and pass the batch to its handler. Returns the number of deleted messages."""
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
        """Run a scheduled function now. Returns whether it succeeded."""
        return self._invoke(source.name, schedule_event(source.name, self._business_now(), self._region))

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

    def _keep_schedule(self, source: ScheduledEventConfig, schedule: Schedule) -> None:
        now = self._business_now if isinstance(schedule, CronSchedule) else self._now
        due = schedule.after(now())
        while not self._stopped.wait(min(max(0.0, (due - now()).total_seconds()), _LONGEST_WAIT)):
            if now() >= due:
                if not self._is_resting():
                    self.run_schedule(source)
                due = schedule.after(max(due, now()) if isinstance(schedule, CronSchedule) else due)

    def _start_thread(self, name: str, work: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=work, args=arguments, name=name, daemon=True).start()


def queue_name(source: SQSEventConfig) -> str:
    """Return the name of the queue of a consumer, which may be registered with the queue's name or ARN."""
    return source.queue or str(source.queue_arn).rpartition(":")[2]


def schedule_expression(source: ScheduledEventConfig) -> str:
    """Return the expression of a schedule as text."""
    given = source.schedule_expression
    return str(given.to_string()) if isinstance(given, ScheduleExpression) else str(given)


def sqs_event(messages: list[Any], arn: str, region: str) -> dict[str, Any]:
    """Return the Lambda event for a batch of SQS messages."""
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
    """Return the event that EventBridge sends for a schedule."""
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
