"""Commands for users of the web interface."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from chalicelib.foundation.clock import timestamp
from infra.admin import connection
from infra.admin.output import AsJson, Refused, Report, reporting

group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Users of the web interface.")


@group.callback()
def users() -> None:
    """Users of the web interface."""


@group.command("add")
@reporting
def add(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="The login name.")],
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
      python -m infra.admin users add ada@example.com --terms-accepted
      pass show causeway/ada | python -m infra.admin users add ada@example.com --terms-accepted --password-stdin
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
