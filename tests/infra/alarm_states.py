"""What CloudWatch makes of an alarm: from the values of its metrics to its state, as its documentation says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from infra.deploy import template
from tests.kit.logs import Metric

ALARM = "AWS::CloudWatch::Alarm"
Alarm = Mapping[str, Any]
State = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]
MetricId = tuple[str, str, frozenset[tuple[str, str]]]
"""Namespace, name and dimensions."""
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
"""How far an alarm may look back, in seconds: with periods below an hour, and with longer ones."""
_FURTHER = 2
"""So many periods more than it evaluates does CloudWatch look at, in the examples of its documentation."""
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
"""Metrics of AWS by namespace, with the dimensions that they have (each service's page on CloudWatch metrics), and the
one that CloudWatch makes of the API's access log."""


@dataclass(frozen=True)
class Watched:
    """One metric that an alarm goes by."""

    metric: MetricId
    statistic: str
    period: int

    def values(self, data: Data, now: int, periods: int) -> list[float | None]:
        """The statistic of each of the last periods, the oldest first; ``None`` where there is no data."""
        return [self._value(data, now - ago * self.period) for ago in reversed(range(periods))]

    def _value(self, data: Data, until: int) -> float | None:
        found = [value for at, value in data.points.get(self.metric, ()) if until - self.period < at <= until]
        return float(_STATISTICS[self.statistic](found)) if found else None


@dataclass
class Data:
    """What was written of metrics, each value with its second."""

    points: dict[MetricId, list[tuple[int, float]]] = field(default_factory=dict)

    def add(self, metric: MetricId, at: int, value: float) -> None:
        self.points.setdefault(metric, []).append((at, value))

    def take(self, figures: Sequence[Metric], at: int) -> None:
        """Figures as if they had been written at that second."""
        for figure in figures:
            for value in figure.values:
                self.add((figure.namespace, figure.name, figure.dimensions), at, value)


def watched(alarm: Alarm) -> dict[str, Watched]:
    """The metrics of an alarm by their ids; one that goes by a single metric has it under the name ``metric``."""
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
    """The state of an alarm at a second; ``before`` is the one that it has been in.

    Older values go before missing ones: what is missing is treated as the alarm says only if there are too few of them.
    """
    periods, treatment = alarm["EvaluationPeriods"], alarm["TreatMissingData"]
    values = [value for value in _series(alarm, data, now, periods + _FURTHER) if value is not None][-periods:]
    breaches = sum(_COMPARISONS[alarm["ComparisonOperator"]](value, alarm["Threshold"]) for value in values)
    missing = periods - len(values) if treatment == "breaching" else 0
    if breaches + missing >= alarm.get("DatapointsToAlarm", periods):
        return "ALARM"
    return before if treatment == "ignore" and breaches == len(values) else "OK"


def _series(alarm: Alarm, data: Data, now: int, periods: int) -> list[float | None]:
    metrics = {name: each.values(data, now, periods) for name, each in watched(alarm).items()}
    if "MetricName" in alarm:
        return metrics["metric"]
    [expression] = [entry["Expression"] for entry in alarm["Metrics"] if "Expression" in entry]
    empty = {name for name, values in metrics.items() if not any(value is not None for value in values)}
    columns = [dict(zip(metrics, column, strict=True)) for column in zip(*metrics.values(), strict=True)]
    return [_calculated(expression, column, empty) for column in columns]


def _calculated(expression: str, values: Mapping[str, float | None], empty: set[str]) -> float | None:
    """Metric math at one point in time; what has no data at all is not filled."""
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
    """A dimension's value; of a resource that exists only after deployment, its name in the template."""
    if isinstance(value, dict):
        [argument] = value.values()
        return str(argument if isinstance(argument, str) else argument[0])
    return str(value)


def alarms(stage: str, topic: str = "") -> dict[str, Alarm]:
    """The alarms of a stage by their names without the stage's."""
    found = template.Template(template.load(), Stage=stage, AlarmTopicArn=topic).resources(ALARM)
    return {each["AlarmName"].removeprefix(f"causeway-{stage}-"): each for each in found.values()}


ALARMS = {
    name: json.loads(json.dumps(each).replace('"dev"', '"local"').replace("causeway-dev", "causeway-local"))
    for name, each in alarms("dev").items()
}
"""As of ``dev``, with the names of the local stage, whose metrics the tests see."""
