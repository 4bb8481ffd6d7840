"""What stands there every month, whether anybody calls or not, and what grows with banks and records."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from infra import template
from infra.capacity import prices
from infra.capacity.costs import Setting, cost
from infra.capacity.counts import Counted
from infra.capacity.prices import MILLION
from infra.capacity.words import table

POLLS = 5 * 3 * 60 * 24 * 30
"""Requests in 30 days by which Lambda waits for messages: five pollers, each for 20 seconds."""
METRICS = 9
"""So many figures are kept of a bank and one of its services, when all that can happen happens."""
PRODUCTION = "prod"


def rows(counted: Counted) -> str:
    """What it costs in 30 days."""
    resources = [
        ("keys of KMS", "AWS::KMS::Key", prices.KEY),
        ("secrets", "AWS::SecretsManager::Secret", prices.SECRET),
        ("alarms", "AWS::CloudWatch::Alarm", prices.ALARM),
        ("dashboards", "AWS::CloudWatch::Dashboard", prices.DASHBOARD),
    ]
    there = _resources()
    found = [(f"{name}: {there[kind]}", price.of(there[kind])) for name, kind, price in resources]
    for kind in counted.kinds:
        if kind.runs:
            spent = cost(counted, kind, Setting()).dollars * kind.runs / MILLION
            found.append((f"{kind.title}: {kind.runs:,} runs", spent))
    found += [("waiting for messages", prices.QUEUE.of(POLLS))]
    whole = sum((dollars for _, dollars in found), Decimal(0))
    found += [
        ("**all of this**", whole),
        (f"and for each bank and service that is asked, {METRICS} metrics at most", prices.METRIC.of(METRICS)),
        ("and for each GB that is kept, backups included", prices.KEPT.of(1) + prices.BACKED_UP.of(1)),
    ]
    return table(["in 30 days", "dollars"], [[what, f"{dollars:,.2f}"] for what, dollars in found])


def _resources() -> Counter[str]:
    """How many resources of each type production has."""
    made = template.load()
    stage = template.Template(made, Stage=PRODUCTION)
    return Counter(
        entry["Type"]
        for entry in made["Resources"].values()
        if "Condition" not in entry or stage.condition(entry["Condition"])
    )
