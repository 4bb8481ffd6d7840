"""The common parts of a client's pages: the client in the URL, the tabs, and forms that change the client."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import wraps
from typing import Any

from chalice.app import Response

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_record import Client, Registered
from chalicelib.openbanking.records.client_validation import Details, InvalidClient
from chalicelib.openbanking.records.clients import ClientChanged, UnknownClient
from chalicelib.website.display_text import UNKNOWN_CLIENT, field_error
from chalicelib.website.notices import TEXTS, Notice
from chalicelib.website.pages import NO_REFERRER, Visit, message_page, page

TABS: Mapping[str, str] = {
    "": "Overview",
    "/activity": "Activity",
    "/settings": "Settings",
    "/security": "Security",
    "/history": "History",
}
"""The titles of a client's pages, by the end of the page's path."""
_TEMPLATES = {tab: f"client{tab.replace('/', '_')}.html" for tab in TABS}
_FIELDS = dict.fromkeys(("dpop_bound_access_tokens", "tls_client_certificate_bound_access_tokens"), "bound_tokens")
"""The form field for each member that has another name than its field."""
_CHANGED = "The client was changed after you opened this form. Compare your entries with it, and save again."
_REFUSED = "Please correct the marked field: nothing was changed."
_NOT_ALLOWED = "The client's current state does not allow this. Nothing was changed."

Action = Callable[[Visit, Client], Response]
Values = Mapping[str, str]
"""The values of a form by field. A ticked checkbox has the value ``yes``."""


@dataclass(frozen=True, slots=True)
class ClientForm:
    """A form for one group of settings. If ``is_sandbox`` is true, the owner has the operator's permissions.

    Attributes:
        tab: the form's page, as a path after the client's URL.
        action: the form's name, which its button sends as ``action``.
        show: returns the values of the form's fields for a client.
        read: converts submitted values to changes. Raises: InvalidClient.
        is_open: whether the page has the form, instead of only the values.
    """

    tab: str
    action: str
    show: Callable[[Client], Values]
    read: Callable[[Client, Values, bool], Details]
    is_open: Callable[[Client, bool], bool]


@dataclass(frozen=True, slots=True)
class FormMessage:
    """The outcome of a submitted form: the change made, or the problem and the errors by field."""

    done: str = ""
    problem: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)


NOTHING = FormMessage()


def own_client(visit: Visit) -> Client:
    """Return the client in the URL, if the client belongs to the user. Raises: UnknownClient."""
    return visit.website.openbanking.clients.get(visit.incoming.uri["client_id"], visit.user)


def serve_client(show: Action) -> Callable[[Visit], Response]:
    """Serve a view of the user's client in the URL. Other users' clients are not found."""

    @wraps(show)
    def view(visit: Visit) -> Response:
        try:
            return show(visit, own_client(visit))
        except UnknownClient:
            return message_page(visit, "No such client", UNKNOWN_CLIENT, "/clients", "To the clients")

    return view


def serve_actions(actions: Mapping[str, Action], show: Callable[..., Response]) -> Callable[[Visit], Response]:
    """Return a view that runs the submitted ``action``. It refuses actions that are unknown or unavailable for this
    client.
    """

    def run(visit: Visit, client: Client) -> Response:
        action = actions.get(visit.field("action"))
        if action is None:
            return refuse_action(visit, client, show)
        try:
            return action(visit, client)
        except InvalidClient as error:
            problem = field_error(error.member, str(error))
            return show(visit, client, status=400, message=FormMessage(problem=problem))

    return serve_client(run)


def refuse_action(visit: Visit, client: Client, show: Callable[..., Response]) -> Response:
    return show(visit, client, status=400, message=FormMessage(problem=_NOT_ALLOWED))


def save_form(visit: Visit, client: Client, form: ClientForm, show: Callable[..., Response]) -> Response:
    """Apply a submitted form, unless the client has changed since the page was opened. A refused form retains its
    input.
    """
    seen = visit.field("revision")
    try:
        made = visit.website.openbanking.clients.update(
            client.client_id,
            owner=visit.user,
            revision=int(seen) if re.fullmatch("[0-9]{1,9}", seen) else -1,
            **form.read(client, submitted(visit, form, client), visit.website.shared.settings.is_sandbox),
        )
    except InvalidClient as error:
        return show(visit, client, status=400, message=_refusal(error, form, visit, client))
    except ClientChanged:
        return show(visit, own_client(visit), status=409, message=FormMessage(problem=_CHANGED))
    if made.secret or made.events_secret:
        return show(visit, made.client, message=FormMessage(done=TEXTS[Notice.CLIENT_CHANGED]), made=made)
    return visit.redirect_with_notice(f"/clients/{client.client_id}{form.tab}", Notice.CLIENT_CHANGED)


def submitted(visit: Visit, form: ClientForm, client: Client) -> Values:
    """Return the submitted values by field. An unticked checkbox has no value."""
    return {name: visit.field(name).strip() for name in form.show(client)}


def form_values(visit: Visit, client: Client, forms: Sequence[ClientForm], *, is_refused: bool) -> dict[str, Values]:
    """Return the values of a page's forms by action: the client's values, or the input of a refused form."""
    entered = visit.field("action") if is_refused else ""
    return {
        form.action: submitted(visit, form, client) if form.action == entered else form.show(client) for form in forms
    }


def call_limit(visit: Visit, client: Client) -> int:
    """Return the maximum number of calls per minute that a client may make in each process: the client's own limit, or
    the setting.
    """
    return client.calls_per_minute or visit.website.shared.settings.client_calls


def client_page(
    visit: Visit,
    client: Client,
    tab: str,
    *,
    status: int = 200,
    message: FormMessage = NOTHING,
    made: Registered | None = None,
    **values: Any,
) -> Response:
    """Render a page of a client. ``made`` has the secrets that the page shows once."""
    secrets = (made.secret, made.events_secret) if made else (None, None)
    return page(
        visit,
        _TEMPLATES[tab],
        status=status,
        referrer=NO_REFERRER if any(secrets) else "same-origin",
        last_client=client,
        client=client,
        tab=tab,
        tabs=TABS,
        message=message,
        errors=message.errors,
        focus=next(iter(message.errors), ""),
        secret=secrets[0],
        events_secret=secrets[1],
        **values,
    )


def _refusal(error: InvalidClient, form: ClientForm, visit: Visit, client: Client) -> FormMessage:
    """Return an error for its field, or for the top of the page if the page does not have the field."""
    text, name = field_error(error.member, str(error)), _FIELDS.get(error.member, error.member)
    if form.is_open(client, visit.website.shared.settings.is_sandbox) and name in form.show(client):
        return FormMessage(problem=_REFUSED, errors={name: text})
    return FormMessage(problem=text)
