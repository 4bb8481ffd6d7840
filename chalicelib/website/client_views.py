"""Clients: the list, the form for a new one, and the view of one."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from chalice.app import Response

from chalicelib.bootstrap import hub
from chalicelib.foundation import event_signing
from chalicelib.openbanking.clients import TITLE_LENGTH, Client, ClientExists, Identity, InvalidClient, UnknownClient
from chalicelib.openbanking.events import NoEventsUrl
from chalicelib.website.attempts import TooManyAttempts
from chalicelib.website.listing import cut
from chalicelib.website.own_clients import newest_first
from chalicelib.website.pages import NO_REFERRER, Visit, go, link, message, page
from chalicelib.website.wording import about_field, patience

_DONE = {
    "created": "This client was created already: the form was sent twice. Its secrets are not shown again.",
    "repeated": "The form was sent twice: this is the client that it made the first time, as it said then.",
    "activated": "The client is active again.",
    "deactivated": "The client is not active any more: every call of it is refused.",
}


def listed(visit: Visit) -> Response:
    """``GET /clients``: a user's own, the newest first, by ``title``, ``client_id`` and ``active``."""
    clients = newest_first(hub().clients, visit.user)
    found = [client for client in clients if _fits(visit, client)]
    wanted = {name: visit.field(name) for name in ("title", "client_id", "active") if visit.field(name)}
    part = cut(found, visit.field("page"))
    return page(visit, "clients.html", part=part, total=len(clients), wanted=wanted)


def new(visit: Visit) -> Response:
    """``GET /clients/new``."""
    return _form(visit, {})


def create(visit: Visit) -> Response:
    """``POST /clients/new``: shows the client and, once, its secrets. A form sent twice makes one client."""
    settings, identity = hub().settings, _identity(visit)
    try:
        made = hub().clients.create(
            owner=visit.user,
            title=visit.field("title"),
            callback_url=visit.field("callback_url").strip() or None,
            secret=visit.field("secret") == "yes",
            registration_number=(visit.field("registration_number").strip() or None) if settings.is_sandbox else None,
            events_url=visit.field("events_url").strip() or None,
            active=visit.field("active") == "yes" and settings.is_sandbox,
            identity=identity,
        )
    except InvalidClient as error:
        return _form(visit, {error.member: about_field(error.member, str(error))}, 400)
    except ClientExists:
        return go(f"/clients/{identity.client_id}", done="created")
    done = _DONE["repeated"] if made.repeated else ""
    return _shown(visit, made.client, status=201, done=done, secret=made.secret, events_secret=made.events_secret)


def single(visit: Visit) -> Response:
    """``GET /clients/{client_id}``."""
    try:
        client = _own(visit)
    except UnknownClient:
        return _not_found(visit)
    is_so = {"activated": client.active, "deactivated": not client.active}.get(visit.field("done"), True)
    return _shown(visit, client, done=_DONE.get(visit.field("done"), "") if is_so else "")


def change(visit: Visit) -> Response:
    """``POST /clients/{client_id}``: ``action`` is ``activate``, ``deactivate`` or ``test-event``."""
    client_id, action, clients = visit.incoming.uri["client_id"], visit.field("action"), hub().clients
    try:
        if action == "deactivate":
            clients.deactivate(client_id, visit.user)
            return go(f"/clients/{client_id}", done="deactivated")
        if action == "activate" and hub().settings.is_sandbox:
            clients.activate(client_id, visit.user)
            return go(f"/clients/{client_id}", done="activated")
        client = _own(visit)
        if action == "test-event" and client.active:
            hub().attempts.count([("events", visit.user)])
            return go(f"/deliveries/{hub().events.test(client)}", done="sent")
    except UnknownClient:
        return _not_found(visit)
    except TooManyAttempts as stopped:
        return _shown(visit, client, status=429, problem=patience(stopped.retry_after))
    except NoEventsUrl:
        return _shown(visit, client, status=400, problem="The client has no Events URL: there is nowhere to send to.")
    return _shown(
        visit, client, status=400, problem="This cannot be done with the client as it is. Nothing was changed."
    )


def _own(visit: Visit) -> Client:
    """The client that the address names, if it is the user's. Raises: UnknownClient."""
    return hub().clients.get(visit.incoming.uri["client_id"], visit.user)


def _identity(visit: Visit) -> Identity:
    """What makes the client of a form itself: the same, however often the form is sent."""
    drafts, owner = hub().drafts, visit.user
    draft = drafts.read(visit.field("draft"))
    return Identity(
        client_id=str(UUID(bytes=drafts.bits(draft, owner, "client id")[:16], version=4)),
        secret=drafts.text(draft, owner, "client secret"),
        events_secret=event_signing.secret_of(drafts.bits(draft, owner, "events secret")),
    )


def _fits(visit: Visit, client: Client) -> bool:
    """Whether a client is one that the filter asks for."""
    active = {"yes": True, "no": False}.get(visit.field("active"))
    return (
        visit.field("title").strip().casefold() in client.title.casefold()
        and visit.field("client_id").strip().lower() in client.client_id
        and active in (None, client.active)
    )


def _form(visit: Visit, errors: dict[str, str], status: int = 200) -> Response:
    names: Sequence[str] = ("title", "callback_url", "registration_number", "events_url")
    given = {name: visit.field(name) for name in names} if visit.is_post else dict.fromkeys(names, "")
    given["callback_url"] = given["callback_url"] or hub().clients.default_callback
    return page(
        visit,
        "client_new.html",
        status=status,
        errors=errors,
        given=given,
        active=visit.field("active") == "yes" or not visit.is_post,
        secret=visit.field("secret") == "yes",
        draft=hub().drafts.read(visit.field("draft")),
        title_length=TITLE_LENGTH,
    )


def _shown(
    visit: Visit,
    client: Client,
    *,
    status: int = 200,
    done: str = "",
    problem: str = "",
    secret: str | None = None,
    events_secret: str | None = None,
) -> Response:
    return page(
        visit,
        "client.html",
        status=status,
        referrer=NO_REFERRER if secret or events_secret else "same-origin",
        client=client,
        done=done,
        problem=problem,
        secret=secret,
        events_secret=events_secret,
        default_callback=hub().clients.default_callback,
    )


def _not_found(visit: Visit) -> Response:
    return message(
        visit,
        "No such client",
        "None of your clients has this Client ID.",
        "Choose one of the list.",
        status=404,
        link=link("/clients"),
        label="To the clients",
    )
