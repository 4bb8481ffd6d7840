"""Every alarm uses metrics that are written. A fault raises the alarm, and the end of the fault resolves it."""

import json
from contextlib import ExitStack
from typing import Any

import pytest

from chalicelib.foundation.metrics import NAMESPACE
from infra import capacity
from infra.deploy import template
from infra.deploy.functions import FUNCTIONS
from infra.deploy.limits import REQUESTS
from infra.deploy.template import DASHBOARD
from tests.causeway import START
from tests.infra.alarms import (
    ALARM,
    ALARMS,
    DAY,
    HOUR,
    LONGEST,
    LONGEST_BELOW_AN_HOUR,
    OF_AWS,
    PLAYS,
    Alarm,
    Data,
    MetricId,
    Service,
    State,
    alarms,
    broken_attempts,
    killed_payment,
    state,
    unrecorded_decline,
    watched_metrics,
)
from tests.kit.documents import ALARMS_PAGE, ROOT, STATISTICS, rows, section
from tests.kit.logs import Metric
from tests.openbanking.payments import WEBHOOKS, Pisp, payment_answer

CONFIG = json.loads((ROOT / ".chalice/config.json").read_text("utf-8"))
STAGE = frozenset({("Stage", "local")})
NOW = int(START.timestamp())
SCHEDULES = ("sweep", "finish", "prove")
NEAR_LIMIT = 0.8 * REQUESTS
"""The number of concurrent executions of the API at which an alarm notifies the operator."""


def namespaces(alarm: Alarm) -> set[str]:
    return {each.metric[0] for each in watched_metrics(alarm).values()}


# -- the template


def test_only_deployed_stages_have_alarms_and_a_dashboard() -> None:
    for stage in ("dev", "prod"):
        assert len(alarms(stage)) == len(ALARMS)
    assert alarms("local") == {}
    for name, entry in template.load()["Resources"].items():
        if entry["Type"] in (ALARM, DASHBOARD):
            assert entry["Condition"] == "IsDeployed", name


def test_alarms_notify_the_topic_when_raised_and_resolved() -> None:
    for name, alarm in alarms("prod", "arn:aws:sns:eu-west-1:1:people").items():
        assert alarm["AlarmActions"] == alarm["OKActions"] == ["arn:aws:sns:eu-west-1:1:people"], name
    assert all("AlarmActions" not in alarm for alarm in alarms("prod").values())


def test_alarms_respect_the_limits_of_cloudwatch(subtests: pytest.Subtests) -> None:
    for name, alarm in ALARMS.items():
        with subtests.test(name):
            metrics = watched_metrics(alarm)
            [period] = {each.period for each in metrics.values()}
            looks_back = period * alarm["EvaluationPeriods"]
            assert looks_back <= (LONGEST if period >= HOUR else LONGEST_BELOW_AN_HOUR)
            assert alarm.get("DatapointsToAlarm", 1) <= alarm["EvaluationPeriods"]
            assert len(metrics) <= 10
            assert len(alarm["AlarmDescription"]) <= 1024
            assert [entry["Id"] for entry in alarm.get("Metrics", ()) if entry.get("ReturnData", True)] in (
                [],
                ["watched"],
            )


def test_docs_list_every_alarm_and_alarms_refer_to_the_docs() -> None:
    found = [row[0] for row in rows(ALARMS_PAGE) if row[0] in ALARMS]

    assert sorted(found) == sorted(ALARMS)
    for name, alarm in ALARMS.items():
        assert alarm["AlarmDescription"].endswith("See docs/alarms.md."), name


def test_docs_state_the_price_of_the_alarms() -> None:
    """Each metric costs ten cents a month."""
    metrics = sum(len(watched_metrics(alarm)) for alarm in ALARMS.values())

    assert f"in total ${metrics / 10:.2f} a stage" in ALARMS_PAGE.replace("\n", " ")
    assert f"| metrics of alarms: {metrics} | {metrics / 10:.2f} |" in capacity.PAGE.read_text("utf-8")


def test_docs_state_the_price_of_metrics_written_by_schedules(service: Service) -> None:
    seen = {(figure.name, figure.dimensions) for function in (*SCHEDULES, "ingest") for figure in service.run(function)}

    assert f"| metrics that schedules write: {len(seen)} |" in capacity.PAGE.read_text("utf-8")
    assert f"the {len(seen)} metrics written by schedules cost $0.30 each" in ALARMS_PAGE.replace("\n", " ")


# -- what AWS writes


def deployed_names() -> dict[str, set[str]]:
    resources = template.load()["Resources"]
    functions = ["causeway-local", *(f"causeway-local-{each.name}" for each in FUNCTIONS if each.name)]
    return {
        "FunctionName": set(functions),
        "TableName": {name for name, each in resources.items() if each["Type"] == template.TABLE},
        "QueueName": {name for name, each in resources.items() if each["Type"] == template.QUEUE},
        "ApiName": {CONFIG["app_name"]},
        "Stage": {"local"},
    }


def test_the_aws_metrics_in_alarms_exist_in_aws_with_the_same_dimensions() -> None:
    names = deployed_names()
    for stage in ("dev", "prod"):
        assert CONFIG["stages"][stage]["api_gateway_stage"] == stage
    for name, alarm in ALARMS.items():
        for namespace, metric, dimensions in (each.metric for each in watched_metrics(alarm).values()):
            if namespace != NAMESPACE:
                known, metrics = OF_AWS[namespace]
                assert metric in metrics, name
                assert {dimension for dimension, _ in dimensions} == known, name
                assert all(value in names[dimension] for dimension, value in dimensions), name


def metric_of(name: str, metric: str = "") -> MetricId:
    return next(each.metric for each in watched_metrics(ALARMS[name]).values() if metric in ("", each.metric[1]))


def written(name: str, values: dict[str, list[float]], every: int) -> State:
    data = Data()
    for metric, series in values.items():
        for ago, value in enumerate(reversed(series)):
            data.add(metric_of(name, metric), NOW - ago * every, value)
    return state(ALARMS[name], data, NOW)


def requests(failed: float, of: float, minutes: int) -> dict[str, list[float]]:
    return {"5XXError": [0] * (10 - minutes) + [failed] * minutes, "Count": [of] * 10}


OF_AWS_PLAYED: list[tuple[str, dict[str, list[float]], int, State]] = [
    ("deliveries-dead", {"": [0, 1]}, 60, "ALARM"),
    ("deliveries-dead", {"": [1, 0]}, 60, "OK"),
    ("deliveries-dead", {}, 60, "OK"),
    ("server-errors", requests(3, 100, 3), 60, "ALARM"),
    ("server-errors", requests(3, 100, 2), 60, "OK"),
    ("server-errors", requests(2, 100, 5), 60, "OK"),
    ("server-errors", requests(10, 10, 3), 60, "ALARM"),
    ("server-errors", requests(10, 10, 2), 60, "OK"),
    ("server-errors", requests(4, 19, 5), 60, "OK"),
    ("server-errors", {}, 60, "OK"),
    ("function-errors", {"": [1, 1, 1]}, 300, "ALARM"),
    ("function-errors", {"": [1, 1, 0]}, 300, "OK"),
    ("function-errors", {"": [1], "BrokenAttempts": [2]}, 300, "ALARM"),
    ("function-errors", {}, 300, "OK"),
    ("function-throttles", {"": [4, 4, 4]}, 60, "ALARM"),
    ("function-throttles", {"": [4, 4, 4, 0, 0, 0]}, 60, "OK"),
    ("requests-throttled", {"": [1, 1, 1]}, 60, "ALARM"),
    ("requests-throttled", {"": [9, 9, 0, 0, 0]}, 60, "OK"),
    ("requests-throttled", {}, 60, "OK"),
    ("requests-near-limit", {"": [NEAR_LIMIT, 0, NEAR_LIMIT, 0, NEAR_LIMIT]}, 60, "ALARM"),
    ("requests-near-limit", {"": [NEAR_LIMIT - 1] * 5}, 60, "OK"),
    ("requests-near-limit", {"": [NEAR_LIMIT] * 2 + [0] * 3}, 60, "OK"),
    ("requests-near-limit", {}, 60, "OK"),
    ("deliveries-at-limit", {"": [100.0] * 10}, 60, "ALARM"),
    ("deliveries-at-limit", {"": [99.0] * 15}, 60, "OK"),
    ("deliveries-at-limit", {"": [100.0] * 9 + [20.0] * 6}, 60, "OK"),
    ("deliveries-at-limit", {}, 60, "OK"),
    ("open-banking-tables-throttled", {"WriteThrottleEvents": [1, 1, 1]}, 60, "ALARM"),
    ("open-banking-tables-throttled", {"ReadThrottleEvents": [1, 1]}, 60, "OK"),
    ("open-banking-tables-throttled", {}, 60, "OK"),
    ("card-tables-throttled", {"ReadThrottleEvents": [1, 1, 1]}, 60, "ALARM"),
    ("card-tables-throttled", {}, 60, "OK"),
    ("deliveries-waiting", {"": [1801, 1801]}, 300, "ALARM"),
    ("deliveries-waiting", {"": [1801, 900]}, 300, "OK"),
    ("deliveries-waiting", {}, 300, "OK"),
]
"""For each alarm: the values of each metric, the interval between values in seconds, and the state after the last
value.
"""


@pytest.mark.parametrize(("name", "values", "every", "expected"), OF_AWS_PLAYED)
def test_an_alarm_on_aws_metrics_has_the_expected_state(
    name: str, values: dict[str, list[float]], every: int, expected: State
) -> None:
    assert written(name, values, every) == expected


def test_every_alarm_has_a_test_of_the_alarm_state() -> None:
    found = {name: namespaces(alarm) for name, alarm in ALARMS.items()}

    assert {name for name, each in found.items() if each & OF_AWS.keys()} == {name for name, *_ in OF_AWS_PLAYED}
    assert {name for name, each in found.items() if NAMESPACE in each} == set(PLAYS)


@pytest.mark.parametrize("function", ["causeway-local", "causeway-local-deliver"])
def test_errors_of_a_rarely_called_function_raise_the_alarm(function: str) -> None:
    data = Data()
    for minute in (0, 5, 10):
        data.add(("AWS/Lambda", "Errors", frozenset({("FunctionName", function)})), NOW - minute * 60, 1)

    assert state(ALARMS["function-errors"], data, NOW) == "ALARM"


# -- what the service writes itself


@pytest.mark.parametrize("name", PLAYS)
def test_an_alarm_on_service_metrics_is_raised_and_resolved(name: str, service: Service) -> None:
    play, every, lasts = PLAYS[name]
    wrong, right = play(service)
    data, alarm = Data(), ALARMS[name]

    def goes_on(written: list[Metric], since: int) -> State:
        for at in range(since, since + lasts, every):
            data.take(written, at + 1)
        return state(alarm, data, since + lasts)

    states = [goes_on(figures, NOW + turn * lasts) for turn, figures in enumerate((right, wrong, right))]

    assert states == ["OK", "ALARM", "OK"]


@pytest.mark.parametrize("name", list(PLAYS))
def test_missing_values_raise_only_alarms_on_regularly_written_metrics(name: str) -> None:
    """Metrics that are written only on events may be missing. An unverified ledger has the state INSUFFICIENT_DATA."""
    regular = dict.fromkeys(("deliveries-overdue", "ingest-missing", "claims-stuck", "ledger-not-proved"), "ALARM")

    assert state(ALARMS[name], Data(), NOW) == (regular | {"ledger-broken": "INSUFFICIENT_DATA"}).get(name, "OK")


@pytest.mark.parametrize(
    ("name", "value", "lasts", "until_then", "afterwards"),
    [
        ("outcomes-unknown", 1, HOUR, "ALARM", "OK"),
        ("declines-unrecorded", 1, HOUR, "ALARM", "OK"),
        ("reports-missing", 1, DAY, "ALARM", "OK"),
        ("ingest-missing", 1, 26 * HOUR, "OK", "ALARM"),
        ("ledger-not-proved", HOUR, 6 * HOUR, "OK", "ALARM"),
    ],
)
def test_a_single_metric_value_determines_the_alarm_state_for_a_limited_time(
    name: str, value: float, lasts: int, until_then: State, afterwards: State
) -> None:
    data = Data()
    data.add(metric_of(name), NOW, value)

    assert [state(ALARMS[name], data, NOW + ago) for ago in (lasts - 1, lasts)] == [until_then, afterwards]


@pytest.mark.parametrize(("apart", "expected"), [(5 * 60, "ALARM"), (20 * 60, "OK")])
def test_two_circuit_openings_of_a_bank_raise_an_alarm_only_within_three_periods(apart: int, expected: State) -> None:
    data = Data()
    for at in (NOW - apart, NOW):
        data.add(metric_of("circuit-opened"), at, 1)

    assert state(ALARMS["circuit-opened"], data, NOW) == expected


def test_the_ledger_alarm_remains_active_until_the_ledger_is_verified() -> None:
    alarm, metric, data = ALARMS["ledger-broken"], metric_of("ledger-broken"), Data()
    data.add(metric, NOW, 1)
    states = [state(alarm, data, NOW)]
    states.append(state(alarm, data, NOW + DAY, states[-1]))
    data.add(metric, NOW + DAY, 0)

    assert [*states, state(alarm, data, NOW + DAY, states[-1])] == ["ALARM", "ALARM", "OK"]


@pytest.mark.parametrize(
    ("minutes", "expected"), [([1, 0] * 8, "ALARM"), ([0] * 8 + [1, 0] * 4, "OK"), ([0] * 14 + [9], "OK")]
)
def test_the_claims_stuck_alarm_is_raised_after_ten_minutes(minutes: list[float], expected: State) -> None:
    """The service checks claims every two minutes."""
    assert written("claims-stuck", {"": minutes}, 60) == expected


def test_a_payment_that_the_bank_accepted_and_the_hub_did_not_record_has_an_unknown_outcome(service: Service) -> None:
    pisp, gone = Pisp(service.causeway, 2), ExitStack()

    def answers(_: object) -> Any:
        gone.enter_context(service.causeway.storage_gone("transact"))
        return payment_answer(2)

    pisp.bank.answers[WEBHOOKS[2, "single"]] = answers
    with gone:
        written = service.figures(lambda: pisp.pay("key-1"))

    assert [each.values for each in written if (each.name, each.dimensions) == ("UnknownOutcomes", STAGE)] == [(1,)]


def test_docs_list_all_metrics_of_schedules_and_requests(service: Service) -> None:
    seen = [figure for function in SCHEDULES for figure in service.run(function)]
    seen += broken_attempts(service)[0] + killed_payment(service)[0] + unrecorded_decline(service)[0]
    found: dict[str, set[str]] = {}
    for figure in seen:
        found.setdefault(figure.name, set()).update(name for name, _ in figure.dimensions)
    documented = {
        name: (set(dimensions.split(", ")), writer)
        for names, dimensions, writer, _ in rows(section(STATISTICS, "## Metrics"))[2:]
        for name in names.split(", ")
    }

    assert found == {name: documented[name][0] for name in found}
    assert {name for name, (_, writer) in documented.items() if writer in SCHEDULES} <= found.keys()
