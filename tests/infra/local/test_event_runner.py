"""Queue consumers and schedules run under the same rules as on Lambda."""

import logging
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from chalice.app import Blueprint, Chalice, Cron, Rate, SQSEvent

from infra.deploy.functions import FUNCTIONS
from infra.local.event_runner import EventRunner, InvalidSchedule, parse_schedule, queue_name, schedule_expression
from tests.kit.time import PATIENCE_SECONDS

MONDAY = datetime(2026, 3, 2, 9, 30, 15, tzinfo=UTC)
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Sqs:
    def __init__(self, *bodies: str) -> None:
        self.waiting = [
            {"MessageId": f"id-{body}", "ReceiptHandle": f"handle-{body}", "Body": body, "MD5OfBody": "0"}
            for body in bodies
        ]
        self.deleted: list[str] = []
        self.asked: list[dict[str, Any]] = []

    def get_queue_url(self, QueueName: str) -> dict[str, str]:  # noqa: N803 - boto3's names
        return {"QueueUrl": f"https://queue/{QueueName}"}

    def receive_message(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        taken = self.waiting[: request["MaxNumberOfMessages"]]
        del self.waiting[: len(taken)]
        return {"Messages": taken} if taken else {}

    def delete_message(self, QueueUrl: str, ReceiptHandle: str) -> None:  # noqa: N803
        self.deleted.append(ReceiptHandle)


@pytest.fixture
def seen() -> list[Any]:
    return []


@pytest.fixture
def application(seen: list[Any]) -> Chalice:
    app = Chalice("test", configure_logs=False, env={})
    jobs = Blueprint("jobs")

    @jobs.on_sqs_message(queue="orders", batch_size=2, name="consume")
    def consume(event: SQSEvent) -> None:
        for record in event:
            seen.append(record.body)
            if record.body == "bad":
                raise ValueError("bad message")

    @jobs.schedule(Rate(1, unit=Rate.MINUTES), name="tick")
    def tick(event: Any) -> None:
        seen.append(event.to_dict())

    app.register_blueprint(jobs)
    return app


def runner(application: Chalice, sqs: Any = None, **options: Any) -> EventRunner:
    return EventRunner(application, timeouts={"consume": 30}, region="eu-west-1", sqs=sqs, now=lambda: NOW, **options)


def test_a_consumer_deletes_a_message_after_the_handler_returns(application: Chalice, seen: list[Any]) -> None:
    sqs = Sqs("a", "b", "c")
    consumer = runner(application, sqs)

    assert consumer.consume_once(consumer.consumers[0], "url") == 2
    assert seen == ["a", "b"]
    assert sqs.deleted == ["handle-a", "handle-b"]


def test_a_failed_handler_leaves_the_batch_in_the_queue(application: Chalice, caplog: pytest.LogCaptureFixture) -> None:
    sqs = Sqs("a", "bad")
    consumer = runner(application, sqs)

    with caplog.at_level(logging.ERROR):
        assert consumer.consume_once(consumer.consumers[0], "url") == 0
    assert sqs.deleted == []
    assert "the function consume failed" in caplog.text


def test_a_handler_receives_the_event_and_context_of_lambda(application: Chalice) -> None:
    got: list[Any] = []
    application.handler_map["consume"] = lambda event, context: got.extend([event, context])
    consumer = runner(application, Sqs("a"))

    consumer.consume_once(consumer.consumers[0], "url")
    record = got[0]["Records"][0]
    assert record["body"] == "a"
    assert record["receiptHandle"] == "handle-a"
    assert record["eventSource"] == "aws:sqs"
    assert record["eventSourceARN"].endswith(":orders")
    assert got[1].function_name == "consume"
    assert 0 < got[1].get_remaining_time_in_millis() <= 30_000


def test_a_schedule_receives_the_event_of_eventbridge(application: Chalice, seen: list[Any]) -> None:
    consumer = runner(application)

    assert consumer.run_schedule(consumer.schedules[0])
    assert seen[0]["source"] == "aws.events"
    assert seen[0]["time"] == "2026-03-02T09:00:00Z"


def test_consumers_run_until_stopped(application: Chalice, seen: list[Any]) -> None:
    came = threading.Event()
    application.handler_map["consume"] = lambda event, context: came.set()

    class Slow(Sqs):
        def receive_message(self, **request: Any) -> dict[str, Any]:
            time.sleep(0.01)
            return super().receive_message(**request)

    consumer = runner(application, Slow("a"))
    consumer.start()
    assert came.wait(PATIENCE_SECONDS)
    consumer.stop()
    assert seen == []


def test_a_schedule_runs_at_its_due_time(application: Chalice) -> None:
    times = iter([NOW, NOW + timedelta(seconds=60)])
    ran = threading.Event()
    application.handler_map["tick"] = lambda event, context: ran.set()
    application.event_sources = [source for source in application.event_sources if source.name == "tick"]
    clock = EventRunner(
        application, timeouts={}, region="eu-west-1", sqs=Sqs(), now=lambda: next(times, NOW + timedelta(seconds=60))
    )

    clock.start()
    assert ran.wait(PATIENCE_SECONDS)
    clock.stop()


def test_a_schedule_pauses_while_the_clock_is_moved(application: Chalice) -> None:
    times, ran, asked = iter([NOW]), list[datetime](), threading.Event()
    application.handler_map["tick"] = lambda event, context: ran.append(NOW)
    application.event_sources = [source for source in application.event_sources if source.name == "tick"]

    def is_resting() -> bool:
        asked.set()
        return True

    runs = EventRunner(
        application,
        timeouts={},
        region="eu-west-1",
        sqs=Sqs(),
        now=lambda: next(times, NOW + timedelta(seconds=60)),
        is_resting=is_resting,
    )

    runs.start()
    assert asked.wait(PATIENCE_SECONDS)
    runs.stop()
    assert ran == []


def test_a_cron_schedule_uses_business_time() -> None:
    app, ran = Chalice("test", configure_logs=False, env={}), threading.Event()
    app.schedule(Cron(10, 1, "*", "*", "?", "*"), name="nightly")(lambda event: ran.set())
    business = iter([NOW])
    runs = EventRunner(
        app,
        timeouts={},
        region="eu-west-1",
        sqs=Sqs(),
        now=lambda: NOW,
        business_now=lambda: next(business, NOW + timedelta(days=1)),
    )

    runs.start()
    assert ran.wait(PATIENCE_SECONDS)
    runs.stop()


def test_queues_and_schedules_are_found_in_every_form_of_registration() -> None:
    app = Chalice("test", configure_logs=False, env={})
    app.on_sqs_message(queue_arn="arn:aws:sqs:eu-west-1:1:by-arn", name="one")(lambda event: None)
    app.schedule("rate(2 hours)", name="two")(lambda event: None)
    app.schedule(Cron(0, 6, "*", "*", "?", "*"), name="three")(lambda event: None)
    found = runner(app)

    assert [queue_name(source) for source in found.consumers] == ["by-arn"]
    assert [schedule_expression(source) for source in found.schedules] == ["rate(2 hours)", "cron(0 6 * * ? *)"]


def test_the_consumers_and_schedules_of_the_application_are_found() -> None:
    from app import app

    found = runner(app)
    assert [source.name for source in found.consumers] == ["deliver"]
    assert {source.name for source in found.schedules} == {each.name for each in FUNCTIONS if each.is_scheduled}


# -- when schedules are due


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [("rate(1 minute)", 60), ("rate(5 minutes)", 300), ("rate(2 hours)", 7200), ("rate(1 day)", 86400)],
)
def test_a_rate_schedule_first_runs_one_period_after_the_start(expression: str, seconds: int) -> None:
    assert parse_schedule(expression).after(MONDAY) == MONDAY + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("cron(* * * * ? *)", datetime(2026, 3, 2, 9, 31, tzinfo=UTC)),
        ("cron(0 6 * * ? *)", datetime(2026, 3, 3, 6, 0, tzinfo=UTC)),
        ("cron(*/20 * * * ? *)", datetime(2026, 3, 2, 9, 40, tzinfo=UTC)),
        ("cron(5/30 9-10 * * ? *)", datetime(2026, 3, 2, 9, 35, tzinfo=UTC)),
        ("cron(0,45 9 ? * TUE-FRI *)", datetime(2026, 3, 3, 9, 0, tzinfo=UTC)),
        ("cron(0 0 1 JAN,JUL ? *)", datetime(2026, 7, 1, 0, 0, tzinfo=UTC)),
        ("cron(0 12 ? * 1 *)", datetime(2026, 3, 8, 12, 0, tzinfo=UTC)),
        ("cron(0 0 29 2 ? *)", datetime(2028, 2, 29, 0, 0, tzinfo=UTC)),
        ("cron(0 0 1 1 ? 2027-2028)", datetime(2027, 1, 1, 0, 0, tzinfo=UTC)),
    ],
)
def test_a_cron_schedule_runs_when_all_fields_of_the_expression_match(expression: str, due: datetime) -> None:
    assert parse_schedule(expression).after(MONDAY) == due


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "every minute",
        "rate(0 minutes)",
        "rate(1 minutes)",
        "rate(5 minute)",
        "cron(* * * * *)",
        "cron(* * * * * *)",
        "cron(60 * * * ? *)",
        "cron(0 0 L * ? *)",
        "cron(0 0 ? * 2#1 *)",
        "cron(0 10-8 * * ? *)",
    ],
)
def test_expressions_invalid_for_eventbridge_are_refused(expression: str) -> None:
    with pytest.raises(InvalidSchedule):
        parse_schedule(expression)


def test_a_cron_expression_that_never_matches_is_rejected() -> None:
    with pytest.raises(InvalidSchedule, match="not due"):
        parse_schedule("cron(0 0 30 2 ? *)").after(MONDAY)
