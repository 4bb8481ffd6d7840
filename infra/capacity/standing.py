"""What stands there every month, whether anybody calls or not, and what grows with banks and records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from infra.capacity import prices
from infra.capacity.costs import Suppositions, cost
from infra.capacity.counts import Counted
from infra.capacity.prices import MILLION
from infra.capacity.words import table
from infra.deploy import template
from infra.deploy.compact_template import DASHBOARD, settled

POLLS = 5 * 3 * 60 * 24 * 30
"""Requests in 30 days by which Lambda waits for messages: five pollers, each for 20 seconds."""
METRICS = 9
"""So many figures are kept of a bank and one of its services, when all that can happen happens."""
OF_SCHEDULES = 12
"""So many figures do schedules write."""
PRODUCTION = "prod"


def rows(counted: Counted) -> str:
    """What it costs in 30 days."""
    there = _resources()
    standing = [
        ("keys of KMS", len(there["AWS::KMS::Key"]), prices.KEY),
        ("secrets", len(there["AWS::SecretsManager::Secret"]), prices.SECRET),
        ("metrics that alarms go by", sum(map(_metrics, there["AWS::CloudWatch::Alarm"])), prices.ALARM),
        ("dashboards", len(there[DASHBOARD]), prices.DASHBOARD),
        ("metrics that schedules write", OF_SCHEDULES, prices.METRIC),
    ]
    found = [(f"{name}: {count}", price.of(count)) for name, count, price in standing]
    for kind in counted.kinds:
        if kind.runs:
            spent = cost(counted, kind, Suppositions()).dollars * kind.runs / MILLION
            found.append((f"{kind.title}: {kind.runs:,} runs", spent))
    found += [("waiting for messages", prices.QUEUE.of(POLLS))]
    whole = sum((dollars for _, dollars in found), Decimal(0))
    found += [
        ("**all of this**", whole),
        (f"and for each bank and service that is asked, {METRICS} metrics at most", prices.METRIC.of(METRICS)),
        ("and for each GB that is kept, backups included", prices.KEPT.of(1) + prices.BACKED_UP.of(1)),
    ]
    return table(["in 30 days", "dollars"], [[what, f"{dollars:,.2f}"] for what, dollars in found])


def _resources() -> Mapping[str, list[Any]]:
    """The properties of production's resources by their types."""
    found: dict[str, list[Any]] = defaultdict(list)
    for entry in settled(template.load(), PRODUCTION)["Resources"].values():
        found[entry["Type"]].append(entry["Properties"])
    return found


def _metrics(alarm: Mapping[str, Any]) -> int:
    """How many metrics an alarm goes by."""
    return sum("MetricStat" in each for each in alarm["Metrics"]) if "Metrics" in alarm else 1
