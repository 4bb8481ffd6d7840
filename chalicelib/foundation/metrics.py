"""CloudWatch metrics, written as log lines in the embedded metric format (EMF).

Each metric is recorded for the stage and again for its other dimensions, such as a bank, a service or a function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass

NAMESPACE = "Causeway"
_TOGETHER = 100
"""The maximum number of values per metric in one line."""


def _print_line(line: str) -> None:
    print(f"{line}\n", end="", flush=True)  # one write, so that lines of parallel threads do not mix


_output: Callable[[str], None] = _print_line


def set_output(output: Callable[[str], None]) -> None:
    """Write metric lines to ``output`` instead of standard output, from which CloudWatch receives them."""
    global _output
    _output = output


@dataclass(frozen=True, slots=True)
class Metrics:
    """Writes a stage's metrics."""

    stage: str

    def write(
        self,
        counts: Mapping[str, int],
        durations: Mapping[str, Sequence[float]] | None = None,
        *,
        at: int | None = None,
        **about: str,
    ) -> None:
        """Write up to 100 metrics.

        Args:
            counts: counts by metric name.
            durations: lists of durations in milliseconds by metric name.
            at: the time of the metrics in Unix seconds, by default now.
            about: other dimensions, for example ``Bank="DEMOGB21"``.
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
