"""A client's security: how it authenticates, what its requests and tokens need, and new secrets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from chalice.app import Response

from chalicelib.foundation.crypto import event_signing
from chalicelib.openbanking.records.client_record import Client, Registered
from chalicelib.website.authorization.drafts import create_draft, derive_bytes, derive_text, read_draft
from chalicelib.website.clients.client_page_views import (
    NOTHING,
    FormMessage,
    client_page,
    form_values,
    refuse_action,
    save_form,
    serve_actions,
    serve_client,
)
from chalicelib.website.clients.client_security_forms import (
    AUTHENTICATION,
    BINDINGS,
    METHODS,
    PROFILES,
    SECURITY,
    TOKENS,
)
from chalicelib.website.pages import Visit

_OVERLAPS: Mapping[str, str] = {"0": "immediately", "3600": "in an hour", "86400": "in a day", "604800": "in a week"}
"""When a replaced secret expires: labels by seconds."""


def _security_page(
    visit: Visit, client: Client, *, status: int = 200, message: FormMessage = NOTHING, made: Registered | None = None
) -> Response:
    settings = visit.website.shared.settings
    return client_page(
        visit,
        client,
        SECURITY,
        status=status,
        message=message,
        made=made,
        given=form_values(visit, client, (AUTHENTICATION, TOKENS), is_refused=status >= 400),
        methods=METHODS,
        bindings=BINDINGS,
        profiles=PROFILES,
        unavailable=() if settings.mtls_url else ("tls_client_auth", "certificate"),
        may_change=AUTHENTICATION.is_open(client, settings.is_sandbox),
        draft=create_draft(visit.website.shared.clock),
        overlaps=_OVERLAPS,
    )


def _rotate_secret(visit: Visit, client: Client) -> Response:
    """Rotate the client's secret or events secret, and show the new one once. A form submitted twice rotates once.

    Raises: InvalidClient.
    """
    shared, seconds = visit.website.shared, visit.field("overlap")
    if seconds not in _OVERLAPS:
        return refuse_action(visit, client, _security_page)
    draft, of_events = read_draft(shared.clock, visit.field("draft")), visit.field("action") == "rotate-events-secret"
    overlap, purpose = int(seconds), f"{visit.field('action')} of {client.client_id}"
    clients = visit.website.openbanking.clients
    if of_events:
        secret = event_signing.secret_of(derive_bytes(shared.keyring, draft, visit.user, purpose))
        made = clients.rotate_events_secret(client.client_id, overlap, owner=visit.user, secret=secret)
    else:
        secret = derive_text(shared.keyring, draft, visit.user, purpose)
        made = clients.rotate_secret(client.client_id, overlap, owner=visit.user, secret=secret)
    is_first = not of_events and (not client.has_secret or (overlap > 0 and len(made.client.secrets) == 1))
    old = "" if is_first else f" The old one ends {_OVERLAPS[seconds]}."
    done = f"The new secret is valid from now on.{old}"
    return _security_page(visit, made.client, message=FormMessage(done=done), made=made)


show_security = serve_client(_security_page)
"""``GET /clients/{client_id}/security``."""

change_security = serve_actions(
    {
        **{form.action: partial(save_form, form=form, show=_security_page) for form in (AUTHENTICATION, TOKENS)},
        "rotate-secret": _rotate_secret,
        "rotate-events-secret": _rotate_secret,
    },
    _security_page,
)
"""``POST /clients/{client_id}/security``: save one of the forms, or create a new secret."""
