"""The trace command, which shows the log lines of a request, and the records that the lines refer to.

Log lines are read from the local stack's log file, or from CloudWatch Logs.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import boto3
import typer
from botocore.config import Config

from chalicelib.bootstrap import Hub
from chalicelib.delivery.delivery_record import Delivery, record_key
from chalicelib.delivery.journal import UnknownDelivery
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.identifiers import read_uuid
from chalicelib.foundation.parallel import pieces, together
from chalicelib.openbanking.records.authorization_requests import authorization_key
from chalicelib.openbanking.records.consents import consent_key
from chalicelib.openbanking.records.payments import payment_key
from infra.admin import connection, deliveries, output
from infra.admin.output import CommandRefused, Report, format_members, format_table
from infra.local import logfile, stackfile

_DAY = 24 * 3600
_BEFORE = 60
"""Longest time, in seconds, between a request and its first delivery."""
_OUTCOMES = ("status", "failure", "reason", "error", "code", "exception_name")
_NOT_DETAILS = (*_OUTCOMES, "at", "function", "level", "message", "milliseconds", "exception")
_TIMELINE = ("time", "function", "event", "outcome", "ms", "details")
_RELAYS = ("time", "bic", "webhook", "outcome", "ms")
_ERROR = ("code", "title", "fields", "client_id", "bic", "credential", "action", "bank_status", "bank_failure")
_DELIVERIES = ("delivery_id", "kind", "topic", "receiver", "state", "attempts", "next_attempt_at")
_RECORDS = {"Authorization request": "authorizations", "Consent": "consents", "Payment": "payments"}
_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 8})  # CloudWatch Logs allows few calls a second
_OF_EVERY_LINE = ("sent_as", "level", "message", "timestamp", "service", "request_id", "function", "xray_trace_id")


def trace(
    request_id: Annotated[
        str,
        typer.Argument(
            metavar="REQUEST_ID", help="The X-Request-Id, or the id of a delivery, an event or an asynchronous request."
        ),
    ],
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help=f"How far back to search; default: a day. {output.TIME_HELP}")
    ] = None,
) -> Report:
    """Show the log lines, error, calls to banks, deliveries and related records of a request.

    Log lines are read from the local stack's log file, or from CloudWatch Logs on a deployed stage. Records are shown
    in their current state, without secrets, hashes or encrypted values. For a delivery's id, the command shows the
    request that caused the delivery. The exit code is 1 if nothing was found.

    \b
    Examples:
      .venv/bin/python -m infra.admin trace 8c1d4a52-60d5-4d5e-9f3c-0b5d9b6c2f11
      .venv/bin/python -m infra.admin trace 4a1f0c2e9b7d3356a8e0f1 --since 3d --json
    """
    hub = connection.connect()
    given = read_uuid(request_id)
    delivery = None if given else _find_delivery(hub, request_id)
    traced = (delivery.cause_id or delivery.request_id) if delivery else given or ""
    start, log = _search_start(hub, since, delivery), open_log(hub)
    lines = log.lines(traced, start)
    if lines and all(line.request_id != traced for line in lines):  # the id that a bank received
        traced = lines[0].request_id
        lines = log.lines(traced, start)
    if not lines and delivery is None:
        raise CommandRefused(f"nothing found about {traced}: no log line since {timestamp(start)} in {log.place}")
    written = [_line_members(line) for line in lines]
    data = {
        "request_id": traced,
        "since": timestamp(start),
        "searched": log.place,
        "lines": written,
        "errors": [line for line in written if line["message"] == "error response"],
        "relays": [line for line in written if line["message"] == "bank called"],
        **_find_records(hub, lines, [request_id] if delivery else []),
    }
    return Report(data, "\n\n".join(_sections(data)))


def _find_delivery(hub: Hub, delivery_id: str) -> Delivery:
    try:
        return hub.delivery.journal.show(delivery_id)
    except UnknownDelivery:
        text = f"{delivery_id} is neither the id of a request (a UUID) nor of a stored delivery"
        raise CommandRefused(text) from None


def _search_start(hub: Hub, since: str | None, delivery: Delivery | None) -> int:
    """Return the start of the search in Unix seconds. Logs use real time (see ``moved_clock``)."""
    now = hub.clock.real.time()
    if since is not None:
        return output.parse_time(since, now)
    return min(now - _DAY, delivery.created_at - hub.clock.offset_seconds - _BEFORE if delivery else now)


def open_log(hub: Hub) -> LocalLog | CloudWatchLog:
    """Open the log of the stage. Raises: CommandRefused, if no local stack runs."""
    if not hub.settings.is_local:
        return stage_log(hub.settings.prefix)
    stack = stackfile.find_running()
    if stack is None or "log" not in stack:
        raise CommandRefused("no local stack is running, so there is no log to search: start it with `make run`")
    return LocalLog(Path(stack["log"]))


def _line_members(line: LogLine) -> dict[str, Any]:
    at = line.at.isoformat(timespec="milliseconds")
    return {"at": at, "function": line.function, "level": line.level, "message": line.message, **line.members}


def _sections(data: Mapping[str, Any]) -> Iterator[str]:
    lines = data["lines"]
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    yield f"Request {data['request_id']}\n{count} since {data['since']} in {data['searched']}"
    if lines:
        yield f"What happened\n{format_table(map(_event_row, lines), _TIMELINE)}"
    for error in data["errors"]:
        members = {name: _format_value(error[name]) for name in _ERROR if name in error}
        yield f"Error response\n{format_members(members)}"
    if data["relays"]:
        yield f"Requests to banks\n{format_table(map(_relay_row, data['relays']), _RELAYS)}"
    if data["deliveries"]:
        yield f"Deliveries, current state\n{format_table(data['deliveries'], _DELIVERIES)}"
    for title, name in _RECORDS.items():
        for record in data[name]:
            yield f"{title}, current state\n{format_members(_flatten_history(record))}"


def _event_row(line: Mapping[str, Any]) -> dict[str, Any]:
    details = [f"{name}={_format_value(value)}" for name, value in line.items() if name not in _NOT_DETAILS]
    return {
        "time": line["at"],
        "function": line["function"],
        "event": line["message"],
        "outcome": _outcome(line),
        "ms": line.get("milliseconds"),
        "details": " ".join(details),
    }


def _relay_row(line: Mapping[str, Any]) -> dict[str, Any]:
    asked = {name: line.get(name) for name in ("bic", "webhook")}
    return {"time": line["at"], **asked, "outcome": _outcome(line), "ms": line.get("milliseconds")}


def _outcome(line: Mapping[str, Any]) -> Any:
    return next((line[name] for name in _OUTCOMES if name in line), None)


def _flatten_history(record: Mapping[str, Any]) -> dict[str, Any]:
    history = [f"{entry['at']}  {entry['status']}" for entry in record.get("history", ())]
    flat = {name: _format_value(value) for name, value in record.items() if name != "history"}
    return flat | ({"history": history} if history else {})


def _format_value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_OF_ALL = ("client_id", "bic", "api_version", "status", "created_at")
AUTHORIZATION = (
    *("authorization_id", *_OF_ALL, "scopes", "consent_type", "valid_until"),
    *("consent_id", "error", "error_description"),
)
CONSENT = (
    *("consent_id", *_OF_ALL, "scopes", "consent_type", "valid_until", "last_used_on"),
    *("spent_at", "ended_at", "ended_by"),
)
PAYMENT = ("payment_id", *_OF_ALL, "kind", "consent_id", "request_id", "history")
"""The members of a payment that the command displays. Only listed members are displayed, so new members are not exposed
by accident.
"""
_TOGETHER = 100


def _find_records(hub: Hub, lines: Sequence[LogLine], more: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """Read the records that the log lines refer to, grouped by kind. ``more`` contains the ids of additional deliveries
    to read.
    """
    store, now = hub.store, hub.clock.time()
    said = [line.members for line in lines]
    ids = [*more, *_collect(said, "delivery_id"), *(each for one in said for each in one.get("delivery_ids", ()))]
    sent = [Delivery.from_item(item) for item in _read_items(store, map(record_key, ids))]
    authorizations = _read_items(store, map(authorization_key, _collect(said, "authorization_id")))
    pairs = [(one["bic"], one["payment_id"]) for one in said if "bic" in one and "payment_id" in one]
    payments = [item for item in _read_items(store, (payment_key(*pair) for pair in pairs)) if "payment_id" in item]
    consents = [*_collect([*said, *authorizations, *payments], "consent_id")]
    consents += [delivery.consent_id for delivery in sent if delivery.consent_id]
    sent.sort(key=lambda delivery: delivery.created_at)
    return {
        "deliveries": [deliveries.delivery_members(delivery, now) for delivery in sent],
        "authorizations": [_select_members(item, AUTHORIZATION) for item in authorizations],
        "consents": [_select_members(item, CONSENT) for item in _read_items(store, map(consent_key, consents))],
        "payments": [_select_members(item, PAYMENT) for item in payments],
    }


def _collect(said: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    return [one[name] for one in said if isinstance(one.get(name), str)]


def _read_items(store: Store, keys: Iterable[tuple[str, Item]]) -> list[Item]:
    different = list({repr(key): key for key in keys}.values())
    batches = pieces(different, _TOGETHER)
    return [item for batch in batches for item in store.batch_get(batch) if item is not None]


def _select_members(item: Item, names: Sequence[str]) -> dict[str, Any]:
    return {name: _readable_value(name, item[name]) for name in names if item.get(name) is not None}


def _readable_value(name: str, value: Any) -> Any:
    if name == "history":
        return [{"status": entry["status"], "at": timestamp(entry["at"])} for entry in value]
    return timestamp(value) if name.endswith(("_at", "_until")) else value


# -- the log


@dataclass(frozen=True, slots=True)
class LogLine:
    """A log line. ``members`` excludes the members that all log lines share."""

    request_id: str
    at: datetime
    function: str
    level: str
    message: str
    members: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LocalLog:
    """The log file of the local stack."""

    path: Path

    @property
    def place(self) -> str:
        """Return the location of the log for display."""
        return str(self.path)

    def lines(self, request_id: str, since: int) -> Sequence[LogLine]:
        """Yield the log lines of a request since a Unix time, in chronological order.

        Includes the lines of a delivery whose request id is ``request_id``.
        """
        texts = (text for text in logfile.read_lines(self.path) if request_id in text)
        return _sort_lines([_parse_line(text, logfile.API, request_id) for text in texts], since)

    def search(self, messages: Sequence[str], since: int, until: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the members and times of all lines with one of the messages, before the time ``until``."""
        return _select_lines(logfile.read_lines(self.path), messages, since, until)


@dataclass(frozen=True, slots=True)
class CloudWatchLog:
    """The log groups of a deployed stage. ``client`` is a boto3 ``logs`` client."""

    client: Any
    prefix: str

    @property
    def place(self) -> str:
        return f"the log groups {self._api_group}*"

    def lines(self, request_id: str, since: int) -> Sequence[LogLine]:
        groups = together([partial(self._search_group, group, request_id, since) for group in self._groups()])
        return _sort_lines([line for lines in groups for line in lines], since)

    def search(self, messages: Sequence[str], since: int, until: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the members and times of all lines with one of the messages, before the time ``until``."""
        pattern = " || ".join(f'($.message = "{message}")' for message in messages)
        for group in self._groups():
            pages = self.client.get_paginator("filter_log_events").paginate(
                logGroupName=group, startTime=since * 1000, endTime=(until + 1) * 1000, filterPattern=f"{{ {pattern} }}"
            )
            texts = (event["message"] for page in pages for event in page["events"])
            yield from _select_lines(texts, messages, since, until)

    @property
    def _api_group(self) -> str:
        """Return the log group of the API function, and the name prefix of the log groups of the other functions."""
        return f"/aws/lambda/{self.prefix}"

    def _groups(self) -> Iterator[str]:
        pages = self.client.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=self._api_group)
        for page in pages:
            names = [group["logGroupName"] for group in page["logGroups"]]
            yield from (name for name in names if name == self._api_group or name.startswith(f"{self._api_group}-"))

    def _search_group(self, group: str, request_id: str, since: int) -> list[LogLine | None]:
        function = group.removeprefix(self._api_group).removeprefix("-") or logfile.API
        pages = self.client.get_paginator("filter_log_events").paginate(
            logGroupName=group,
            startTime=since * 1000,
            filterPattern=f'{{ ($.request_id = "{request_id}") || ($.sent_as = "{request_id}") }}',
        )
        return [_parse_line(event["message"], function, request_id) for page in pages for event in page["events"]]


def stage_log(prefix: str) -> CloudWatchLog:
    """Return the CloudWatch logs of the stage with the resource name prefix ``prefix``."""
    return CloudWatchLog(boto3.client("logs", config=_CONFIG), prefix)


def _parse_line(text: str, function: str, request_id: str) -> LogLine | None:
    try:
        said = json.loads(text)
        if request_id not in (said["request_id"], said.get("sent_as")):
            return None
        at = datetime.fromisoformat(said["timestamp"])
        members = {name: value for name, value in said.items() if name not in _OF_EVERY_LINE}
        return LogLine(said["request_id"], at, said.get("function", function), said["level"], said["message"], members)
    except (ValueError, KeyError, TypeError):
        return None


def _select_lines(
    texts: Iterable[str], messages: Sequence[str], since: int, until: int
) -> Iterator[tuple[dict[str, Any], int]]:
    for text in texts:
        if any(message in text for message in messages):
            said = json.loads(text)
            at = int(datetime.fromisoformat(said["timestamp"]).timestamp())
            if said["message"] in messages and since <= at < until:
                yield said, at


def _sort_lines(lines: Sequence[LogLine | None], since: int) -> Sequence[LogLine]:
    recent = [line for line in lines if line is not None and line.at.timestamp() >= since]
    return sorted(recent, key=lambda line: line.at)
