"""Metrics for CloudWatch: log lines in the embedded metric format (EMF).

A metric is counted for the stage, and once more for its dimensions: a bank, a service, a function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass

NAMESPACE = "Causeway"
_TOGETHER = 100
"""The longest list of values of one metric in one line."""


def _print_line(line: str) -> None:
    print(f"{line}\n", end="", flush=True)  # in one piece, also beside other threads


_output: Callable[[str], None] = _print_line


def set_output(output: Callable[[str], None]) -> None:
    """Write metric lines to ``output`` instead of standard output, where CloudWatch reads them."""
    global _output
    _output = output


@dataclass(frozen=True, slots=True)
class Metrics:
    """Writes the metrics of a stage."""

    stage: str

    def write(
        self,
        counts: Mapping[str, int],
        durations: Mapping[str, Sequence[float]] | None = None,
        *,
        at: int | None = None,
        **about: str,
    ) -> None:
        """Write a set of at most 100 metrics.

        Args:
            counts: numbers by the metric's name.
            durations: lists of milliseconds by the metric's name.
            at: their Unix second; now if left out.
            about: their dimensions: ``Bank="DEMOGB21"``.
        """
        from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

        line = AmazonCloudWatchEMFProvider(namespace=NAMESPACE)
        line.add_dimension("Stage", self.stage)
        if about:
            line.add_dimensions(Stage=self.stage, **about)
        line.timestamp = None if at is None else at * 1000
        left = {name: {"Unit": "Count", "Value": [number]} for name, number in counts.items()}
        left |= {
            name: {"Unit": "Milliseconds", "Value": [round(each, 3) for each in milliseconds]}
            for name, milliseconds in (durations or {}).items()
            if milliseconds
        }
        while left:
            metrics = {name: {**metric, "Value": metric["Value"][:_TOGETHER]} for name, metric in left.items()}
            text = json.dumps(line.serialize_metric_set(metrics), separators=(",", ":"))
            _output(text)
            left = {
                name: {**metric, "Value": metric["Value"][_TOGETHER:]}
                for name, metric in left.items()
                if len(metric["Value"]) > _TOGETHER
            }
