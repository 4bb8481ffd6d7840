"""The command ``doctor``, which finds and repairs inconsistencies across tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from infra.admin import connection, ledger_verification
from infra.admin.findings_output import FindingsDocument, FindingsText
from infra.admin.output import CommandRefused, Report
from infra.progress import Progress
from infra.restore.checks import LEDGER
from infra.restore.examination import Examination, Finding, Position, UnknownPosition


def doctor(
    *,
    mend: Annotated[bool, typer.Option("--mend", help="Mend what can be mended.")] = False,
    start: Annotated[
        str, typer.Option("--from", metavar="POSITION", help="Resume at a table, or at a position that was printed.")
    ] = str(Position()),
    as_json: bool = False,
) -> Report:
    """Find inconsistencies between tables that were restored separately.

    Every table is compared with the other tables that the same transactions write, and the ledger is verified. Without
    --mend, nothing is changed. Before you use --mend, stop the stage's functions, except on the local stack. Amounts of
    money are never corrected: findings that cannot be repaired automatically must be resolved manually. The exit code
    is 1 if an inconsistency remains. The command reads whole tables, page by page, and prints each finding immediately;
    progress goes to standard error. An interrupted run prints the position at which to resume.

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
    hub = connection.connect()
    address = f"{hub.settings.public_url}/docs/reference/restore"
    output = (FindingsDocument if as_json else FindingsText)(position, mend=mend, address=address)
    with ledger_verification.retry_reads(hub.store):
        return _print_all(Examination(hub, mend=mend, start=position, progress=Progress(sys.stderr)), output)


def find_all(examination: Examination) -> Iterator[Finding]:
    """Yield the findings of all checks, including the ledger check."""
    yield from examination.find()
    for broken in ledger_verification.find_all(examination.hub.store, examination.progress):
        yield Finding(LEDGER.name, str(broken))


def _print_all(examination: Examination, output: FindingsText) -> Report:
    """Print each finding immediately. Print a summary at the end, even after an error."""
    resume, failure = True, None
    try:
        with examination.progress as progress:
            for finding in find_all(examination):
                progress.print(output.add(finding))
        resume = False
    except Exception as error:
        from infra.admin.errors import explain_error  # late, since all of the errors take time to import

        if (failure := explain_error(error)) is None:
            raise
    finally:
        _print_end(output, examination.position if resume else None, failure)
    return Report({}, "", good=not resume and not output.left, printed=True)


def _print_end(output: FindingsText, resume: Position | None, failure: str | None) -> None:
    print(output.end(resume, failure), flush=True)
    if failure:
        print(f"Error: {failure}", file=sys.stderr)
    if resume:
        print(f"Incomplete: go on with {resume.option}", file=sys.stderr)
