"""Commands for personal data: retention periods, and removal when due or on request."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Annotated, TypeVar

import typer

from chalicelib.bootstrap import Hub
from infra.admin import connection
from infra.admin.output import Report, command, command_group
from infra.retention import consents, holders, users
from infra.retention.kinds import BY_NAME, KINDS, Kind, Person, kinds_of_person, of_person

group = command_group("Personal data: what is kept of PSUs, users and card holders, and its removal.")

T = TypeVar("T")
_TITLES: dict[Person, str] = {"PSU": "PSUs", "user": "Users of the web interface", "card holder": "Card holders"}
_NAME_WIDTH = 24
_LINE_WIDTH = 120


@command(group, "show")
def show() -> Report:
    """Show the kinds of personal data, their retention periods, and the processes that remove them.

    With --json, the output also contains the storage location of the data and the reason for its retention.

    \b
    Example:
      .venv/bin/python -m infra.admin retention show
    """
    sections = ("\n".join([title, *_describe(of_person(person), _removal)]) for person, title in _TITLES.items())
    return Report({"kinds": [asdict(kind) for kind in KINDS]}, "\n\n".join(sections))


@command(group, "erase-psu")
def erase_psu(consent_id: Annotated[str, typer.Argument(metavar="CONSENT_ID", help="An ended consent.")]) -> Report:
    """Remove the account identifiers that a PSU approved, and report the remaining data.

    The consent must have ended; use `consents revoke` to end it. The service identifies a PSU only by consents, so run
    the command for each of the PSU's consents.

    \b
    Example:
      .venv/bin/python -m infra.admin retention erase-psu 0f8c27b3a1d94e6f5a7b0c
    """
    return _report("PSU", consents.erase_consent(connection.connect(), consent_id))


@command(group, "erase-user")
def erase_user(email: Annotated[str, typer.Argument(metavar="EMAIL", help="The user's login name.")]) -> Report:
    """Remove a user of the web interface with all sessions and journeys, and report the remaining data.

    The user's clients must be archived; see `clients archive`.

    \b
    Example:
      .venv/bin/python -m infra.admin retention erase-user ada@example.com
    """
    return _report("user", users.erase_user(connection.connect(), email))


@command(group, "erase-holder")
def erase_holder(holder_id: Annotated[int, typer.Argument(metavar="HOLDER_ID", help="The holder's id.")]) -> Report:
    """Remove a card holder's data that no law requires to be kept, and report the remaining data.

    All accounts must be closed (C), and all cards blocked (B), expired (E) or never activated (N). The command reads
    the whole table of cards.

    \b
    Example:
      .venv/bin/python -m infra.admin retention erase-holder 17
    """
    return _report("card holder", holders.erase_holder(connection.connect(), holder_id))


@command(group, "remove")
def remove(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be removed.")] = False,
) -> Report:
    """Remove expired data: consents and payments after five years, and holders five years after their accounts were
    closed.

    Run this command monthly. It reads three whole tables, and can be interrupted and repeated.

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
    return [partial(remove_one, hub, each) for each in due]


def _report(person: Person, removed: list[str]) -> Report:
    stays = kinds_of_person(person)
    members = [{"name": kind.name, "data": kind.data, "kept": kind.retention, "reason": kind.reason} for kind in stays]
    done = ["Removed:", *_describe([BY_NAME[name] for name in removed])] if removed else ["Nothing was left to remove."]
    text = "\n".join([*done, "", "What stays:", *_describe(stays, _reason)])
    return Report({"removed": removed, "stays": members}, text)


def _describe(kinds: Iterable[Kind], detail: Callable[[Kind], str] | None = None) -> Iterator[str]:
    for kind in kinds:
        yield f"  {kind.name:<{_NAME_WIDTH}}{kind.data}"
        if detail is not None:
            indent = " " * 6
            yield from textwrap.wrap(
                detail(kind), _LINE_WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
            )


def _removal(kind: Kind) -> str:
    """Describe the removal of a kind of data, in the format of docs/reference/retention.md."""
    on_request = "Removed" if kind.on_request else "Stays"
    return f"Kept: {kind.retention}. Then removed by: {kind.removal}. On request: {on_request}."


def _reason(kind: Kind) -> str:
    return f"Kept: {kind.retention}. Why: {kind.reason}."
