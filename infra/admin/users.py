"""Commands for users of the web interface."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from chalicelib.foundation.clock import timestamp
from chalicelib.website.users import User
from infra.admin import connection
from infra.admin.output import AsJson, Refused, Report, reporting

group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Users of the web interface.")


EmailArgument = Annotated[str, typer.Argument(metavar="EMAIL", help="The login name.")]


@group.command("add")
@reporting
def add(
    email: EmailArgument,
    terms_accepted: Annotated[
        bool, typer.Option("--terms-accepted", help="The user has accepted the terms; nobody is registered without.")
    ] = False,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Take the password from standard input and do not ask.")
    ] = False,
    as_json: AsJson = False,
) -> Report:
    """Register a user, who may then own clients. The password is asked for, and never printed.

    \b
    Examples:
      .venv/bin/python -m infra.admin users add ada@example.com --terms-accepted
      pass show ada | .venv/bin/python -m infra.admin users add ada@example.com --terms-accepted --password-stdin
    """
    hub = connection.connect()
    if password_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    elif as_json:
        raise Refused("with --json the password is taken from standard input: give --password-stdin")
    else:
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    user = hub.users.register(email, password, terms_accepted=terms_accepted)
    data = {"user": {"email": user.email, "created_at": timestamp(user.created_at)}}
    return Report(data, f"{user.email} is registered.")


@group.command("link")
@reporting
def link(
    email: EmailArgument,
    manager: Annotated[int, typer.Option("--manager", metavar="MANAGER-ID", help="The programme manager's id.")],
    as_json: AsJson = False,
) -> Report:
    """Have a user see the cards of a programme manager in the web interface, and use them in its simulator.

    A user sees the cards of one programme manager: another link replaces the one before. It holds at once.

    \b
    Example:
      .venv/bin/python -m infra.admin users link ada@example.com --manager 1
    """
    hub = connection.connect()
    found = hub.programmes.set_up(manager)
    if not found.revision:
        raise Refused(f"there is no programme manager {manager}: load one with `programme load`")
    user = hub.users.link(email, manager)
    return Report(_linked(user), f"{user.email} sees the cards of {found.catalogue.name} ({manager}).")


@group.command("unlink")
@reporting
def unlink(email: EmailArgument, as_json: AsJson = False) -> Report:
    """Have a user see no cards any more, from the next page on.

    \b
    Example:
      .venv/bin/python -m infra.admin users unlink ada@example.com
    """
    user = connection.connect().users.unlink(email)
    return Report(_linked(user), f"{user.email} sees no cards.")


def _linked(user: User) -> dict[str, Any]:
    return {"user": {"email": user.email, "manager_id": user.manager_id}}
