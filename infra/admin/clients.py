"""Commands for clients: the TPPs that may use the service."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from chalicelib.foundation.clock import timestamp
from chalicelib.openbanking.clients import Client, Clients, UnknownClient
from infra.admin import connection
from infra.admin.output import ONCE, AsJson, Refused, Report, listing, reporting, table

group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Clients (TPPs): add, list, switch on and off.")

ClientArgument = Annotated[str, typer.Argument(metavar="CLIENT-ID", help="The Client ID.")]


@group.command("add")
@reporting
def add(
    owner: Annotated[str, typer.Option(metavar="EMAIL", help="The user it belongs to.")],
    title: Annotated[str, typer.Option(help="What PSUs see at their bank; 1 to 128 characters.")],
    callback_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where PSUs come back to. The service's own page when left out.")
    ] = None,
    registration_number: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The TPP's number, shown to banks. A sandbox's when left out.")
    ] = None,
    events_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where its events are sent. None when left out.")
    ] = None,
    secret: Annotated[
        bool,
        typer.Option("--secret", help="Make a client secret, which is then required. In prod there always is one."),
    ] = False,
    inactive: Annotated[bool, typer.Option("--inactive", help="Register it without letting it call.")] = False,
    as_json: AsJson = False,
) -> Report:
    """Register a client and print its Client ID and, once, its secret.

    \b
    Example:
      python -m infra.admin clients add --owner ada@example.com --title "Budget Friend" --secret
        --callback-url https://tpp.example.com/callback
    """
    hub = connection.connect()
    user = hub.users.find(owner)
    if user is None:
        raise Refused(f"no user has the email {owner}: register one with `users add`")
    client, plain = hub.clients.create(
        owner=user.email,
        title=title,
        callback_url=callback_url,
        secret=secret,
        registration_number=registration_number,
        events_url=events_url,
        active=not inactive,
    )
    text = _described(client)
    if plain:
        text += f"\n\nThe client's secret: {plain}\n{ONCE}"
    return Report({"client": _members(client), "client_secret": plain}, text)


@group.command("list")
@reporting
def list_clients(
    owner: Annotated[str | None, typer.Option(metavar="EMAIL", help="Only those of one user.")] = None,
    as_json: AsJson = False,
) -> Report:
    """List clients, of everybody or of one user.

    \b
    Example:
      python -m infra.admin clients list --owner ada@example.com
    """
    found = connection.connect().clients.all(owner.strip().lower() if owner else None)
    rows = sorted((_members(client) for client in found), key=lambda row: (row["owner"], row["client_id"]))
    columns = ("client_id", "title", "owner", "active", "has_secret", "registration_number")
    return Report({"clients": rows}, table(rows, columns) if rows else "There are no clients.")


@group.command("show")
@reporting
def show(client_id: ClientArgument, as_json: AsJson = False) -> Report:
    """Show one client.

    \b
    Example:
      python -m infra.admin clients show 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    try:
        client = connection.connect().clients.get(client_id)
    except UnknownClient:
        raise _unknown(client_id) from None
    return Report({"client": _members(client)}, _described(client))


@group.command("activate")
@reporting
def activate(client_id: ClientArgument, as_json: AsJson = False) -> Report:
    """Let a client call the service.

    \b
    Example:
      python -m infra.admin clients activate 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    return _switch(connection.connect().clients, client_id, active=True)


@group.command("deactivate")
@reporting
def deactivate(client_id: ClientArgument, as_json: AsJson = False) -> Report:
    """Refuse every call of a client from now on; its consents stay.

    \b
    Example:
      python -m infra.admin clients deactivate 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    return _switch(connection.connect().clients, client_id, active=False)


def _switch(clients: Clients, client_id: str, *, active: bool) -> Report:
    try:
        client = clients.activate(client_id) if active else clients.deactivate(client_id)
    except UnknownClient:
        raise _unknown(client_id) from None
    return Report({"client": _members(client)}, f"{client.title} is {'active' if active else 'not active any more'}.")


def _unknown(client_id: str) -> Refused:
    return Refused(f"no client has the id {client_id}")


def _members(client: Client) -> dict[str, Any]:
    """A client without what its secret is recognised by."""
    return {
        "client_id": client.client_id,
        "title": client.title,
        "owner": client.owner,
        "active": client.active,
        "callback_url": client.callback_url,
        "registration_number": client.registration_number,
        "events_url": client.events_url,
        "has_secret": client.secret_digest is not None,
        "created_at": timestamp(client.created_at),
    }


def _described(client: Client) -> str:
    return listing(_members(client))
