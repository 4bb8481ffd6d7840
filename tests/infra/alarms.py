"""CloudWatch alarms: alarm states by the documented rules of CloudWatch, and simulated faults that raise and resolve
alarms.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import pytest

from app import app
from chalicelib.cards.payments import provider_orders
from chalicelib.cards.payments.pending_index import ASKING_SECONDS
from chalicelib.cards.payments.provider import ProviderSilent
from chalicelib.cards.reconciliation.rolling_proof import prove_accounts
from chalicelib.foundation.aws.errors import NotSent
from chalicelib.foundation.aws.queues import Queue
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.records.order_answers import RUNNING_SECONDS
from infra.deploy import template
from infra.local.event_runner import sqs_event
from tests.cards.issuer import EUR, Issuer
from tests.causeway import Causeway
from tests.kit.logs import Metric, metrics_in
from tests.kit.time import run_schedule
from tests.openbanking.accounts import Aisp
from tests.openbanking.payments import WEBHOOKS, Pisp

ALARM = "AWS::CloudWatch::Alarm"
Alarm = Mapping[str, Any]
State = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]
MetricId = tuple[str, str, frozenset[tuple[str, str]]]
_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Sum": sum,
    "Maximum": max,
    "SampleCount": lambda values: float(len(values)),
}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
}
LONGEST_BELOW_AN_HOUR, LONGEST = 24 * 3600, 7 * 24 * 3600
"""The maximum evaluation range of an alarm in seconds: for periods below one hour, and for longer periods."""
_FURTHER = 2
"""The number of additional periods that CloudWatch reads before the evaluation periods, according to its documented
examples.
"""
OF_AWS = {
    "AWS/ApiGateway": ({"ApiName", "Stage"}, {"5XXError", "4XXError", "Count", "Latency"}),
    "AWS/Lambda": ({"FunctionName"}, {"Errors", "Throttles", "Duration", "ConcurrentExecutions"}),
    "AWS/SQS": (
        {"QueueName"},
        {
            "ApproximateNumberOfMessagesVisible",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateAgeOfOldestMessage",
        },
    ),
    "Causeway/Api": ({"Stage"}, {"ThrottledRequests"}),
    "AWS/DynamoDB": (
        {"TableName"},
        {"ReadThrottleEvents", "WriteThrottleEvents", "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"},
    ),
}
"""The dimensions and names of AWS metrics by namespace, as documented by each service. The namespace ``Causeway/Api``
contains the metric that CloudWatch derives from the API's access log.
"""


@dataclass(frozen=True)
class Watched:
    metric: MetricId
    statistic: str
    period: int

    def values(self, data: Data, now: int, periods: int) -> list[float | None]:
        """Return the statistic of the last periods, oldest first. A period without data has the value ``None``."""
        return [self._value(data, now - ago * self.period) for ago in reversed(range(periods))]

    def _value(self, data: Data, until: int) -> float | None:
        found = [value for at, value in data.points.get(self.metric, ()) if until - self.period < at <= until]
        return float(_STATISTICS[self.statistic](found)) if found else None


@dataclass
class Data:
    points: dict[MetricId, list[tuple[int, float]]] = field(default_factory=dict)

    def add(self, metric: MetricId, at: int, value: float) -> None:
        self.points.setdefault(metric, []).append((at, value))

    def take(self, figures: Sequence[Metric], at: int) -> None:
        for figure in figures:
            for value in figure.values:
                self.add((figure.namespace, figure.name, figure.dimensions), at, value)


def watched_metrics(alarm: Alarm) -> dict[str, Watched]:
    """Map each id to a metric of an alarm. The id of a single metric is ``metric``."""
    if "MetricName" in alarm:
        metric = _metric_id(alarm["Namespace"], alarm["MetricName"], alarm["Dimensions"])
        return {"metric": Watched(metric, alarm["Statistic"], alarm["Period"])}
    stats = {entry["Id"]: entry["MetricStat"] for entry in alarm["Metrics"] if "MetricStat" in entry}
    return {
        name: Watched(
            _metric_id(*(stat["Metric"][member] for member in ("Namespace", "MetricName", "Dimensions"))),
            stat["Stat"],
            stat["Period"],
        )
        for name, stat in stats.items()
    }


def state(alarm: Alarm, data: Data, now: int, before: State = "INSUFFICIENT_DATA") -> State:
    """Return the state of an alarm at a time; ``before`` is the previous state of the alarm.

    Older values replace missing values. ``TreatMissingData`` applies only if too few values remain.
    """
    periods, treatment = alarm["EvaluationPeriods"], alarm["TreatMissingData"]
    values = [value for value in _series(alarm, data, now, periods + _FURTHER) if value is not None][-periods:]
    breaches = sum(_COMPARISONS[alarm["ComparisonOperator"]](value, alarm["Threshold"]) for value in values)
    missing = periods - len(values) if treatment == "breaching" else 0
    if breaches + missing >= alarm.get("DatapointsToAlarm", periods):
        return "ALARM"
    return before if treatment == "ignore" and breaches == len(values) else "OK"


def _series(alarm: Alarm, data: Data, now: int, periods: int) -> list[float | None]:
    metrics = {name: each.values(data, now, periods) for name, each in watched_metrics(alarm).items()}
    if "MetricName" in alarm:
        return metrics["metric"]
    [expression] = [entry["Expression"] for entry in alarm["Metrics"] if "Expression" in entry]
    empty = {name for name, values in metrics.items() if not any(value is not None for value in values)}
    columns = [dict(zip(metrics, column, strict=True)) for column in zip(*metrics.values(), strict=True)]
    return [_calculated(expression, column, empty) for column in columns]


def _calculated(expression: str, values: Mapping[str, float | None], empty: set[str]) -> float | None:
    """Evaluate a metric math expression at one time. Metrics without data are not filled."""
    present = {name: value for name, value in values.items() if name not in empty}

    def fill(what: Any, constant: float) -> Any:
        if isinstance(what, dict):
            return {name: fill(value, constant) for name, value in what.items()}
        return constant if what is None else what

    functions = {
        "METRICS": lambda: present,
        "FILL": fill,
        "SUM": lambda series: sum(series.values()) if series else None,
        "IF": lambda condition, then, otherwise: then if condition else otherwise,
    }
    try:
        result: float | None = eval(expression, {"__builtins__": {}}, {**functions, **present})  # noqa: S307 - our own
    except (NameError, TypeError):  # a metric without data
        return None
    return result


def _metric_id(namespace: str, name: str, dimensions: Sequence[Mapping[str, Any]]) -> MetricId:
    return namespace, name, frozenset((each["Name"], _value(each["Value"])) for each in dimensions)


def _value(value: Any) -> str:
    """Return a dimension's value. If the resource is not yet deployed, return the resource's name in the template."""
    if isinstance(value, dict):
        [argument] = value.values()
        return str(argument if isinstance(argument, str) else argument[0])
    return str(value)


def alarms(stage: str, topic: str = "") -> dict[str, Alarm]:
    """Map the name of each alarm of a stage, without the stage prefix, to the alarm."""
    found = template.Template(template.load(), Stage=stage, AlarmTopicArn=topic).resources(ALARM)
    return {each["AlarmName"].removeprefix(f"causeway-{stage}-"): each for each in found.values()}


ALARMS = {
    name: json.loads(json.dumps(each).replace('"dev"', '"local"').replace("causeway-dev", "causeway-local"))
    for name, each in alarms("dev").items()
}
"""The alarms of the stage ``dev`` with the resource names of the local stage, because tests write metrics of the local
stage.
"""


def open_address(issuer: Issuer, action: str, **account: int) -> Any:
    (address,) = issuer.data(action, **account, epm_method_id=2, currency_ison=EUR)
    return address


def no_provider_answer(*_: object) -> Any:
    raise ProviderSilent


def euros(address: int, amount: int) -> dict[str, int]:
    return {"epm_address_id": address, "amount": amount, "currency_ison": EUR}


def transfer(address: Any, iban: str = "DE89370400440532013000", name: str = "Al") -> dict[str, Any]:
    return euros(address["id"], 2_000) | {"destination_iban": iban, "destination_account_name": name}


HOUR, DAY = 3600, 24 * 3600


class Service:
    """A running service that returns the metrics written during faults and during normal operation."""

    def __init__(self, causeway: Causeway, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.causeway = causeway
        self.monkeypatch = monkeypatch
        self._capsys = capsys

    def figures(self, step: Callable[[], object]) -> list[Metric]:
        self._capsys.readouterr()
        step()
        return metrics_in(self._capsys.readouterr().out)

    def run(self, function: str) -> list[Metric]:
        return self.figures(lambda: run_schedule(app.handler_map[function]))


Play = Callable[[Service], tuple[list[Metric], list[Metric]]]
"""A function that simulates a fault. The function returns the metrics written during the fault, and the metrics written
after the fault. Each list may be empty.
"""


def overdue_delivery(service: Service) -> tuple[list[Metric], list[Metric]]:
    causeway = service.causeway
    causeway.tpp.set_events_url()
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
    causeway.clock.advance(901)
    late = service.run("sweep")
    causeway.hub.delivery.worker.attempt(delivery_id)
    return late, service.run("sweep")


def broken_attempts(service: Service) -> tuple[list[Metric], list[Metric]]:
    messages = [{"MessageId": each, "ReceiptHandle": "", "Body": each, "MD5OfBody": "0"} for each in ("a", "b")]
    event = sqs_event(messages, "arn:aws:sqs:eu-west-1:1:deliveries", "eu-west-1")
    with service.causeway.storage_gone("batch_get"):
        return service.figures(lambda: app.handler_map["deliver"](event, None)), []


def no_ingest(service: Service) -> tuple[list[Metric], list[Metric]]:
    return [], service.run("ingest")


def missing_report(service: Service) -> tuple[list[Metric], list[Metric]]:
    service.causeway.clock.advance(3 * DAY)
    return service.run("ingest"), []


def failing_bank(service: Service) -> tuple[list[Metric], list[Metric]]:
    aisp = Aisp(service.causeway)
    return service.figures(lambda: aisp.fail(FAILURES)), service.figures(aisp.list_accounts)


def silent_provider(service: Service) -> tuple[list[Metric], list[Metric]]:
    issuer = Issuer(service.causeway)
    account = issuer.account(currency_ison=EUR)
    address = open_address(issuer, "assignExternalPaymentAddress", account_id=account)
    issuer.data("simulateInboundPayment", **euros(address["id"], 90_000), scheme="SCT", sender_name="Bob")
    issuer.do("transferToExternalPayment", **transfer(address, name="Silent"))
    issuer.clock.advance(ASKING_SECONDS)
    with service.monkeypatch.context() as patch:
        patch.setattr(provider_orders, "ask_again", no_provider_answer)
        stuck = service.run("finish")
    issuer.clock.advance(ASKING_SECONDS)
    return stuck, service.run("finish")


class Killed(BaseException):
    """Raised if the Lambda instance is killed during a request."""


def killed_payment(service: Service) -> tuple[list[Metric], list[Metric]]:
    pisp = Pisp(service.causeway, 2)

    def dies(_: object) -> None:
        raise Killed

    pisp.bank.answers[WEBHOOKS[2, "single"]] = dies
    with pytest.raises(Killed):
        pisp.pay("key-1")
    service.causeway.clock.advance(RUNNING_SECONDS + 1)
    return service.figures(lambda: pisp.pay("key-1")), []


def unrecorded_decline(service: Service) -> tuple[list[Metric], list[Metric]]:
    """Decline an authorization when neither storage nor the queue accepts the record of the decline."""
    issuer = Issuer(service.causeway)
    card = issuer.card_in("A").card_id
    with service.causeway.storage_gone("transact"), service.monkeypatch.context() as patch:
        patch.setattr(Queue, "send", refused)
        return service.figures(lambda: issuer.purchase(card, 100)), []


def refused(*_: object) -> None:
    raise NotSent("no connection could be made")


def broken_ledger(service: Service) -> tuple[list[Metric], list[Metric]]:
    account = {"owner": f"account#{Issuer(service.causeway).account()}", "part": "account"}
    store = service.causeway.hub.store
    store.update("cards", account, set={"settled": 1})
    broken = service.run("prove")
    store.update("cards", account, set={"settled": 0})
    return broken, service.run("prove")


def round_without_end(service: Service) -> tuple[list[Metric], list[Metric]]:
    """Begin the first ledger check of all accounts. No later run continues this check for 15 days."""
    Issuer(service.causeway).account()
    cards, clock = service.causeway.hub.cards, service.causeway.clock
    cards.call(prove_accounts, clock.monotonic() - 1)
    clock.advance(15 * DAY)
    late = service.figures(lambda: cards.call(prove_accounts, clock.monotonic() - 1))
    service.run("prove")
    clock.advance(HOUR)
    return late, service.run("prove")


def guessed_secrets(service: Service) -> tuple[list[Metric], list[Metric]]:
    causeway = service.causeway
    wrong = {"authorization": "Basic " + base64.b64encode(f"{causeway.tpp.client_id}:wrong".encode()).decode()}
    body = {"bic": "ALPHGB21", "scopes": ["account.list"]}

    def guess() -> None:
        for _ in range(50):
            causeway.tpp.call("POST", "/tpp/authorize", body, headers=wrong)

    return service.figures(guess), []


def reused_code(service: Service) -> tuple[list[Metric], list[Metric]]:
    causeway = service.causeway
    code = causeway.psu.approve(1).query["code"]
    redeem = partial(causeway.tpp.call, "POST", "/tpp/token", {"authorization_code": code})
    assert redeem().status == 200
    return service.figures(redeem), []


PLAYS: dict[str, tuple[Play, int, int]] = {
    "function-errors": (broken_attempts, 450, 15 * 60),
    "deliveries-overdue": (overdue_delivery, 60, 15 * 60),
    "ingest-missing": (no_ingest, DAY, 27 * HOUR),
    "reports-missing": (missing_report, DAY, 25 * HOUR),
    "circuit-opened": (failing_bank, 30, 20 * 60),
    "security-refusals": (guessed_secrets, 150, 20 * 60),
    "consents-misused": (reused_code, HOUR, 2 * HOUR),
    "claims-stuck": (silent_provider, 60, 30 * 60),
    "outcomes-unknown": (killed_payment, HOUR, 2 * HOUR),
    "declines-unrecorded": (unrecorded_decline, HOUR, 2 * HOUR),
    "ledger-broken": (broken_ledger, HOUR, 3 * HOUR),
    "ledger-not-proved": (round_without_end, HOUR, 12 * HOUR),
}
"""The simulated fault of each alarm on service metrics, the seconds between written values, and the seconds in each
state.
"""
