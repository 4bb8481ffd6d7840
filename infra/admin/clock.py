"""Commands for the clock of the one-machine stack, whose business time can be moved forward."""

from __future__ import annotations

import os
from typing import Annotated, Any

import requests
import typer

from chalicelib.foundation.durations import NOTATIONS
from chalicelib.sandbox_clock.routes import PLACE
from chalicelib.website.display_text import elapsed
from infra.admin import output
from infra.admin.connection import StageUnknown
from infra.admin.output import CommandRefused, Report, command, command_group, format_members
from infra.local import stackfile
from infra.local.http_session import new_session

LONGEST_MOVE_SECONDS = 600
"""How long to wait for the response; a move of 400 days takes about a minute."""

group = command_group("Show and move business time of the local stack.")


@command(group, "show")
def show() -> Report:
    """Show business time, and how far it is ahead of real time.

    \b
    Example:
      .venv/bin/python -m infra.admin clock show
    """
    return _report(_ask("GET"), "")


@command(group, "advance")
def advance(
    span: Annotated[str, typer.Argument(metavar="SPAN", help=f"How far: {NOTATIONS}; at most 400d.")],
) -> Report:
    """Move business time forward, and wait until all work that became due has been done.

    Tokens and consents expire, due payments end, holds are released, events are sent, and days are recorded. All
    processes of the stack follow within a second. Signatures, certificates, keys and sessions stay in real time. Time
    cannot be moved backward; `make run FRESH=1` starts a new stack without data.

    \b
    Examples:
      .venv/bin/python -m infra.admin clock advance 7d
      .venv/bin/python -m infra.admin clock advance 12h --json
    """
    seconds = output.parse_span(span)
    return _report(_ask("POST", {"advance": f"PT{seconds}S"}), f"Moved {span} forward.\n")


def _report(answer: dict[str, Any], done: str) -> Report:
    ahead = elapsed(answer["offset_seconds"]) if answer["offset_seconds"] else "nothing"
    return Report(answer, done + format_members({"now": answer["now"], "ahead_by": ahead}))


def _ask(method: str, body: dict[str, str] | None = None) -> dict[str, Any]:
    stack = _find_stack()
    headers = {"Authorization": f"Bearer {stack.get('operator_key', '')}"}
    try:
        with new_session() as session:
            session.verify = stack.get("ca_file") or True
            response = session.request(
                method, stack["base_url"] + PLACE, json=body, headers=headers, timeout=LONGEST_MOVE_SECONDS
            )
            answer = response.json()
    except (requests.RequestException, ValueError):
        answer = None
    if not isinstance(answer, dict):
        raise CommandRefused("the stack did not respond; `clock show` tells how far time has moved")
    if not response.ok:
        raise CommandRefused(str(answer.get("error_description", f"the stack responded with {response.status_code}")))
    return answer


def _find_stack() -> dict[str, Any]:
    if (stage := os.environ.get("STAGE") or "local") != "local":
        raise CommandRefused(f"the clock of the stage {stage} cannot be moved: only that of a stack on this machine")
    if stack := stackfile.find_running(stackfile.location(os.environ)):
        return stack
    raise StageUnknown("no local stack is running: start it with `make run`")
