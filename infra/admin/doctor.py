"""The command ``doctor``: what is inconsistent across tables, and its mending."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from chalicelib.bootstrap import Hub
from infra.admin import connection, ledger_verification
from infra.admin.output import CommandRefused, Report
from infra.progress import SILENT, Progress
from infra.restore.checks import CHECKS, LEDGER
from infra.restore.examination import Finding, Position, UnknownPosition, examine

_MOST_LISTED = 1000
"""The maximum number of findings in a report; all are counted."""


def doctor(
    mend: Annotated[bool, typer.Option("--mend", help="Mend what can be mended.")] = False,
    start: Annotated[
        str, typer.Option("--from", metavar="POSITION", help="Resume at a table, or at a position that was printed.")
    ] = str(Position()),
) -> Report:
    """Name what is inconsistent across tables that were restored one by one.

    Every table is compared with those that its transactions write, and the ledger is verified. Without --mend, nothing
    is changed; with it, the stage's functions have to be stopped. Money is never corrected: what is named without a
    mend is for a person. The exit code is 1 while something is inconsistent. It reads whole tables, page by page;
    progress goes to standard error, with the position at which to resume.

    \b
    Examples:
      .venv/bin/python -m infra.admin doctor
      .venv/bin/python -m infra.admin doctor --mend
      .venv/bin/python -m infra.admin doctor --from consents
    """
    try:
        position = Position.parse(start)
    except UnknownPosition as error:
        raise CommandRefused(str(error)) from None
    hub, counts, listed = connection.connect(), Counter[str](), list[Finding]()
    with ledger_verification.retry_reads(hub.store), Progress(sys.stderr) as progress:
        for finding in find_all(hub, mend=mend, start=position, progress=progress):
            counts[finding.check] += not finding.mended
            listed += [finding][: _MOST_LISTED - len(listed)]
    return _report(listed, counts)


def find_all(hub: Hub, *, mend: bool, start: Position, progress: Progress = SILENT) -> Iterator[Finding]:
    """The findings of all checks, and the ledger's."""
    yield from examine(hub, mend=mend, start=start, progress=progress)
    for broken in ledger_verification.find_all(hub.store, progress):
        yield Finding(LEDGER.name, str(broken))


def _report(listed: list[Finding], counts: Counter[str]) -> Report:
    left = counts.total()
    data = {"good": not left, "left": left, "findings": [asdict(each) for each in listed]}
    return Report(data, "\n".join(_describe(listed, left)), good=not left)


def _describe(listed: list[Finding], left: int) -> Iterator[str]:
    """Each check with its findings, and what is or has to be done."""
    for name, wrong, remedy in dict.fromkeys((each.name, each.wrong, each.remedy) for each in (*CHECKS, LEDGER)):
        found = [each for each in listed if each.check == name]
        if found:
            yield f"{name}: {wrong}."
            yield f"  {remedy}."
            yield from (f"    {each.item}{' - mended' if each.mended else ''}" for each in found)
    yield f"{left} inconsistent." if left else "The tables are consistent."
