"""Commands for the audit trail: who changed, revealed, resent or removed what, as lines with a digest over them."""

from __future__ import annotations

import hashlib
import json
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
_NOT_SAID = ("level", "service", "timestamp", "xray_trace_id", "function")


@command(group, "export")
def export(
    since: Annotated[str, typer.Option(metavar="TIME", help=f"The first moment. {output.TIME_HELP}")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write; it must not exist.")],
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help=f"The last moment; default: now. {output.TIME_HELP}")
    ] = None,
) -> Report:
    """Write the audit trail of a period to a file, one JSON object per line, with a digest over the lines.

    It has the operator's commands, the changes of clients with their authors, and the log lines about revealed card
    data, ended consents, resent deliveries, resolved orders and changed passwords. Logs are kept for 365 days in prod.
    Every line has the digest of itself and of all lines before it; the last line has the number of lines. Keep the
    printed digest apart from the file: audit verify compares them.

    \b
    Example:
      .venv/bin/python -m infra.admin audit export --since 2026-11-01T00:00:00Z --out audit-november.jsonl
    """
    hub = connection.connect()
    now = hub.clock.real.time()
    start, end = output.parse_time(since, now), output.parse_time(until, now) if until else now
    lines = list(chain(collect(hub, start, end)))
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
    """Verify that a file of audit export is complete and unchanged.

    Without --digest, whoever changed the file may have computed its digests anew.

    \b
    Example:
      .venv/bin/python -m infra.admin audit verify audit-november.jsonl --digest 5f0c…
    """
    try:
        lines = [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        raise CommandRefused(f"{file} cannot be read, or is not JSON Lines") from None
    problem = find_problem(lines, digest)
    text = f"{file} is not as it was exported: {problem}" if problem else f"{file} is complete and unchanged."
    return Report({"lines": max(len(lines) - 1, 0), "problem": problem}, text, good=problem is None)


def collect(hub: Hub, since: int, until: int) -> list[dict[str, Any]]:
    """The entries of a period in order; each has ``at`` (a timestamp), ``kind`` and, if known, ``by``."""
    found = [
        *({"kind": "command", **each} for each in operator_log.entries(hub.store, since, until)),
        *_client_changes(hub, since, until),
        *_logged(hub, since, until),
    ]
    found.sort(key=itemgetter("at"))
    return [{**each, "at": timestamp(each["at"])} for each in found]


def chain(entries: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each entry with the digest of it and of all before it, then a line with their number."""
    digest, count = _START, 0
    for entry in entries:
        digest, count = _next_digest(digest, entry), count + 1
        yield {**entry, "digest": digest}
    end = {"kind": "end", "lines": count}
    yield {**end, "digest": _next_digest(digest, end)}


def find_problem(lines: list[dict[str, Any]], digest: str | None) -> str | None:
    """What is wrong with exported lines; ``None`` if they are complete and unchanged."""
    before = _START
    for number, line in enumerate(lines, 1):
        entry = {name: value for name, value in line.items() if name != "digest"}
        before = _next_digest(before, entry)
        if line.get("digest") != before:
            return f"line {number} does not have its digest"
    if not lines or lines[-1].get("kind") != "end" or lines[-1].get("lines") != len(lines) - 1:
        return "its last lines are missing"
    return None if digest in (None, before) else "its digest is another"


def _next_digest(before: str, entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{before}\n{_spell(entry)}".encode()).hexdigest()


def _spell(entry: Mapping[str, Any]) -> str:
    """An entry as JSON, always in the same spelling."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def _client_changes(hub: Hub, since: int, until: int) -> Iterator[dict[str, Any]]:
    for client_id, change in hub.openbanking.clients.all_changes():
        if since <= change.at <= until:
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
