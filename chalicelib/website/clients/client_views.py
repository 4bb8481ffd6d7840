"""Clients: the list, the form for a new client, and a client's overview and history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from chalice.app import Response

from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.identifiers import digest
from chalicelib.openbanking.flows.tpp_events import NoEvents
from chalicelib.openbanking.records import client_validation
from chalicelib.openbanking.records import clients as client_records
from chalicelib.openbanking.records.client_list import ClientFilter
from chalicelib.openbanking.records.client_record import Client, Identity, Registered
from chalicelib.website.authorization.drafts import derive_bytes, derive_text, read_draft
from chalicelib.website.clients.client_page_views import (
    NOTHING,
    Action,
    FormMessage,
    call_limit,
    client_page,
    refuse_action,
    serve_actions,
    serve_client,
)
from chalicelib.website.clients.client_security_views import METHODS, PROFILES
from chalicelib.website.display_text import LABELS, field_error, retry_advice
from chalicelib.website.form_fields import filled_in, read_lines
from chalicelib.website.notices import TEXTS, Notice
from chalicelib.website.pages import NO_ERRORS, NO_REFERRER, Question, Visit, page, question_page
from chalicelib.website.pagination import PAGE
from chalicelib.website.records.attempts import TooManyAttempts, count_attempt

if TYPE_CHECKING:
    from chalicelib.website.cards.credential_summaries import CredentialList

_REPEATED = "The form was sent twice: this is the client created the first time."
_FIELDS = ("title", "callback_urls", "registration_number", "events_url", "active", "secret")
"""The fields of the form for a new client."""


def list_clients(visit: Visit) -> Response:
    """``GET /clients``: the user's clients, newest first, filtered by ``title``, ``client_id`` and ``active``.

    Archived clients are omitted, unless ``active`` is ``archived``. ``after`` is the cursor of the previous page. The
    first page without a filter also has the card API credentials of the linked programme manager.
    """
    wanted, after = filled_in(visit.field, ("title", "client_id", "active")), visit.field("after")
    part = visit.website.openbanking.client_list.page(visit.user, _read_filter(wanted), PAGE, after)
    return page(
        visit,
        "clients.html",
        part=part,
        wanted=wanted,
        is_first=not after,
        has_none=not (part.examined or wanted or after),
        credentials=None if wanted or after else _read_credentials(visit),
    )


def create_client(visit: Visit) -> Response:
    """``POST /clients/new``: show the client and, once, its secrets. A duplicate form creates no second client.

    ``authorize_at`` is the BIC of a bank. If it is passed and the client has no secrets, continue to the client's
    authorization request.
    """
    settings, identity = visit.website.shared.settings, _derive_identity(visit)
    try:
        made = visit.website.openbanking.clients.create(
            owner=visit.user,
            title=visit.field("title"),
            callback_urls=read_lines(visit.field("callback_urls")),
            secret=visit.field("secret") == "yes",
            registration_number=(visit.field("registration_number").strip() or None) if settings.is_sandbox else None,
            events_url=visit.field("events_url").strip() or None,
            active=visit.field("active") == "yes" and settings.is_sandbox,
            identity=identity,
        )
    except client_validation.InvalidClient as error:
        return new_client_page(visit, {error.member: field_error(error.member, str(error))}, 400)
    except client_records.ClientExists:
        return visit.redirect_with_notice(f"/clients/{identity.client_id}", Notice.CLIENT_CREATED_BEFORE)
    if visit.field("authorize_at") and not (made.secret or made.events_secret):
        query = {"client_id": made.client.client_id, "bic": visit.field("authorize_at")}
        return visit.redirect_with_notice("/authorize", Notice.CLIENT_CREATED, **query)
    done = _REPEATED if made.repeated else TEXTS[Notice.CLIENT_CREATED]
    return _overview_page(visit, made.client, status=201, message=FormMessage(done=done), made=made)


def _overview_page(
    visit: Visit, client: Client, *, status: int = 200, message: FormMessage = NOTHING, made: Registered | None = None
) -> Response:
    return client_page(
        visit,
        client,
        "",
        status=status,
        message=message,
        made=made,
        default_callback=visit.website.openbanking.clients.default_callback,
        methods=METHODS,
        profiles=PROFILES,
        call_limit=call_limit(visit, client),
    )


@serve_client
def show_client(visit: Visit, client: Client) -> Response:
    """``GET /clients/{client_id}``: show the client. ``ask=deactivate`` and ``ask=archive`` ask for confirmation."""
    action = visit.field("ask")
    if not {"deactivate": client.active, "archive": not client.is_archived}.get(action):
        return _overview_page(visit, client)
    who = "You can" if visit.website.shared.settings.is_sandbox else "Only the operator can"
    question = _QUESTIONS[action]
    question = replace(question, what=question.what.format(client.title), afterwards=question.afterwards.format(who))
    return question_page(visit, question, f"/clients/{client.client_id}", {"action": action}, referrer=NO_REFERRER)


_QUESTIONS: Mapping[str, Question] = {
    "deactivate": Question(
        title="Deactivate this client?",
        what="From then on, all calls of {} are refused.",
        afterwards="Its consents stay unchanged. {} reactivate it.",
        button="Deactivate",
        keep="Keep it active",
    ),
    "archive": Question(
        title="Archive this client?",
        what="From then on, all calls of {} are refused, and it is hidden from your lists.",
        afterwards="Its consents and its history stay. {} restore it.",
        button="Archive",
        keep="Do not archive it",
    ),
}
"""The confirmation question before each action. The placeholders are for the client's title and for the person who may
undo the action.
"""


def _change_state(visit: Visit, client: Client, notice: Notice) -> Response:
    """Run an action that changes the client's state. In sandboxes, the owner may run the operator's actions."""
    action, clients = visit.field("action"), visit.website.openbanking.clients
    if action in ("activate", "restore") and not visit.website.shared.settings.is_sandbox:
        return refuse_action(visit, client, _overview_page)
    changes = {
        "activate": clients.activate,
        "deactivate": clients.deactivate,
        "archive": clients.archive,
        "restore": clients.restore,
    }
    changes[action](client.client_id, visit.user)
    return visit.redirect_with_notice(f"/clients/{client.client_id}", notice)


def _send_test_event(visit: Visit, client: Client) -> Response:
    if not client.active:
        return refuse_action(visit, client, _overview_page)
    try:
        visit.website.call(count_attempt, [("events", visit.user)])
        event_id = visit.website.openbanking.tpp_events.send_test(client)
    except TooManyAttempts as stopped:
        return _overview_page(visit, client, status=429, message=FormMessage(problem=retry_advice(stopped.retry_after)))
    except NoEvents:
        problem = "The client has no Events URL to send to."
        return _overview_page(visit, client, status=400, message=FormMessage(problem=problem))
    if client.events_mode == "poll":
        return visit.redirect_with_notice(f"/clients/{client.client_id}", Notice.EVENT_RECORDED)
    return visit.redirect_with_notice(f"/deliveries/{event_id}", Notice.EVENT_SENT)


_ACTIONS: Mapping[str, Action] = {
    "activate": partial(_change_state, notice=Notice.CLIENT_ACTIVATED),
    "deactivate": partial(_change_state, notice=Notice.CLIENT_DEACTIVATED),
    "archive": partial(_change_state, notice=Notice.CLIENT_ARCHIVED),
    "restore": partial(_change_state, notice=Notice.CLIENT_RESTORED),
    "test-event": _send_test_event,
}

change_client = serve_actions(_ACTIONS, _overview_page)
"""``POST /clients/{client_id}``: run ``action``, one of ``_ACTIONS``."""


@serve_client
def show_history(visit: Visit, client: Client) -> Response:
    """``GET /clients/{client_id}/history``: list the latest changes, newest first."""
    history = visit.website.openbanking.clients.history(client)
    return client_page(visit, client, "/history", history=history, detail=LABELS, most=client_records.HISTORY_LENGTH)


def _derive_identity(visit: Visit) -> Identity:
    """Derive the identity of the client that a form creates. The same input yields the same identity."""
    shared, owner = visit.website.shared, visit.user
    draft = read_draft(shared.clock, visit.field("draft"))
    of = digest("\x1f".join(visit.field(name) for name in _FIELDS))
    return Identity(
        client_id=str(UUID(bytes=derive_bytes(shared.keyring, draft, owner, f"client id {of}")[:16], version=4)),
        secret=derive_text(shared.keyring, draft, owner, f"client secret {of}"),
        events_secret=event_signing.secret_of(derive_bytes(shared.keyring, draft, owner, f"events secret {of}")),
    )


def _read_credentials(visit: Visit) -> CredentialList | None:
    """Read the card API credentials of the linked programme manager. Return ``None`` without a linked manager."""
    manager_id = visit.signed_in_user.manager_id
    if manager_id is None:
        return None
    from chalicelib.website.cards.credential_summaries import read_credentials

    return read_credentials(visit.website.portal, manager_id)


def _read_filter(wanted: Mapping[str, str]) -> ClientFilter:
    state = wanted.get("active", "")
    return ClientFilter(
        title=wanted.get("title", ""),
        client_id=wanted.get("client_id", "").lower(),
        active={"yes": True, "no": False}.get(state),
        archived=state == "archived",
    )


def new_client_page(visit: Visit, errors: Mapping[str, str] = NO_ERRORS, status: int = 200) -> Response:
    """Render the form for a new client: ``GET /clients/new``, and the response to an invalid form."""
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
        draft=read_draft(visit.website.shared.clock, visit.field("draft")),
        title_length=client_validation.TITLE_LENGTH,
        most=client_validation.MOST_CALLBACK_URLS,
    )
