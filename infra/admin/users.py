"""Commands for users of the web interface."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from chalicelib.bootstrap import Hub
from chalicelib.foundation.clock import timestamp
from chalicelib.website.accounts.account_flow import OPERATOR_LINK_SECONDS, issue_operator_link, link_manager
from chalicelib.website.records.users import User
from infra.admin import connection
from infra.admin.output import ONCE, CommandRefused, Report, command, command_group, format_members

group = command_group("Users of the web interface.")


EmailArgument = Annotated[str, typer.Argument(metavar="EMAIL", help="The user's login name.")]


@command(group, "add")
def add(
    email: EmailArgument,
    terms_accepted: Annotated[
        bool, typer.Option("--terms-accepted", help="The user has already accepted the terms and is not asked again.")
    ] = False,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input instead of creating a link.")
    ] = False,
) -> Report:
    """Create a user, and print a one-time link to set a password.

    Send the link only to this person: anyone who opens it can access the account. --password-stdin sets a password
    directly; it requires --terms-accepted.

    \b
    Examples:
      .venv/bin/python -m infra.admin users add ada@example.com
      pass show ada | .venv/bin/python -m infra.admin users add ada@example.com --terms-accepted --password-stdin
    """
    hub = connection.connect()
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
    user = hub.website.users.add(email, password, terms_accepted=terms_accepted)
    said = f"{user.email} is registered."
    return Report({"user": _user_members(user)}, said) if password_stdin else _report_link(hub, user, said)


@command(group, "link")
def link(
    code_or_email: Annotated[
        str,
        typer.Argument(
            metavar="CODE-OR-EMAIL",
            help="The code that the user sees at /account, or the email of a user who was created with `users add` or "
            "has confirmed the address.",
        ),
    ],
    manager: Annotated[int, typer.Option("--manager", metavar="MANAGER-ID", help="The programme manager's id.")],
) -> Report:
    """Allow a user to manage a programme manager's cards and to use the simulator in the web interface.

    A user can be linked to one programme manager; a new link replaces the previous link. The link takes effect
    immediately. A registered email address does not prove a person's identity, but a code does: ask the person to read
    the code to you.

    \b
    Examples:
      .venv/bin/python -m infra.admin users link 7KQM-2ZTD-X9RW --manager 1
      .venv/bin/python -m infra.admin users link ada@example.com --manager 1
    """
    hub = connection.connect()
    found = hub.cards.programmes.set_up(manager)
    if not found.revision:
        raise CommandRefused(f"there is no programme manager {manager}: load one with `programme load`")
    user = hub.website.call(link_manager, code_or_email, manager)
    return Report({"user": _user_members(user)}, f"{user.email} sees the cards of {found.catalogue.name} ({manager}).")


@command(group, "unlink")
def unlink(email: EmailArgument) -> Report:
    """Remove a user's access to cards, starting with the next page view.

    \b
    Example:
      .venv/bin/python -m infra.admin users unlink ada@example.com
    """
    user = connection.connect().website.users.unlink_manager(email)
    return Report({"user": _user_members(user)}, f"{user.email} sees no cards.")


@command(group, "deactivate")
def deactivate(email: EmailArgument) -> Report:
    """Prevent a user from signing in, and end all the user's sessions. The user's clients stay active.

    \b
    Example:
      .venv/bin/python -m infra.admin users deactivate ada@example.com
    """
    user = connection.connect().website.users.deactivate(email)
    return Report({"user": _user_members(user)}, f"{user.email} is signed out everywhere and can no longer sign in.")


@command(group, "activate")
def activate(email: EmailArgument) -> Report:
    """Allow a user to sign in again.

    \b
    Example:
      .venv/bin/python -m infra.admin users activate ada@example.com
    """
    user = connection.connect().website.users.activate(email)
    return Report({"user": _user_members(user)}, f"{user.email} can sign in.")


@command(group, "reset-password")
def reset_password(
    email: EmailArgument,
    at_once: Annotated[
        bool,
        typer.Option(
            "--at-once",
            help="Invalidate the current password and all sessions now, because the password is compromised.",
        ),
    ] = False,
) -> Report:
    """Print a one-time link with which a user sets a new password.

    Send the link over a channel that only this person reads. The current password stays valid until the link is used;
    with --at-once it is invalidated immediately.

    \b
    Examples:
      .venv/bin/python -m infra.admin users reset-password ada@example.com
      .venv/bin/python -m infra.admin users reset-password ada@example.com --at-once
    """
    hub = connection.connect()
    user = hub.website.users.get(email)
    if not user.active:
        raise CommandRefused(f"{user.email} is deactivated: activate the user first with `users activate`")
    if at_once:
        user = hub.website.users.remove_password(email)
    return _report_link(hub, user, f"{user.email} can set a new password.")


@command(group, "show")
def show(email: EmailArgument) -> Report:
    """Show a user: how the account was created, whether the address is confirmed, and the linked programme manager.

    \b
    Example:
      .venv/bin/python -m infra.admin users show ada@example.com
    """
    user = connection.connect().website.users.get(email)
    return Report({"user": _user_members(user)}, format_members(_user_members(user)))


def _report_link(hub: Hub, user: User, said: str) -> Report:
    address = hub.website.call(issue_operator_link, user)
    once = f"It can be used once, within {OPERATOR_LINK_SECONDS // 3600} hours. {ONCE}"
    text = f"{said}\n\nLink to set a password: {address}\n{once}"
    return Report({"user": _user_members(user), "password_link": address}, text)


def _user_members(user: User) -> dict[str, Any]:
    return {
        **{name: getattr(user, name) for name in ("email", "active", "manager_id", "made_by_operator", "has_password")},
        "created_at": timestamp(user.created_at),
        "confirmed_at": timestamp(user.confirmed_at) if user.confirmed_at else None,
        "terms_accepted_at": timestamp(user.terms_accepted_at) if user.terms_accepted_at else None,
    }
