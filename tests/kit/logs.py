"""Log lines and metrics in tests. This pytest plugin provides the fixtures ``caplog`` and ``lines``."""

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from _pytest.logging import LogCaptureHandler, caplog_handler_key, catching_logs

from chalicelib.foundation import log


class Lines:
    def __init__(self, stream: StringIO) -> None:
        self._stream = stream
        self._read = 0
        self._lines: list[dict[str, Any]] = []

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def all(self) -> list[dict[str, Any]]:
        text = self.text
        self._lines += [json.loads(line) for line in text[self._read :].splitlines()]
        self._read = len(text)
        return self._lines.copy()


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = log.logger().handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    stream = StringIO()
    before = handler.setStream(stream)
    try:
        yield Lines(stream)
    finally:
        log.clear()
        handler.setStream(before)


@pytest.fixture
def caplog(request: pytest.FixtureRequest) -> Iterator[pytest.LogCaptureFixture]:
    """Provide pytest's ``caplog`` without pytest's logging plugin, because the plugin formats every line two additional
    times.
    """
    request.node.stash[caplog_handler_key] = handler = LogCaptureHandler()
    with catching_logs(handler):
        captured = pytest.LogCaptureFixture(request.node, _ispytest=True)
        yield captured
        captured._finalize()


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Discard the service's log lines in programs that print figures."""
    sys.stdout.flush()
    stdout = os.dup(1)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(stdout, 1)
            os.close(stdout)


@dataclass(frozen=True)
class Metric:
    """A metric in a line of the embedded metric format. ``at`` is the time of all values, in Unix milliseconds."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]
    unit: str
    values: tuple[float, ...]
    at: int


def metrics_in(output: str) -> list[Metric]:
    """Return the metrics that CloudWatch would read in the standard output of a process."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [metric for line in lines if "_aws" in line for metric in _metrics_of_line(line)]


def metric_values(output: str, name: str, **dimensions: str) -> list[float]:
    """Return the values of a metric with exactly these dimensions, in the order of writing."""
    expected = frozenset(dimensions.items())
    found = [each for each in metrics_in(output) if (each.name, each.dimensions) == (name, expected)]
    return [value for each in found for value in each.values]


def _metrics_of_line(line: dict[str, Any]) -> Iterator[Metric]:
    for directive in line["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = frozenset((name, line[name]) for name in names)
            for metric in directive["Metrics"]:
                value = line[metric["Name"]]
                values = tuple(value) if isinstance(value, list) else (value,)
                at = line["_aws"]["Timestamp"]
                yield Metric(directive["Namespace"], metric["Name"], dimensions, metric["Unit"], values, at)
