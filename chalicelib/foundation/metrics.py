"""CloudWatch metrics, written as log lines in the embedded metric format (EMF).

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html

Each metric is recorded for the stage, and additionally for other dimensions, such as a bank, a service or a function.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass

NAMESPACE = "Causeway"
_TOGETHER = 100
"""The maximum number of values per metric in one log line."""


def _print_line(line: str) -> None:
    print(f"{line}\n", end="", flush=True)  # one write, so that lines of parallel threads do not mix


write_line: Callable[[str], None] = _print_line


def set_output(output: Callable[[str], None]) -> None:
    """Write metric lines to ``output`` instead of standard output, from which CloudWatch receives them."""
    global write_line
    write_line = output


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
            at: the time of the metrics in Unix seconds, by default the current time.
            about: other dimensions, for example ``Bank="DEMOGB21"``.
        """
        about = {"Stage": self.stage, **about}
        dimensions = [["Stage"], [*about]] if len(about) > 1 else [["Stage"]]
        milliseconds = int(time.time() * 1000) if at is None else at * 1000
        left: dict[str, Sequence[float]] = {name: [number] for name, number in counts.items()}
        left |= {name: [round(each, 3) for each in found] for name, found in (durations or {}).items() if found}
        while left:
            metrics = [{"Name": name, "Unit": "Count" if name in counts else "Milliseconds"} for name in left]
            directive = {"Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": metrics}
            values = {name: found[:_TOGETHER] for name, found in left.items()}
            line = {"_aws": {"Timestamp": milliseconds, "CloudWatchMetrics": [directive]}, **about, **values}
            write_line(json.dumps(line, separators=(",", ":")))
            left = {name: found[_TOGETHER:] for name, found in left.items() if len(found) > _TOGETHER}
