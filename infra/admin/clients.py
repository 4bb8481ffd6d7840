"""Commands for clients, the registered applications of TPPs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.settings import MOST_CALLS_PER_MINUTE
from chalicelib.openbanking.flows.tpp_events import NoEvents
from chalicelib.openbanking.records.client_record import Registered
from chalicelib.openbanking.records.client_validation import Details
from chalicelib.website.accounts.account_flow import find_owner
from infra.admin import client_security, client_titles, connection, output
from infra.admin.client_report import change_members, client_members, format_events_secret, summarize_change
from infra.admin.output import CommandRefused, Report, command, command_group, format_members, format_table

group = command_group("Add, list, activate and deactivate clients (TPPs), and manage their events.")

EventsOption = Annotated[
    Literal["poll", "none"] | None,
    typer.Option(
        "--events",
        help="Without an Events URL: poll records its events, which it fetches from GET /tpp/events; none stops them.",
    ),
]
CallsOption = Annotated[
    int | None,
    typer.Option(min=0, max=MOST_CALLS_PER_MINUTE, help="Its limit of calls in each process; 0: that of the setting."),
]
ClientArgument = Annotated[str, typer.Argument(metavar="CLIENT-ID", help="The Client ID.")]


@command(group, "add")
def add(
    owner: Annotated[
        str,
        typer.Option(
            metavar="CODE-OR-EMAIL",
            help="The owner: the code that the user sees at /account, or the email of a user who was "
            "created with `users add` or has confirmed the address.",
        ),
    ],
    title: Annotated[str, typer.Option(help="The name that PSUs see at their bank; 1 to 128 characters.")],
    callback_url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Where banks send PSUs back; up to ten, the first is the default. Default: the service's own page.",
        ),
    ] = None,
    registration_number: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The TPP's number, shown to banks. Default: a sandbox number.")
    ] = None,
    events_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where its events are sent. Default: no events.")
    ] = None,
    events: EventsOption = None,
    secret: Annotated[
        bool,
        typer.Option(
            "--secret", help="Create a client secret, which is then required. In prod, one is always created."
        ),
    ] = False,
    inactive: Annotated[
        bool, typer.Option("--inactive", help="Register it as inactive: all its calls are refused.")
    ] = False,
    auth_method: client_security.MethodOption = None,
    jwks: client_security.JwksOption = None,
    profile: client_security.ProfileOption = None,
    pushed_requests: client_security.PushedOption = None,
    bound_tokens: client_security.BindingOption = None,
    dpop_nonce: client_security.NonceOption = None,
    certificate_subject: client_security.SubjectOption = None,
    organization_identifier: client_security.OrganizationOption = None,
) -> Report:
    """Register a client; print its Client ID and, once, its secrets.

    A client with an Events URL gets a secret to verify its events. A user's code can be used once, also if refused.

    A client that authenticates with a key has no secret. The profile fapi2 requires private_key_jwt or tls_client_auth,
    pushed authorization requests, and sender-constrained access tokens.

    \b
    Examples:
      .venv/bin/python -m infra.admin clients add --owner ada@example.com --title "Budget Friend" --secret
        --callback-url https://tpp.example.com/callback
      .venv/bin/python -m infra.admin clients add --owner ada@example.com --title "Budget Friend"
        --callback-url https://tpp.example.com/callback --auth-method private_key_jwt --jwks jwks.json --profile fapi2
    """
    security = client_security.read_changes(
        method=auth_method,
        jwks=jwks,
        profile=profile,
        pushed=pushed_requests,
        binding=bound_tokens,
        nonce=dpop_nonce,
        subject=certificate_subject,
        organization=organization_identifier,
    )
    hub = connection.connect()
    made = hub.openbanking.clients.create(
        owner=hub.website.call(find_owner, owner).email,
        title=title,
        callback_urls=callback_url or (),
        secret=secret,
        registration_number=registration_number,
        events_url=events_url,
        events=events,
        active=not inactive,
        security=security,
    )
    return _report_made(made)


def _report_made(made: Registered) -> Report:
    members = client_members(made.client)
    secret = f"\n\nThe client's secret: {made.secret}\n{output.ONCE}" if made.secret else ""
    data = {"client": members, "client_secret": made.secret, "events_secret": made.events_secret}
    return client_titles.with_warning(
        Report(data, f"{format_members(members)}{secret}{format_events_secret(made)}"), made.client
    )


@command(group, "list")
def list_clients(
    owner: Annotated[str | None, typer.Option(metavar="EMAIL", help="Only this user's clients.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="List the archived clients instead.")] = False,
) -> Report:
    """List all clients, or the clients of one user. Archived clients are listed only with --archived.

    \b
    Example:
      .venv/bin/python -m infra.admin clients list --owner ada@example.com
    """
    found = connection.connect().openbanking.clients.all(owner.strip().lower() if owner else None)
    listed = (client_members(client) for client in found if client.is_archived == archived)
    rows = sorted(listed, key=lambda row: (row["owner"], row["client_id"]))
    columns = ("client_id", "title", "owner", "active", "has_secret", "has_events_secret", "registration_number")
    return Report({"clients": rows}, format_table(rows, columns) if rows else "There are no clients.")


@command(group, "show")
def show(client_id: ClientArgument) -> Report:
    """Show a client and its changes, newest first.

    \b
    Example:
      .venv/bin/python -m infra.admin clients show 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    clients = connection.connect().openbanking.clients
    client = clients.get(client_id)
    changes = [change_members(change) for change in clients.history(client)]
    text = format_members(client_members(client))
    if changes:
        rows = [{**row, "what": summarize_change(row)} for row in changes]
        text += f"\n\n{format_table(rows, ('at', 'by', 'action', 'what'))}"
    return Report({"client": client_members(client), "history": changes}, text)


@command(group, "activate")
def activate(client_id: ClientArgument) -> Report:
    """Allow a client to call the service; warn if its title looks like that of another owner's client.

    \b
    Example:
      .venv/bin/python -m infra.admin clients activate 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    client = connection.connect().openbanking.clients.activate(client_id)
    return client_titles.with_warning(Report({"client": client_members(client)}, f"{client.title} is active."), client)


@command(group, "deactivate")
def deactivate(client_id: ClientArgument) -> Report:
    """Refuse all calls of a client. Its consents are kept.

    \b
    Example:
      .venv/bin/python -m infra.admin clients deactivate 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    client = connection.connect().openbanking.clients.deactivate(client_id)
    return Report({"client": client_members(client)}, f"{client.title} is no longer active.")


@command(group, "archive")
def archive(client_id: ClientArgument) -> Report:
    """Deactivate a client and hide it from lists. Restore it before you change it. Consents and history are kept.

    \b
    Example:
      .venv/bin/python -m infra.admin clients archive 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    client = connection.connect().openbanking.clients.archive(client_id)
    return Report({"client": client_members(client)}, f"{client.title} is archived.")


@command(group, "restore")
def restore(client_id: ClientArgument) -> Report:
    """Restore an archived client. The client stays inactive until `clients activate`.

    \b
    Example:
      .venv/bin/python -m infra.admin clients restore 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    client = connection.connect().openbanking.clients.restore(client_id)
    return Report({"client": client_members(client)}, f"{client.title} is restored, and inactive.")


@command(group, "registration-number")
def registration_number(
    client_id: ClientArgument,
    number: Annotated[str, typer.Argument(metavar="NUMBER", help="The TPP's number at its competent authority.")],
) -> Report:
    """Set the registration number that banks show to PSUs.

    Until it is set, a client that a user created in production has a placeholder number.

    \b
    Example:
      .venv/bin/python -m infra.admin clients registration-number 99391c7e-ad88-49ec-a2ad-99ddcb1f7721 PSDGB-FCA-123456
    """
    client = connection.connect().openbanking.clients.update(client_id, registration_number=number).client
    return Report({"client": client_members(client)}, f"{client.title} has the registration number {number}.")


@command(group, "update")
def update(
    client_id: ClientArgument,
    title: Annotated[
        str | None, typer.Option(help="The name that PSUs see at their bank; 1 to 128 characters.")
    ] = None,
    callback_url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="Where banks send PSUs back; replaces all current URLs, the first is the default."
        ),
    ] = None,
    events_url: Annotated[str | None, typer.Option(metavar="URL", help="Where its events are sent.")] = None,
    no_events_url: Annotated[bool, typer.Option("--no-events-url", help="Stop sending events.")] = False,
    events: EventsOption = None,
    calls_per_minute: CallsOption = None,
    auth_method: client_security.MethodOption = None,
    jwks: client_security.JwksOption = None,
    profile: client_security.ProfileOption = None,
    pushed_requests: client_security.PushedOption = None,
    bound_tokens: client_security.BindingOption = None,
    dpop_nonce: client_security.NonceOption = None,
    certificate_subject: client_security.SubjectOption = None,
    organization_identifier: client_security.OrganizationOption = None,
) -> Report:
    """Change a client's title, Callback URLs, Events URL, call limit or security. Other settings do not change.

    The Callback URLs that you pass, up to ten, replace all current ones. Remove a URL no sooner than half an hour after
    the client last used it: pending authorizations that use it would end at an error page. When a client first gets an
    Events URL, it also gets a secret to verify its events, printed once. The secret is kept when the URL is changed or
    removed.

    A client receives events at its Events URL or by polling: --events poll removes the Events URL, and setting an
    Events URL ends polling. Events recorded before the change can be fetched for 30 days; to fetch events, the client
    must authenticate.

    A new --auth-method replaces the previous method and its keys or secrets. If the new method needs a secret, a new
    secret is created and printed once.

    \b
    Examples:
      .venv/bin/python -m infra.admin clients update 99391c7e-ad88-49ec-a2ad-99ddcb1f7721 --title "Budget Friend"
      .venv/bin/python -m infra.admin clients update 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
        --callback-url https://tpp.example.com/callback --callback-url https://new.example.com/callback
      .venv/bin/python -m infra.admin clients update 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
        --auth-method private_key_jwt --jwks https://tpp.example.com/jwks.json --bound-tokens dpop
      .venv/bin/python -m infra.admin clients update 99391c7e-ad88-49ec-a2ad-99ddcb1f7721 --events poll
      .venv/bin/python -m infra.admin clients update 99391c7e-ad88-49ec-a2ad-99ddcb1f7721 --calls-per-minute 600
    """
    if events_url is not None and no_events_url:
        raise typer.BadParameter("--events-url and --no-events-url exclude each other")
    details = Details()
    if title is not None:
        details["title"] = title
    if callback_url:
        details["callback_urls"] = callback_url
    if events_url is not None or no_events_url:
        details["events_url"] = events_url
    if events is not None:
        details["events"] = events
    if calls_per_minute is not None:
        details["calls_per_minute"] = calls_per_minute or None
    security = client_security.read_changes(
        method=auth_method,
        jwks=jwks,
        profile=profile,
        pushed=pushed_requests,
        binding=bound_tokens,
        nonce=dpop_nonce,
        subject=certificate_subject,
        organization=organization_identifier,
    )
    if security:
        details["security"] = security
    if not details:
        raise typer.BadParameter("pass at least one change, for example --title or --auth-method")
    return _report_made(connection.connect().openbanking.clients.update(client_id, **details))


@command(group, "rotate-secret")
def rotate_secret(
    client_id: ClientArgument,
    overlap: Annotated[
        int, output.overlap_option("How long the old secret is also accepted; 0: not at all.")
    ] = output.OVERLAP,
) -> Report:
    """Create a new secret for a client and print it, once.

    During the overlap the client may use either secret. At most two are accepted: another rotation within the overlap
    invalidates the oldest. If a secret is compromised, use --overlap 0, which invalidates the old secret immediately.

    A client without a secret gets its first secret, and must authenticate with this secret from now on.

    \b
    Examples:
      .venv/bin/python -m infra.admin clients rotate-secret 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
      .venv/bin/python -m infra.admin clients rotate-secret 99391c7e-ad88-49ec-a2ad-99ddcb1f7721 --overlap 0
    """
    made = connection.connect().openbanking.clients.rotate_secret(client_id, overlap)
    ends = next((timestamp(entry.valid_until) for entry in made.client.secrets if entry.valid_until), None)
    text = output.format_new_secret(made.client.title, made.secret, "is accepted", ends)
    return Report({"client": client_members(made.client), "client_secret": made.secret, "old_until": ends}, text)


@command(group, "events-url")
def events_url(
    client_id: ClientArgument,
    url: Annotated[str | None, typer.Argument(metavar="URL", help="Where its events are sent.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Stop sending events.")] = False,
) -> Report:
    """Set or remove a client's Events URL.

    When a client first gets an Events URL, it also gets a secret to verify its events, printed once. The secret is
    kept when the URL is changed or removed.

    \b
    Examples:
      .venv/bin/python -m infra.admin clients events-url 99391c7e-ad88-49ec-a2ad-99ddcb1f7721 https://tpp.example.com/events
      .venv/bin/python -m infra.admin clients events-url 99391c7e-ad88-49ec-a2ad-99ddcb1f7721 --none
    """
    if (url is None) != none:
        raise typer.BadParameter("pass either the URL or --none")
    made = connection.connect().openbanking.clients.update(client_id, events_url=url)
    where = f"go to {url}" if url else "are no longer sent"
    text = f"The events of {made.client.title} {where}.{format_events_secret(made)}"
    return Report({"client": client_members(made.client), "events_secret": made.events_secret}, text)


@command(group, "rotate-events-secret")
def rotate_events_secret(client_id: ClientArgument, overlap: output.EventsOverlap = output.OVERLAP) -> Report:
    """Create a new secret for a client's events and print it, once.

    During the overlap every event carries two signatures, so the client can verify it with either secret. At most two
    are in use: another rotation within the overlap invalidates the oldest.

    If a secret is compromised, use --overlap 0: the old secret signs no further events, and the client cannot verify
    events until it has the new secret.

    \b
    Examples:
      .venv/bin/python -m infra.admin clients rotate-events-secret 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
      .venv/bin/python -m infra.admin clients rotate-events-secret 99391c7e-ad88-49ec-a2ad-99ddcb1f7721 --overlap 0
    """
    made = connection.connect().openbanking.clients.rotate_events_secret(client_id, overlap)
    ends = next((timestamp(entry.valid_until) for entry in made.client.event_secrets if entry.valid_until), None)
    text = output.format_new_secret(f"the events of {made.client.title}", made.events_secret, "signs", ends)
    data = {"client": client_members(made.client), "events_secret": made.events_secret, "old_until": ends}
    return Report(data, text)


@command(group, "test-event")
def send_test_event(client_id: ClientArgument) -> Report:
    """Send a client a test event, delivered or recorded for fetching like any other event.

    \b
    Example:
      .venv/bin/python -m infra.admin clients test-event 99391c7e-ad88-49ec-a2ad-99ddcb1f7721
    """
    hub = connection.connect()
    client = hub.openbanking.clients.get(client_id)
    try:
        event_id = hub.openbanking.tpp_events.send_test(client)
    except NoEvents:
        raise CommandRefused(
            "the client has no Events URL: set one with `clients events-url`, or use `clients update --events poll`"
        ) from None
    if client.events_mode == "poll":
        return Report({"event_id": event_id}, f"A test event is recorded for GET /tpp/events: {event_id}")
    text = (
        f"A test event is being sent to {client.events_url}: {event_id}\n"
        f"Its result: .venv/bin/python -m infra.admin deliveries show {event_id}"
    )
    return Report({"delivery_id": event_id}, text)
