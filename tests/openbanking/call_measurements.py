"""The call measurements of the service, read from its stored counters."""

from collections.abc import Callable

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import Reply
from chalicelib.statistics.call_counts import HourlyCounters
from chalicelib.statistics.hourly_counters import sum_by_service
from infra.local.event_runner import sqs_event
from tests.causeway import Causeway
from tests.openbanking.faults import items, table_of

Counts = dict[str, dict[str, int]]
"""The counts above zero, by bank and service: ``{"ALPHGB21 AISP": {"calls": 1}}``."""
BIC = {1: "ALPHGB21", 2: "BETADEF1"}
LATER = {"prefer": "respond-async"}


def counters(causeway: Causeway) -> list[HourlyCounters]:
    return [
        HourlyCounters.from_item(item) for item in items(causeway, "statistics") if item["subject"].startswith("calls#")
    ]


def measure_counts(causeway: Causeway, act: Callable[[], object]) -> Counts:
    causeway.hub.statistics.measurements.write()
    table_of(causeway, "statistics").items.clear()
    act()
    causeway.hub.statistics.measurements.write()
    return sum_counts(counters(causeway))


def sum_counts(found: list[HourlyCounters]) -> Counts:
    return {
        f"{bic} {service}": tally.to_item()
        for bic in sorted({hourly.bic for hourly in found})
        for service, tally in sum_by_service(hourly for hourly in found if hourly.bic == bic)[0].items()
    }


def expected_counts(version: int, service: str, **counts: int) -> Counts:
    return {f"{BIC[version]} {service}": counts}


def error(version: int, code: int | str, status: int) -> Reply:
    body = {"status": "error", "error_code": code, "message": "no"} if version == 1 else {"code": code, "title": "no"}
    return Reply(status, jsontext.dumps(body).encode(), {}, 0.01)


def deliver(*delivery_ids: str) -> None:
    """Pass queue messages to the worker's function, in one batch."""
    from app import app

    messages = [{"MessageId": each, "ReceiptHandle": "", "Body": each, "MD5OfBody": "0"} for each in delivery_ids]
    app.handler_map["deliver"](sqs_event(messages, "arn:aws:sqs:eu-west-1:1:deliveries", "eu-west-1"), None)
