"""A client's security: authentication, requirements for requests and tokens, and new secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import event_signing
from chalicelib.openbanking.records.client_record import Client, Registered
from chalicelib.openbanking.records.client_security import ClientSecurity
from chalicelib.openbanking.records.client_validation import Details, InvalidClient
from chalicelib.website.authorization.drafts import create_draft, derive_bytes, derive_text, read_draft
from chalicelib.website.clients.client_page_views import (
    NOTHING,
    ClientForm,
    FormMessage,
    Values,
    client_page,
    form_values,
    refuse_action,
    save_form,
    serve_actions,
    serve_client,
)
from chalicelib.website.pages import Visit

SECURITY = "/security"
METHODS: Mapping[str, str] = {
    "": "Client secret, if it has one",
    "client_secret_basic": "Client secret in the Authorization header (client_secret_basic)",
    "client_secret_post": "Client secret in the form (client_secret_post)",
    "private_key_jwt": "Signed assertion (private_key_jwt)",
    "tls_client_auth": "Client certificate (tls_client_auth)",
    "none": "No authentication (none)",
}
"""The form's labels for the authentication methods of RFC 7591. The empty method is the default."""
PROFILES: Mapping[str, str] = {"": "None", "fapi2": "FAPI 2.0 Security Profile"}
BINDINGS: Mapping[str, str] = {"none": "Not bound", "dpop": "A DPoP key", "certificate": "The client certificate"}
"""The form's labels for the keys to which access tokens can be bound."""
_OVERLAPS: Mapping[str, str] = {"0": "immediately", "3600": "in an hour", "86400": "in a day", "604800": "in a week"}
"""The form's labels for the expiry of a replaced secret, by number of seconds."""


def _show_authentication(client: Client) -> Values:
    security = client.security
    return {
        "auth_method": security.auth_method or "",
        "jwks": json.dumps(security.jwks, indent=2, default=int) if security.jwks else "",
        "jwks_uri": security.jwks_uri or "",
        "tls_client_auth_subject_dn": security.tls_client_auth_subject_dn or "",
        "organization_identifier": security.organization_identifier or "",
    }


def _read_authentication(client: Client, values: Values, is_sandbox: bool) -> Details:
    """Read the authentication method and its members. Values entered for other methods are ignored."""
    method = values["auth_method"]
    if method not in METHODS:
        raise InvalidClient("auth_method", "choose one of the methods")
    changes: dict[str, Any] = {
        "auth_method": method or None,
        "organization_identifier": values["organization_identifier"] or None,
    }
    if method == "private_key_jwt":
        changes |= {"jwks": _read_key_set(values["jwks"]), "jwks_uri": values["jwks_uri"] or None}
    if method == "tls_client_auth":
        changes["tls_client_auth_subject_dn"] = values["tls_client_auth_subject_dn"] or None
    return Details(security=changes)


def _read_key_set(text: str) -> Mapping[str, Any] | None:
    if not text:
        return None
    try:
        members = jsontext.loads(text)
    except jsontext.InvalidJson as error:
        raise InvalidClient("jwks", f"this is not a JSON Web Key Set: {error}") from None
    if not isinstance(members, dict):
        raise InvalidClient("jwks", "this is not a JSON Web Key Set")
    return members


def _show_tokens(client: Client) -> Values:
    """Return the effective settings. A profile may require more than the owner chose."""
    security = client.security
    return {
        "security_profile": security.security_profile or "",
        "require_pushed_authorization_requests": "yes" if security.requires_pushed_requests else "",
        "bound_tokens": _binding(security),
        "dpop_nonce_required": "yes" if security.dpop_nonce_required else "",
    }


def _read_tokens(client: Client, values: Values, is_sandbox: bool) -> Details:
    """Read the chosen settings. If there is a profile, read only the settings that differ from the profile's
    requirements.
    """
    if values["security_profile"] not in PROFILES or values["bound_tokens"] not in BINDINGS:
        raise InvalidClient("security_profile", "choose one of the profiles, and what tokens are bound to")
    profile, shown = values["security_profile"] or None, _show_tokens(client)
    changes: dict[str, Any] = {
        "security_profile": profile,
        "dpop_nonce_required": values["dpop_nonce_required"] == "yes",
    }
    pushed, binding = values["require_pushed_authorization_requests"], values["bound_tokens"]
    if not profile or pushed != shown["require_pushed_authorization_requests"]:
        changes["require_pushed_authorization_requests"] = pushed == "yes"
    if not profile or binding != shown["bound_tokens"]:
        changes["dpop_bound_access_tokens"] = binding == "dpop"
        changes["tls_client_certificate_bound_access_tokens"] = binding == "certificate"
    return Details(security=changes)


def _binding(security: ClientSecurity) -> str:
    if security.tls_client_certificate_bound_access_tokens:
        return "certificate"
    return "dpop" if security.requires_proof else "none"


def _may_change(client: Client, is_sandbox: bool) -> bool:
    """Whether the owner may use the forms. Outside sandboxes, only the operator may."""
    return is_sandbox and not client.is_archived


AUTHENTICATION = ClientForm(SECURITY, "authentication", _show_authentication, _read_authentication, _may_change)
TOKENS = ClientForm(SECURITY, "tokens", _show_tokens, _read_tokens, _may_change)


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
    """Rotate the client's secret or events secret, and show the new secret once. A duplicate form has no effect.

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
