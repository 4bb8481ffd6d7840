"""What CloudWatch makes of lines in its embedded metric format: metrics by namespace, dimensions and name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One metric in one line: its values, all of the time ``at``, in Unix milliseconds."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]
    unit: str
    values: tuple[float, ...]
    at: int


def figures(output: str) -> list[Figure]:
    """The metrics in what a process has written to standard output."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [figure for line in lines if "_aws" in line for figure in _of_line(line)]


def counted(output: str, name: str, **dimensions: str) -> list[float]:
    """The values of a metric with exactly these dimensions, in the order in which they were written."""
    wanted = frozenset(dimensions.items())
    found = [each for each in figures(output) if (each.name, each.dimensions) == (name, wanted)]
    return [value for each in found for value in each.values]


def _of_line(line: dict[str, Any]) -> Iterator[Figure]:
    for directive in line["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = frozenset((name, line[name]) for name in names)
            for metric in directive["Metrics"]:
                value = line[metric["Name"]]
                values = tuple(value) if isinstance(value, list) else (value,)
                at = line["_aws"]["Timestamp"]
                yield Figure(directive["Namespace"], metric["Name"], dimensions, metric["Unit"], values, at)
