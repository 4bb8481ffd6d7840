"""The log lines of one request: from the local stack's file, or from CloudWatch Logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import boto3
from botocore.config import Config

from chalicelib.foundation.parallel import together
from infra.local import logfile

_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 8})  # CloudWatch Logs allows few calls a second
_OF_EVERY_LINE = ("sent_as", "level", "message", "timestamp", "service", "request_id", "function", "xray_trace_id")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line. ``members`` are what the line says besides what every line has."""

    request_id: str
    at: datetime
    function: str
    level: str
    message: str
    members: Mapping[str, Any]


class Log(Protocol):
    """Where lines are looked for."""

    @property
    def place(self) -> str:
        """Where that is, for people."""

    def lines(self, request_id: str, since: int) -> Sequence[LogLine]:
        """The lines of a request from a time on, in Unix seconds, in order of time.

        Also those of a delivery that its receiver knows by ``request_id``: they name the request that caused it.
        """


@dataclass(frozen=True, slots=True)
class LocalLog:
    """The file of the stack on this machine."""

    path: Path

    @property
    def place(self) -> str:
        return str(self.path)

    def lines(self, request_id: str, since: int) -> Sequence[LogLine]:
        texts = (text for text in logfile.read_lines(self.path) if request_id in text)
        return _sort_lines([_parse_line(text, logfile.API, request_id) for text in texts], since)


@dataclass(frozen=True, slots=True)
class CloudWatchLog:
    """The log groups of a deployed stage's functions; ``client`` is boto3's for ``logs``."""

    client: Any
    prefix: str

    @property
    def place(self) -> str:
        return f"the log groups {self._api_group}*"

    def lines(self, request_id: str, since: int) -> Sequence[LogLine]:
        groups = together([partial(self._search_group, group, request_id, since) for group in self._groups()])
        return _sort_lines([line for lines in groups for line in lines], since)

    @property
    def _api_group(self) -> str:
        """The API's own group; those of the other functions add their names."""
        return f"/aws/lambda/{self.prefix}"

    def _groups(self) -> Iterator[str]:
        for page in _pages(self.client.describe_log_groups, logGroupNamePrefix=self._api_group):
            names = [group["logGroupName"] for group in page["logGroups"]]
            yield from (name for name in names if name == self._api_group or name.startswith(f"{self._api_group}-"))

    def _search_group(self, group: str, request_id: str, since: int) -> list[LogLine | None]:
        function = group.removeprefix(self._api_group).removeprefix("-") or logfile.API
        pages = _pages(
            self.client.filter_log_events,
            logGroupName=group,
            startTime=since * 1000,
            filterPattern=f'{{ ($.request_id = "{request_id}") || ($.sent_as = "{request_id}") }}',
        )
        return [_parse_line(event["message"], function, request_id) for page in pages for event in page["events"]]


def stage_log(prefix: str) -> CloudWatchLog:
    """The log of the deployed stage whose names begin with ``prefix``."""
    return CloudWatchLog(boto3.client("logs", config=_CONFIG), prefix)


def _pages(call: Any, **request: Any) -> Iterator[Any]:
    """All pages of one of CloudWatch Logs' answers."""
    token: str | None = ""
    while token is not None:
        page = call(**request, **({"nextToken": token} if token else {}))
        yield page
        token = page.get("nextToken")


def _parse_line(text: str, function: str, request_id: str) -> LogLine | None:
    """A line of this request; ``None`` for any other, and for what is no line of the service."""
    try:
        said = json.loads(text)
        if request_id not in (said["request_id"], said.get("sent_as")):
            return None
        at = datetime.fromisoformat(said["timestamp"])
        members = {name: value for name, value in said.items() if name not in _OF_EVERY_LINE}
        return LogLine(said["request_id"], at, said.get("function", function), said["level"], said["message"], members)
    except (ValueError, KeyError, TypeError):
        return None


def _sort_lines(lines: Sequence[LogLine | None], since: int) -> Sequence[LogLine]:
    kept = [line for line in lines if line is not None and line.at.timestamp() >= since]
    return sorted(kept, key=lambda line: line.at)
