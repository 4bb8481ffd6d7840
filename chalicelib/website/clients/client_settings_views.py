"""A client's settings: its title, Callback URLs and Registration number, and how it gets events."""

from __future__ import annotations

from functools import partial

from chalice.app import Response

from chalicelib.openbanking.records import client_validation
from chalicelib.openbanking.records.client_record import Client, Registered
from chalicelib.website.clients.client_forms import EVENTS, EVENTS_MODES, GENERAL, SETTINGS, may_number
from chalicelib.website.clients.client_page_views import (
    NOTHING,
    FormMessage,
    client_page,
    form_values,
    save_form,
    serve_actions,
    serve_client,
)
from chalicelib.website.events.receiver_views import receiver_choices
from chalicelib.website.pages import Visit


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
