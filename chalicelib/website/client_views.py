"""Clients: the list, the form for a new client, and the page on which a client is changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from uuid import UUID

from chalice.app import Response

from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.identifiers import digest
from chalicelib.openbanking.flows.tpp_events import NoEvents
from chalicelib.openbanking.records import client_validation
from chalicelib.openbanking.records import clients as client_records
from chalicelib.openbanking.records.client_record import Client, Identity
from chalicelib.website.display_text import LABELS, field_error, retry_advice
from chalicelib.website.notices import TEXTS, Notice
from chalicelib.website.pages import NO_REFERRER, Visit, message_page, page
from chalicelib.website.pagination import newest_first, paginate
from chalicelib.website.records.attempts import TooManyAttempts

_REPEATED = "The form was sent twice: this is the client created the first time."
_OVERLAPS = {"0": "immediately", "3600": "in an hour", "86400": "in a day", "604800": "in a week"}
"""When a replaced secret expires: labels by seconds."""


_CHANGED = "The client was changed after you opened this form. Compare your entries with it, and save again."
_REFUSED = "Please correct the marked field: nothing was changed."
_FIELDS = ("title", "callback_urls", "registration_number", "events_url", "active", "secret")
"""The fields of a client form."""
_NO_ERRORS: Mapping[str, str] = {}


def list_clients(visit: Visit) -> Response:
    """``GET /clients``: the user's clients, newest first, filtered by ``title``, ``client_id`` and ``active``."""
    clients = newest_first(visit.website.openbanking.clients, visit.user)
    found = [client for client in clients if _matches_filter(visit, client)]
    wanted = {name: visit.field(name) for name in ("title", "client_id", "active") if visit.field(name)}
    part = paginate(found, visit.field("page"))
    return page(visit, "clients.html", part=part, total=len(clients), wanted=wanted)


def new_client_form(visit: Visit) -> Response:
    return _new_client_page(visit, {})


def create_client(visit: Visit) -> Response:
    """``POST /clients/new``: show the client and, once, its secrets. A form submitted twice creates one client.

    With ``authorize_at``, the BIC of a bank, continue to the authorization request of a client without secrets.
    """
    settings, identity = visit.website.shared.settings, _derive_identity(visit)
    try:
        made = visit.website.openbanking.clients.create(
            owner=visit.user,
            title=visit.field("title"),
            callback_urls=_field_lines(visit, "callback_urls"),
            secret=visit.field("secret") == "yes",
            registration_number=(visit.field("registration_number").strip() or None) if settings.is_sandbox else None,
            events_url=visit.field("events_url").strip() or None,
            active=visit.field("active") == "yes" and settings.is_sandbox,
            identity=identity,
        )
    except client_validation.InvalidClient as error:
        return _new_client_page(visit, {error.member: field_error(error.member, str(error))}, 400)
    except client_records.ClientExists:
        return visit.redirect_with_notice(f"/clients/{identity.client_id}", Notice.CLIENT_CREATED_BEFORE)
    if visit.field("authorize_at") and not (made.secret or made.events_secret):
        query = {"client_id": made.client.client_id, "bic": visit.field("authorize_at")}
        return visit.redirect_with_notice("/authorize", Notice.CLIENT_CREATED, **query)
    done = _REPEATED if made.repeated else TEXTS[Notice.CLIENT_CREATED]
    return _client_page(visit, made.client, status=201, done=done, secret=made.secret, events_secret=made.events_secret)


def show_client(visit: Visit) -> Response:
    """``GET /clients/{client_id}``; with ``ask=deactivate``, ask whether to deactivate it."""
    try:
        client = _own_client(visit)
    except client_records.UnknownClient:
        return _not_found_page(visit)
    if visit.field("ask") == "deactivate" and client.active:
        return _deactivation_page(visit, client)
    return _client_page(visit, client)


def _deactivation_page(visit: Visit, client: Client) -> Response:
    place = f"/clients/{client.client_id}"
    who = "You can" if visit.website.shared.settings.is_sandbox else "Only the operator can"
    return page(
        visit,
        "question.html",
        referrer=NO_REFERRER,
        title="Deactivate this client?",
        what=f"From then on, all calls of {client.title} are refused.",
        afterwards=f"Its consents stay unchanged. {who} reactivate it.",
        place=place,
        fields={"action": "deactivate"},
        button="Deactivate",
        back=visit.link(place),
        keep="Keep it active",
        has_secret=False,
    )


def change_client(visit: Visit) -> Response:
    """``POST /clients/{client_id}``: run ``action``, one of ``_ACTIONS``."""
    try:
        return _ACTIONS.get(visit.field("action"), _refuse_action)(visit, _own_client(visit))
    except client_records.UnknownClient:
        return _not_found_page(visit)


def _activate(visit: Visit, client: Client) -> Response:
    if not visit.website.shared.settings.is_sandbox:
        return _refuse_action(visit, client)
    visit.website.openbanking.clients.activate(client.client_id, visit.user)
    return visit.redirect_with_notice(f"/clients/{client.client_id}", Notice.CLIENT_ACTIVATED)


def _deactivate(visit: Visit, client: Client) -> Response:
    visit.website.openbanking.clients.deactivate(client.client_id, visit.user)
    return visit.redirect_with_notice(f"/clients/{client.client_id}", Notice.CLIENT_DEACTIVATED)


def _send_test_event(visit: Visit, client: Client) -> Response:
    if not client.active:
        return _refuse_action(visit, client)
    try:
        visit.website.attempts.count([("events", visit.user)])
        event_id = visit.website.openbanking.tpp_events.send_test(client)
        if client.events_mode == "poll":
            return visit.redirect_with_notice(f"/clients/{client.client_id}", Notice.EVENT_RECORDED)
        return visit.redirect_with_notice(f"/deliveries/{event_id}", Notice.EVENT_SENT)
    except TooManyAttempts as stopped:
        return _client_page(visit, client, status=429, problem=retry_advice(stopped.retry_after))
    except NoEvents:
        return _client_page(visit, client, status=400, problem="The client has no Events URL to send to.")


def _update(visit: Visit, client: Client) -> Response:
    """Apply the form, unless the client has changed since the form was opened."""
    title, urls = visit.field("title").strip(), _field_lines(visit, "callback_urls")
    events_url, seen = visit.field("events_url").strip() or None, visit.field("revision")
    try:
        made = visit.website.openbanking.clients.update(
            client.client_id,
            owner=visit.user,
            revision=int(seen) if re.fullmatch("[0-9]{1,9}", seen) else -1,
            title=title,
            callback_urls=urls,
            events_url=events_url,
        )
    except client_validation.InvalidClient as error:
        errors = {error.member: field_error(error.member, str(error))}
        return _client_page(visit, client, status=400, problem=_REFUSED, errors=errors)
    except client_records.ClientChanged:
        client = _own_client(visit)
        if (client.title, list(client.callback_urls), client.events_url) == (title, urls, events_url):
            return visit.redirect_with_notice(f"/clients/{client.client_id}", Notice.CLIENT_CHANGED)
        return _client_page(visit, client, status=409, problem=_CHANGED)
    if made.events_secret:
        return _client_page(visit, made.client, done=TEXTS[Notice.CLIENT_CHANGED], events_secret=made.events_secret)
    return visit.redirect_with_notice(f"/clients/{client.client_id}", Notice.CLIENT_CHANGED)


def _rotate_secret(visit: Visit, client: Client) -> Response:
    """Rotate the client's secret or events secret, and show the new one once. A form submitted twice rotates once."""
    drafts, seconds = visit.website.drafts, visit.field("overlap")
    if seconds not in _OVERLAPS:
        return _refuse_action(visit, client)
    draft, of_events = drafts.read_or_create(visit.field("draft")), visit.field("action") == "rotate-events-secret"
    overlap = int(seconds)
    purpose = f"{visit.field('action')} of {client.client_id}"
    clients = visit.website.openbanking.clients
    try:
        if of_events:
            secret = event_signing.secret_of(drafts.derive_bytes(draft, visit.user, purpose))
            made = clients.rotate_events_secret(client.client_id, overlap, owner=visit.user, secret=secret)
        else:
            secret = drafts.derive_text(draft, visit.user, purpose)
            made = clients.rotate_secret(client.client_id, overlap, owner=visit.user, secret=secret)
    except client_validation.InvalidClient as error:
        return _client_page(visit, client, status=400, problem=field_error(error.member, str(error)))
    is_first = not of_events and (not client.has_secret or (overlap > 0 and len(made.client.secrets) == 1))
    old = "" if is_first else f" The old one ends {_OVERLAPS[seconds]}."
    return _client_page(
        visit,
        made.client,
        done=f"The new secret is valid from now on.{old}",
        secret=made.secret,
        events_secret=made.events_secret,
    )


def _refuse_action(visit: Visit, client: Client) -> Response:
    return _client_page(
        visit, client, status=400, problem="The client's current state does not allow this. Nothing was changed."
    )


_ACTIONS: Mapping[str, Callable[[Visit, Client], Response]] = {
    "activate": _activate,
    "deactivate": _deactivate,
    "test-event": _send_test_event,
    "update": _update,
    "rotate-secret": _rotate_secret,
    "rotate-events-secret": _rotate_secret,
}


def _own_client(visit: Visit) -> Client:
    """The client in the URL, if it belongs to the user. Raises: UnknownClient."""
    return visit.website.openbanking.clients.get(visit.incoming.uri["client_id"], visit.user)


def _derive_identity(visit: Visit) -> Identity:
    """The identity of the client that a form creates: the same if the form is submitted again with the same input."""
    drafts, owner = visit.website.drafts, visit.user
    draft = drafts.read_or_create(visit.field("draft"))
    of = digest("\x1f".join(visit.field(name) for name in _FIELDS))
    return Identity(
        client_id=str(UUID(bytes=drafts.derive_bytes(draft, owner, f"client id {of}")[:16], version=4)),
        secret=drafts.derive_text(draft, owner, f"client secret {of}"),
        events_secret=event_signing.secret_of(drafts.derive_bytes(draft, owner, f"events secret {of}")),
    )


def _field_lines(visit: Visit, name: str) -> list[str]:
    return [line.strip() for line in visit.field(name).splitlines() if line.strip()]


def _matches_filter(visit: Visit, client: Client) -> bool:
    active = {"yes": True, "no": False}.get(visit.field("active"))
    return (
        visit.field("title").strip().casefold() in client.title.casefold()
        and visit.field("client_id").strip().lower() in client.client_id
        and active in (None, client.active)
    )


def _new_client_page(visit: Visit, errors: dict[str, str], status: int = 200) -> Response:
    given = {name: visit.field(name) if visit.is_post else "" for name in _FIELDS}
    given["callback_urls"] = given["callback_urls"] or visit.website.openbanking.clients.default_callback
    return page(
        visit,
        "client_new.html",
        status=status,
        errors=errors,
        focus=next(iter(errors), "title"),
        given=given,
        active=visit.field("active") == "yes" or not visit.is_post,
        secret=visit.field("secret") == "yes",
        draft=visit.website.drafts.read_or_create(visit.field("draft")),
        title_length=client_validation.TITLE_LENGTH,
        most=client_validation.MOST_CALLBACK_URLS,
    )


def _client_page(
    visit: Visit,
    client: Client,
    *,
    status: int = 200,
    done: str = "",
    problem: str = "",
    secret: str | None = None,
    events_secret: str | None = None,
    errors: Mapping[str, str] = _NO_ERRORS,
) -> Response:
    """The page of a client; a refused form keeps its input."""
    clients = visit.website.openbanking.clients
    urls = "\n".join(client.callback_urls)
    kept = {"title": client.title, "callback_urls": urls, "events_url": client.events_url or ""}
    is_refused = status >= 400 and visit.field("action") == "update"
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
        errors=errors,
        focus=next(iter(errors), ""),
        is_changing=is_refused,
        given={name: visit.field(name) for name in kept} if is_refused else kept,
        draft=visit.website.drafts.create(),
        overlaps=_OVERLAPS,
        history=clients.history(client),
        detail=LABELS,
        title_length=client_validation.TITLE_LENGTH,
        most=client_validation.MOST_CALLBACK_URLS,
        default_callback=clients.default_callback,
    )


def _not_found_page(visit: Visit) -> Response:
    what = "None of your clients has this Client ID."
    return message_page(visit, "No such client", what, "/clients", "To the clients")
