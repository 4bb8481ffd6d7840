"""The dashboard shows every alarm, and only metrics and log lines that are written."""

import json
import re
from collections.abc import Iterator
from typing import Any

from chalicelib.foundation.metrics import NAMESPACE
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from infra.deploy import template
from infra.deploy.template import DASHBOARD
from tests.infra.alarms import (
    ALARM,
    OF_AWS,
    Service,
    broken_attempts,
    broken_ledger,
    killed_payment,
    missing_report,
    overdue_delivery,
    silent_provider,
    unrecorded_decline,
)
from tests.kit.documents import ROOT
from tests.openbanking.accounts import Aisp


def dashboard(stage: str) -> Any:
    """Return the dashboard with the names of a stage. Undeployed resources have the names in the template."""
    [text] = [
        entry["Properties"]["DashboardBody"]["Fn::Sub"]
        for entry in template.load()["Resources"].values()
        if entry["Type"] == DASHBOARD
    ]
    text = text.replace("${Stage}", stage).replace("${AWS::Region}", "eu-west-1")
    return json.loads(re.sub(r"\$\{(\w+)\.\w+\}", r"\1", text))


def test_the_dashboard_shows_every_alarm_first() -> None:
    first, *others = dashboard("prod")["widgets"]
    names = [name for name, each in template.load()["Resources"].items() if each["Type"] == ALARM]

    assert first["type"] == "alarm"
    assert first["y"] == 0
    assert first["properties"]["alarms"] == names
    assert all(widget["y"] > 0 for widget in others)


def test_dashboard_widgets_do_not_overlap() -> None:
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
    """Yield the namespace, the name and the dimension names of every metric on the dashboard, including searches."""
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
    aisp = Aisp(service.causeway)
    seen = [*service.figures(aisp.list_accounts), *service.figures(lambda: aisp.fail(FAILURES))]
    aisp.list_accounts()
    seen += service.figures(service.causeway.hub.statistics.measurements.write)
    plays = (overdue_delivery, broken_attempts, silent_provider, broken_ledger, killed_payment, missing_report)
    for play in (*plays, unrecorded_decline):
        seen += [figure for figures in play(service) for figure in figures]
    known = {(each.namespace, each.name, frozenset(name for name, _ in each.dimensions)) for each in seen}
    known |= {(namespace, name, frozenset(dims)) for namespace, (dims, names) in OF_AWS.items() for name in names}
    known |= {(NAMESPACE, name, frozenset({"Stage"})) for name in FAULTS_OF_OTHERS}

    assert set(shown()) - known == set()


FAULTS_OF_OTHERS = ("CallerFailures", "HubFailures")
"""Metrics that are written in the same way as bank failures, but only if there are failures."""


def test_the_dashboard_queries_only_logged_messages() -> None:
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "chalicelib/delivery").glob("*.py"))
    [query] = [each["properties"]["query"] for each in dashboard("dev")["widgets"] if each["type"] == "log"]

    assert "'/aws/lambda/causeway-dev-deliver'" in query
    messages = re.findall(r'"([^"]+)"', query)
    assert len(messages) == 4
    assert all(f'log.info("{each}"' in sources or f'log.warning("{each}"' in sources for each in messages)
