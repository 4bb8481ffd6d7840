"""Commands that export and verify the audit trail: who changed, disclosed, resent or removed data, with a digest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from chalicelib.bootstrap import Hub
from chalicelib.foundation.clock import timestamp
from infra.admin import connection, operator_log, output, trace
from infra.admin.output import CommandRefused, Report, command, command_group

group = command_group("The audit trail: who changed, revealed, resent or removed what.")

LOGGED = ("card data revealed", "consent ended", "delivery resent", "order resolved", "password changed")
"""The log lines that belong to the audit trail."""
_START = "0" * 64
_DIGEST = re.compile(r"[0-9A-Fa-f]{64}")
_NOT_SAID = ("level", "service", "timestamp", "xray_trace_id", "function")


@command(group, "export")
def export(
    since: Annotated[str, typer.Option(metavar="TIME", help=f"The first moment. {output.TIME_HELP}")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write; it must not exist.")],
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"The end, which is not included; default: after now. {output.TIME_HELP}"),
    ] = None,
) -> Report:
    """Write the audit trail of a period to a file, one JSON object per line, with a digest over the lines.

    The file contains the operator's commands, the changes to clients with their authors, and the log lines about
    revealed card data, ended consents, resent deliveries, resolved orders and changed passwords. Logs are kept for 365
    days in prod. Changes to clients are recorded in business time, which `clock advance` moves on a local stack. All
    other lines are in real time.

    A line for a command means that the command was started. The command may have been refused.

    Every line has a digest of the line and of all previous lines. The last line has the number of lines. Store the
    printed digest separately from the file; `audit verify` compares the file with it.

    \b
    Example:
      .venv/bin/python -m infra.admin audit export --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z
        --out audit-november.jsonl
    """
    hub = connection.connect()
    lines = list(chain(collect(hub, *_parse_period(hub, since, until))))
    digest = lines[-1]["digest"]
    try:
        with out.open("x", encoding="utf-8") as file:
            file.writelines(f"{_spell(line)}\n" for line in lines)
    except OSError as error:
        raise CommandRefused(f"{out} cannot be written: {error.strerror}") from None
    data = {"file": str(out), "lines": len(lines) - 1, "digest": digest}
    return Report(data, f"{len(lines) - 1} lines, digest {digest}")


@command(group, "verify")
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of audit export.")],
    digest: Annotated[str | None, typer.Option(metavar="DIGEST", help="The digest that audit export printed.")] = None,
) -> Report:
    """Verify that a file written by `audit export` is complete and unchanged.

    Without --digest, the command does not detect changes if the digests in the file were recomputed.

    \b
    Example:
      .venv/bin/python -m infra.admin audit verify audit-november.jsonl --digest 5f0c…
    """
    if digest is not None and not _DIGEST.fullmatch(digest):
        raise CommandRefused("a digest has 64 hexadecimal digits")
    lines = [_parse_line(file, number, text) for number, text in enumerate(_read_lines(file), 1)]
    problem = find_problem(lines, digest and digest.lower())
    text = f"{file} is not as it was exported: {problem}" if problem else f"{file} is complete and unchanged."
    return Report({"lines": max(len(lines) - 1, 0), "problem": problem}, text, good=problem is None)


def _parse_period(hub: Hub, since: str, until: str | None) -> tuple[int, int]:
    """Return the first Unix second of a period and its exclusive end. Raises: CommandRefused.

    The end is at most business time, which may be ahead of real time (see ``moved_clock``).
    """
    now = hub.clock.real.time()
    latest = max(now, hub.clock.time())
    start = output.parse_time(since, now, latest)
    end = output.parse_time(until, now, latest) if until else latest + 1
    if end <= start:
        raise CommandRefused("--until must be later than --since")
    return start, end


def collect(hub: Hub, since: int, until: int) -> list[dict[str, Any]]:
    """Return the entries of a period in chronological order. The end of the period is exclusive.

    Each entry has ``at`` (a timestamp), ``kind`` and, if known, ``by``.
    """
    found = [
        *({"kind": "command", **each} for each in operator_log.entries(hub.store, since, until)),
        *_client_changes(hub, since, until),
        *_logged(hub, since, until),
    ]
    found.sort(key=itemgetter("at"))
    return [{**each, "at": timestamp(each["at"])} for each in found]


def chain(entries: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each entry with a digest of all entries so far, then a line with the number of entries."""
    digest, count = _START, 0
    for entry in entries:
        digest, count = _next_digest(digest, entry), count + 1
        yield {**entry, "digest": digest}
    end = {"kind": "end", "lines": count}
    yield {**end, "digest": _next_digest(digest, end)}


def find_problem(lines: list[dict[str, Any]], digest: str | None) -> str | None:
    """Describe the problem in exported lines. Return ``None`` if the lines are complete and unchanged."""
    before = _START
    for number, line in enumerate(lines, 1):
        entry = {name: value for name, value in line.items() if name != "digest"}
        before = _next_digest(before, entry)
        if line.get("digest") != before:
            return f"line {number} was changed, or lines before it were added, moved or removed"
    if not lines or lines[-1].get("kind") != "end" or lines[-1].get("lines") != len(lines) - 1:
        return "its last lines are missing"
    return None if digest in (None, before) else f"the digest of this file is {before}, not the one passed"


def _read_lines(file: Path) -> list[bytes]:
    """Read the lines of a file. As in JSON Lines, only a line feed ends a line. Raises: CommandRefused."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        raise CommandRefused(f"no such file: {file}") from None
    except OSError as error:
        raise CommandRefused(f"{file} cannot be read: {error.strerror}") from None
    return text.removesuffix(b"\n").split(b"\n") if text else []


def _parse_line(file: Path, number: int, text: bytes) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        line = None
    if not isinstance(line, dict):
        raise CommandRefused(f"line {number} of {file} is not a JSON object")
    return line


def _next_digest(before: str, entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{before}\n{_spell(entry)}".encode()).hexdigest()


def _spell(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def _client_changes(hub: Hub, since: int, until: int) -> Iterator[dict[str, Any]]:
    for client_id, change in hub.openbanking.clients.all_changes():
        if since <= change.at < until:
            yield {
                "at": change.at,
                "kind": "client changed",
                "by": change.by,
                "client_id": client_id,
                "action": change.action,
                "before": dict(change.before),
                "after": dict(change.after),
            }


def _logged(hub: Hub, since: int, until: int) -> Iterator[dict[str, Any]]:
    for said, at in trace.open_log(hub).search(LOGGED, since, until):
        members = {name: value for name, value in said.items() if name not in (*_NOT_SAID, "message")}
        yield {"at": at, "kind": said["message"], **members}
