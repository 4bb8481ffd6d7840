"""Commands for personal data: what is kept for how long, and its removal when its time is over or a person asks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, TypeVar

import typer

from chalicelib.bootstrap import Hub
from infra.admin import connection
from infra.admin.output import Report, command, command_group, format_table
from infra.retention import consents, holders, users
from infra.retention.kinds import BY_NAME, KINDS, PERSONS, Person, of_person

group = command_group("Personal data: what is kept of PSUs, users and card holders, and its removal.")

T = TypeVar("T")
_COLUMNS = ("name", "person", "data", "kept", "removal", "on_request")


@command(group, "show")
def show() -> Report:
    """Show the kinds of personal data, for how long they are kept, and what removes them.

    With --json, also where they are and why they are kept.

    \b
    Example:
      .venv/bin/python -m infra.admin retention show
    """
    rows = [_kind_members(kind.name) for kind in KINDS]
    return Report({"kinds": rows}, format_table(rows, _COLUMNS))


@command(group, "erase-psu")
def erase_psu(consent_id: Annotated[str, typer.Argument(metavar="CONSENT_ID", help="An ended consent.")]) -> Report:
    """Remove the account identifiers that a PSU approved, and say what stays.

    The consent must have ended: end it with consents revoke. The service knows a PSU by consents only; call it for
    each of them.

    \b
    Example:
      .venv/bin/python -m infra.admin retention erase-psu 0f8c27b3a1d94e6f5a7b0c
    """
    return _report("PSU", consents.erase_consent(connection.connect(), consent_id))


@command(group, "erase-user")
def erase_user(email: Annotated[str, typer.Argument(metavar="EMAIL", help="The user's login name.")]) -> Report:
    """Remove a user of the web interface with all sessions and journeys, and say what stays.

    The user's clients must be archived: see clients archive.

    \b
    Example:
      .venv/bin/python -m infra.admin retention erase-user ada@example.com
    """
    return _report("user", users.erase_user(connection.connect(), email))


@command(group, "erase-holder")
def erase_holder(holder_id: Annotated[int, typer.Argument(metavar="HOLDER_ID", help="The holder's id.")]) -> Report:
    """Remove what no law keeps of a card holder, and say what stays.

    All accounts must be closed (C), and all cards blocked (B). Reads the whole table of cards.

    \b
    Example:
      .venv/bin/python -m infra.admin retention erase-holder 17
    """
    return _report("card holder", holders.erase_holder(connection.connect(), holder_id))


@command(group, "remove")
def remove(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be removed.")] = False,
) -> Report:
    """Remove what is over its time: consents and payments after five years, holders five years after their accounts.

    Run it monthly. It reads three whole tables, and can be interrupted and repeated.

    \b
    Examples:
      .venv/bin/python -m infra.admin retention remove --dry-run
      .venv/bin/python -m infra.admin retention remove
    """
    hub = connection.connect()
    now = hub.clock.time()
    due = {
        "consents": _steps(hub, consents.due_consents(hub, now), consents.remove_consent),
        "payments": _steps(hub, consents.due_payments(hub, now), consents.remove_payment),
        "holders": _steps(hub, holders.due_holders(hub, now), holders.remove_holder),
    }
    for step in itertools.chain.from_iterable(due.values()) if not dry_run else ():
        step()
    counts = {name: len(steps) for name, steps in due.items()}
    said = "would be removed" if dry_run else "removed"
    text = "{consents} consents, {payments} payments and the data of {holders} holders ".format(**counts)
    return Report({"dry_run": dry_run, **counts}, f"{text}{said}.")


def _steps(hub: Hub, due: Iterable[T], remove_one: Callable[[Hub, T], None]) -> list[Callable[[], None]]:
    """What removes each of the records that are due."""
    return [partial(remove_one, hub, each) for each in due]


def _report(person: Person, removed: list[str]) -> Report:
    """What was removed of a person, and what stays for which reason."""
    assert person in PERSONS
    stays = [
        {"name": kind.name, "kept": kind.kept, "reason": kind.reason}
        for kind in of_person(person)
        if kind.name not in removed
    ]
    lines = [f"Removed: {', '.join(BY_NAME[name].data for name in removed)}.", "", "What stays:"]
    return Report({"removed": removed, "stays": stays}, "\n".join([*lines, format_table(stays, tuple(stays[0]))]))


def _kind_members(name: str) -> dict[str, Any]:
    kind = BY_NAME[name]
    return {each: getattr(kind, each) for each in kind.__dataclass_fields__}
