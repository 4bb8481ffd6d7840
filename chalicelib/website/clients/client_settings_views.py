"""A client's settings: title, Callback URLs, Registration number, and event delivery."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from chalice.app import Response

from chalicelib.openbanking.records import client_validation
from chalicelib.openbanking.records.client_record import Client, Registered
from chalicelib.openbanking.records.client_validation import Details
from chalicelib.website.clients.client_page_views import (
    NOTHING,
    ClientForm,
    FormMessage,
    Values,
    client_page,
    form_values,
    save_form,
    serve_actions,
    serve_client,
)
from chalicelib.website.events.receiver_views import receiver_choices
from chalicelib.website.form_fields import read_lines
from chalicelib.website.pages import Visit

SETTINGS = "/settings"
EVENTS_MODES: Mapping[str, str] = {"none": "No events", "url": "Sent to an Events URL", "poll": "Fetched by the client"}
"""The form's labels for the ways in which a client can receive events."""


def _show_general(client: Client) -> Values:
    values = {"title": client.title, "callback_urls": "\n".join(client.callback_urls)}
    return values | {"registration_number": client.registration_number}


def _read_general(client: Client, values: Values, is_sandbox: bool) -> Details:
    details = Details(title=values["title"], callback_urls=read_lines(values["callback_urls"]))
    if may_number(client, is_sandbox):
        details["registration_number"] = values["registration_number"]
    return details


def may_number(client: Client, is_sandbox: bool) -> bool:
    """Whether the owner may set the Registration number, usually set by the operator or taken from the certificate."""
    return is_sandbox and client.security.organization_identifier is None


def _may_rename(client: Client, is_sandbox: bool) -> bool:
    """Whether the owner may change the details that users see at their bank."""
    return not client.is_archived and (is_sandbox or not client.active)


def _show_events(client: Client) -> Values:
    return {"events": client.events_mode, "events_url": client.events_url or ""}


def _read_events(client: Client, values: Values, is_sandbox: bool) -> Details:
    """Read the chosen way of receiving events. Ignore an Events URL entered for another way."""
    return Details(events_url=values["events_url"]) if values["events"] == "url" else Details(events=values["events"])


GENERAL = ClientForm(SETTINGS, "general", _show_general, _read_general, _may_rename)
EVENTS = ClientForm(SETTINGS, "events", _show_events, _read_events, lambda client, _: not client.is_archived)


def _settings_page(
    visit: Visit, client: Client, *, status: int = 200, message: FormMessage = NOTHING, made: Registered | None = None
) -> Response:
    is_sandbox = visit.website.shared.settings.is_sandbox
    return client_page(
        visit,
        client,
        SETTINGS,
        status=status,
        message=message,
        made=made,
        given=form_values(visit, client, (GENERAL, EVENTS), is_refused=status >= 400),
        modes=EVENTS_MODES,
        may_number=may_number(client, is_sandbox),
        may_rename=GENERAL.is_open(client, is_sandbox),
        title_length=client_validation.TITLE_LENGTH,
        most=client_validation.MOST_CALLBACK_URLS,
        **receiver_choices(visit, client),
    )


show_settings = serve_client(_settings_page)
"""``GET /clients/{client_id}/settings``."""

change_settings = serve_actions(
    {form.action: partial(save_form, form=form, show=_settings_page) for form in (GENERAL, EVENTS)}, _settings_page
)
"""``POST /clients/{client_id}/settings``: save one of the forms."""
