"""Alarms and dashboard: each goes by metrics that somebody writes, goes off when it should, and is over afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from app import app
from chalicelib.cards.external.payment_orders import PaymentOrders
from chalicelib.cards.external.waiting import ASKING_SECONDS
from chalicelib.foundation import parallel
from chalicelib.foundation.breaker import FAILURES
from chalicelib.foundation.metrics import NAMESPACE
from chalicelib.openbanking.idempotency import RUNNING_SECONDS
from infra import template
from infra.local.events import schedule_event
from tests.cards.scenes import EUR, Scene
from tests.documents import OPERATIONS, ROOT, rows, section
from tests.figures import Figure, figures
from tests.infra.alarm_states import LONGEST, LONGEST_BELOW_AN_HOUR, Alarm, Data, MetricId, State, state, watched
from tests.infra.test_permissions import euros, opened, paying, silent
from tests.many import cases
from tests.openbanking.test_circuit import Reader
from tests.openbanking.test_payments import WEBHOOKS, Payer, taken
from tests.world import START, World

ALARM, DASHBOARD = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"
HOUR, DAY = 3600, 24 * 3600
CONFIG = json.loads((ROOT / ".chalice/config.json").read_text("utf-8"))
STAGE = frozenset({("Stage", "local")})
NOW = int(START.timestamp())
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
    "AWS/DynamoDB": (
        {"TableName"},
        {"ReadThrottleEvents", "WriteThrottleEvents", "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"},
    ),
}
"""Metrics of AWS by namespace, with the dimensions that they have (each service's page on CloudWatch metrics)."""


def alarms(stage: str, topic: str = "") -> dict[str, Alarm]:
    """The alarms of a stage by their names without the stage's."""
    found = template.Template(template.load(), Stage=stage, AlarmTopicArn=topic).resources(ALARM)
    return {each["AlarmName"].removeprefix(f"causeway-{stage}-"): each for each in found.values()}


ALARMS = {
    name: json.loads(json.dumps(each).replace('"dev"', '"local"').replace("causeway-dev", "causeway-local"))
    for name, each in alarms("dev").items()
}
"""As of ``dev``, with the names of the local stage, whose metrics the tests see."""


def own(alarm: Alarm) -> bool:
    return all(each.metric[0] == NAMESPACE for each in watched(alarm).values())


# -- the template


def test_deployed_stages_have_alarms_and_a_dashboard_and_the_local_stage_has_none() -> None:
    for stage in ("dev", "prod"):
        assert len(alarms(stage)) == len(ALARMS)
    assert alarms("local") == {}
    for name, entry in template.load()["Resources"].items():
        if entry["Type"] in (ALARM, DASHBOARD):
            assert entry["Condition"] == "IsDeployed", name


def test_an_alarm_tells_the_topic_that_it_goes_off_and_that_it_is_over() -> None:
    for name, alarm in alarms("prod", "arn:aws:sns:eu-west-1:1:people").items():
        assert alarm["AlarmActions"] == alarm["OKActions"] == ["arn:aws:sns:eu-west-1:1:people"], name
    assert all("AlarmActions" not in alarm for alarm in alarms("prod").values())


def test_an_alarm_keeps_to_what_cloudwatch_allows() -> None:
    with cases() as case:
        for name, alarm in ALARMS.items():
            with case(name):
                metrics = watched(alarm)
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


def test_every_alarm_has_its_row_for_the_operator_and_leads_there() -> None:
    found = [row[0] for row in rows(section(OPERATIONS, "## Alarms and dashboard")) if row[0] in ALARMS]

    assert sorted(found) == sorted(ALARMS)
    for name, alarm in ALARMS.items():
        assert alarm["AlarmDescription"].endswith("See docs/operations.md#alarms-and-dashboard."), name


def test_the_price_of_the_alarms_is_told() -> None:
    """Ten cents a month for each metric."""
    metrics = sum(len(watched(alarm)) for alarm in ALARMS.values())

    assert f"together ${metrics / 10:.2f} a stage" in section(OPERATIONS, "## Alarms and dashboard").replace("\n", " ")


# -- what AWS writes


def deployed_names() -> dict[str, set[str]]:
    """The values that dimensions have, by their names: functions, tables, queues, the API and its stage."""
    resources = template.load()["Resources"]
    functions = ["causeway-local", *(f"causeway-local-{name}" for name in CONFIG["lambda_functions"])]
    return {
        "FunctionName": set(functions),
        "TableName": {name for name, each in resources.items() if each["Type"] == template.TABLE},
        "QueueName": {name for name, each in resources.items() if each["Type"] == template.QUEUE},
        "ApiName": {CONFIG["app_name"]},
        "Stage": {"local"},
    }


def test_what_an_alarm_goes_by_of_aws_is_there_under_that_name() -> None:
    names = deployed_names()
    for stage in ("dev", "prod"):
        assert CONFIG["stages"][stage]["api_gateway_stage"] == stage
    for name, alarm in ALARMS.items():
        for namespace, metric, dimensions in (each.metric for each in watched(alarm).values()):
            if namespace != NAMESPACE:
                known, metrics = OF_AWS[namespace]
                assert metric in metrics, name
                assert {dimension for dimension, _ in dimensions} == known, name
                assert all(value in names[dimension] for dimension, value in dimensions), name


def metric_of(name: str, metric: str = "") -> MetricId:
    """The metric of an alarm, or the first of this name."""
    return next(each.metric for each in watched(ALARMS[name]).values() if metric in ("", each.metric[1]))


def written(name: str, values: dict[str, list[float]], every: int) -> State:
    """The state of an alarm after the last of values that came at even distances."""
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
    ("server-errors", requests(19, 19, 5), 60, "OK"),
    ("server-errors", {}, 60, "OK"),
    ("function-errors", {"": [1, 1, 1]}, 300, "ALARM"),
    ("function-errors", {"": [1, 1, 0]}, 300, "OK"),
    ("function-errors", {}, 300, "OK"),
    ("function-throttles", {"": [4, 4, 4]}, 60, "ALARM"),
    ("function-throttles", {"": [4, 4, 4, 0, 0, 0]}, 60, "OK"),
    ("open-banking-tables-throttled", {"WriteThrottleEvents": [1, 1, 1]}, 60, "ALARM"),
    ("open-banking-tables-throttled", {"ReadThrottleEvents": [1, 1]}, 60, "OK"),
    ("open-banking-tables-throttled", {}, 60, "OK"),
    ("card-tables-throttled", {"ReadThrottleEvents": [1, 1, 1]}, 60, "ALARM"),
    ("card-tables-throttled", {}, 60, "OK"),
    ("deliveries-waiting", {"": [1801, 1801]}, 300, "ALARM"),
    ("deliveries-waiting", {"": [1801, 900]}, 300, "OK"),
    ("deliveries-waiting", {}, 300, "OK"),
]
"""Alarms, values at even distances of so many seconds by metric, and the state after the last of them."""


@pytest.mark.parametrize(("name", "values", "every", "expected"), OF_AWS_PLAYED)
def test_an_alarm_on_metrics_of_aws_goes_off_and_is_over(
    name: str, values: dict[str, list[float]], every: int, expected: State
) -> None:
    assert written(name, values, every) == expected


def test_every_alarm_is_played() -> None:
    assert {name for name, alarm in ALARMS.items() if not own(alarm)} == {name for name, *_ in OF_AWS_PLAYED}
    assert {name for name, alarm in ALARMS.items() if own(alarm)} == set(PLAYS)


# -- what the service writes itself


class Service:
    """The service at work: what it writes when something goes wrong, and when nothing does."""

    def __init__(self, world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.monkeypatch = monkeypatch
        self._capsys = capsys

    def figures(self, step: Callable[[], object]) -> list[Figure]:
        """What a step writes."""
        self._capsys.readouterr()
        step()
        return figures(self._capsys.readouterr().out)

    def run(self, function: str) -> list[Figure]:
        """What a run of a scheduled function writes."""
        return self.figures(lambda: app.handler_map[function](schedule_event(function, START, "eu-west-1"), None))


@pytest.fixture
def service(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(parallel, "WIDTH", 1)
    return Service(world, capsys, monkeypatch)


Play = Callable[[Service], tuple[list[Figure], list[Figure]]]
"""Answers what is written while something is wrong, and what is when it is not any more; nothing, if nothing is."""


def overdue_delivery(service: Service) -> tuple[list[Figure], list[Figure]]:
    world = service.world
    world.wants_events()
    delivery_id = world.hub.events.test(world.client)
    world.clock.advance(901)
    late = service.run("sweep")
    world.hub.worker.attempt(delivery_id)
    return late, service.run("sweep")


def no_ingest(service: Service) -> tuple[list[Figure], list[Figure]]:
    return [], service.run("ingest")


def missing_report(service: Service) -> tuple[list[Figure], list[Figure]]:
    service.world.clock.advance(3 * DAY)
    return service.run("ingest"), []


def failing_bank(service: Service) -> tuple[list[Figure], list[Figure]]:
    reader = Reader(service.world)
    return service.figures(lambda: reader.fail(FAILURES)), service.figures(reader.ask)


def silent_provider(service: Service) -> tuple[list[Figure], list[Figure]]:
    scene = Scene(service.world)
    account = scene.account(currency_ison=EUR)
    address = opened(scene, "assignExternalPaymentAddress", account_id=account)
    scene.data("simulateInboundPayment", **euros(address["id"], 90_000), scheme="SCT", sender_name="Bob")
    scene.do("transferToExternalPayment", **paying(address, name="Silent"))
    scene.clock.advance(ASKING_SECONDS)
    with service.monkeypatch.context() as patch:
        patch.setattr(PaymentOrders, "ask_again", silent)
        stuck = service.run("finish")
    scene.clock.advance(ASKING_SECONDS)
    return stuck, service.run("finish")


class Killed(BaseException):
    """A function's instance is gone in the middle of a request."""


def killed_payment(service: Service) -> tuple[list[Figure], list[Figure]]:
    payer = Payer(service.world, 2)

    def dies(_: object) -> None:
        raise Killed

    payer.side.answers[WEBHOOKS[2, "single"]] = dies
    with pytest.raises(Killed):
        payer.pay("key-1")
    service.world.clock.advance(RUNNING_SECONDS + 1)
    return service.figures(lambda: payer.pay("key-1")), []


def broken_ledger(service: Service) -> tuple[list[Figure], list[Figure]]:
    account = {"owner": f"account#{Scene(service.world).account()}", "part": "account"}
    store = service.world.hub.store
    store.update("cards", account, set={"settled": 1})
    broken = service.run("prove")
    store.update("cards", account, set={"settled": 0})
    return broken, service.run("prove")


def round_without_end(service: Service) -> tuple[list[Figure], list[Figure]]:
    """The first round has begun, and for 15 days no run has had the time to bring it further."""
    Scene(service.world).account()
    proof, clock = service.world.hub.card_room.proof, service.world.clock
    proof.go_on(clock.monotonic() - 1)
    clock.advance(15 * DAY)
    late = service.figures(lambda: proof.go_on(clock.monotonic() - 1))
    service.run("prove")
    clock.advance(HOUR)
    return late, service.run("prove")


PLAYS: dict[str, tuple[Play, int, int]] = {
    "deliveries-overdue": (overdue_delivery, 60, 15 * 60),
    "ingest-missing": (no_ingest, DAY, 27 * HOUR),
    "reports-missing": (missing_report, DAY, 25 * HOUR),
    "circuit-opened": (failing_bank, 30, 20 * 60),
    "claims-stuck": (silent_provider, 60, 30 * 60),
    "outcomes-unknown": (killed_payment, HOUR, 2 * HOUR),
    "ledger-broken": (broken_ledger, HOUR, 3 * HOUR),
    "ledger-not-proved": (round_without_end, HOUR, 12 * HOUR),
}
"""The play of each own alarm, the seconds between what is written in it, and how long one state of things lasts."""


@pytest.mark.parametrize("name", PLAYS)
def test_an_alarm_on_own_metrics_goes_off_by_what_the_service_writes_and_is_over(name: str, service: Service) -> None:
    play, every, lasts = PLAYS[name]
    wrong, right = play(service)
    data, alarm = Data(), ALARMS[name]

    def goes_on(written: list[Figure], since: int) -> State:
        for at in range(since, since + lasts, every):
            data.take(written, at + 1)
        return state(alarm, data, since + lasts)

    states = [goes_on(figures, NOW + turn * lasts) for turn, figures in enumerate((right, wrong, right))]

    assert states == ["OK", "ALARM", "OK"]


@pytest.mark.parametrize("name", list(PLAYS))
def test_who_writes_nothing_any_more_is_missed_where_something_is_written_all_the_time(name: str) -> None:
    """Where it is only written when something happens, nothing is well."""
    regular = {"deliveries-overdue", "ingest-missing", "claims-stuck", "ledger-not-proved"}

    assert state(ALARMS[name], Data(), NOW) == ("ALARM" if name in regular else "OK")


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [([1, 0] * 8, "ALARM"), ([0] * 8 + [1, 0] * 4, "OK"), ([0] * 14 + [9], "OK")],
)
def test_what_is_put_off_is_stuck_after_ten_minutes(minutes: list[float], expected: State) -> None:
    """It is looked at every other minute."""
    assert written("claims-stuck", {"": minutes}, 60) == expected


def test_a_payment_that_the_bank_took_and_nobody_could_record_is_an_unknown_outcome(service: Service) -> None:
    payer, gone = Payer(service.world, 2), ExitStack()

    def answers(_: object) -> Any:
        gone.enter_context(service.world.storage_gone("transact"))
        return taken(2)

    payer.side.answers[WEBHOOKS[2, "single"]] = answers
    with gone:
        written = service.figures(lambda: payer.pay("key-1"))

    assert [each.values for each in written if (each.name, each.dimensions) == ("UnknownOutcomes", STAGE)] == [(1,)]


def test_what_schedules_write_is_documented_and_nothing_else(service: Service) -> None:
    seen = [figure for function in ("sweep", "finish", "prove") for figure in service.run(function)]
    seen += killed_payment(service)[0]
    found: dict[str, set[str]] = {}
    for figure in seen:
        found.setdefault(figure.name, set()).update(name for name, _ in figure.dimensions)
    documented = {row[0]: set(row[1].split(", ")) for row in rows(section(OPERATIONS, "### Metrics of schedules"))[2:]}

    assert {name: found.get(name) for name in documented} == documented
    assert found.keys() - documented.keys() <= OF_REQUESTS


OF_REQUESTS = {"Calls", "Answered", "HubTime", "BankTime", "HubFailures"}
"""What the request writes that meets a claim which never ended."""


# -- the dashboard


def dashboard(stage: str) -> Any:
    """Its body with the names of a stage; what exists only once it is deployed keeps its name in the template."""
    [text] = [
        entry["Properties"]["DashboardBody"]["Fn::Sub"]
        for entry in template.load()["Resources"].values()
        if entry["Type"] == DASHBOARD
    ]
    text = text.replace("${Stage}", stage).replace("${AWS::Region}", "eu-west-1")
    return json.loads(re.sub(r"\$\{(\w+)\.\w+\}", r"\1", text))


def test_the_dashboard_shows_every_alarm_before_anything_else() -> None:
    first, *others = dashboard("prod")["widgets"]
    names = [name for name, each in template.load()["Resources"].items() if each["Type"] == ALARM]

    assert (first["type"], first["y"], first["properties"]["alarms"]) == ("alarm", 0, names)
    assert all(widget["y"] > 0 for widget in others)


def test_widgets_lie_beside_and_below_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for widget in dashboard("prod")["widgets"]:
        places = {
            (widget["x"] + right, widget["y"] + down)
            for right in range(widget["width"])
            for down in range(widget["height"])
        }
        assert not places & taken, widget["properties"]["title"]
        assert max(x for x, _ in places) < 24
        taken |= places


def shown() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Namespace, name and dimensions' names of every metric on the dashboard, those of searches among them."""
    for widget in dashboard("local")["widgets"]:
        for metric in widget["properties"].get("metrics", ()):
            if isinstance(metric[0], str):
                namespace, name, *dimensions = [each for each in metric if isinstance(each, str)]
                yield namespace, name, frozenset(dimensions[::2])
            for schema, terms in re.findall(r"SEARCH\('\{([^}]+)\} ([^']+)'", str(metric[0])):
                namespace, *names = schema.replace('"', "").split(",")
                [name] = re.findall(r'MetricName="(\w+)"', terms)
                yield namespace, name, frozenset(names)


def test_the_dashboard_names_only_metrics_that_are_written(service: Service) -> None:
    reader = Reader(service.world)
    seen = [*service.figures(reader.ask), *service.figures(lambda: reader.fail(FAILURES))]
    reader.ask()
    seen += service.figures(service.world.hub.measurements.write)
    for play in (overdue_delivery, silent_provider, broken_ledger, killed_payment, missing_report):
        seen += [figure for figures in play(service) for figure in figures]
    known = {(each.namespace, each.name, frozenset(name for name, _ in each.dimensions)) for each in seen}
    known |= {(namespace, name, frozenset(dims)) for namespace, (dims, names) in OF_AWS.items() for name in names}
    known |= {(NAMESPACE, name, frozenset({"Stage"})) for name in FAULTS_OF_OTHERS}

    assert set(shown()) - known == set()


FAULTS_OF_OTHERS = ("CallerFailures", "HubFailures")
"""Written like the failures of banks, but only if there are any."""


def test_the_dashboard_looks_for_lines_that_are_logged() -> None:
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "chalicelib/delivery").glob("*.py"))
    [query] = [each["properties"]["query"] for each in dashboard("dev")["widgets"] if each["type"] == "log"]

    assert "'/aws/lambda/causeway-dev-deliver'" in query
    messages = re.findall(r'"([^"]+)"', query)
    assert len(messages) == 4
    assert all(f'log.info("{each}"' in sources or f'log.warning("{each}"' in sources for each in messages)
