"""The forms of a client's security: their options, what they show of a client, and what they change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.client_security import ClientSecurity
from chalicelib.openbanking.records.client_validation import Details, InvalidClient
from chalicelib.website.clients.client_forms import ClientForm, Values

SECURITY = "/security"
METHODS: Mapping[str, str] = {
    "": "Client secret, if it has one",
    "client_secret_basic": "Client secret in the Authorization header (client_secret_basic)",
    "client_secret_post": "Client secret in the form (client_secret_post)",
    "private_key_jwt": "Signed assertion (private_key_jwt)",
    "tls_client_auth": "Client certificate (tls_client_auth)",
    "none": "Nothing (none)",
}
"""The authentication methods of RFC 7591 as the form names them; empty for the default."""
PROFILES: Mapping[str, str] = {"": "None", "fapi2": "FAPI 2.0 Security Profile"}
BINDINGS: Mapping[str, str] = {"none": "Not bound", "dpop": "A DPoP key", "certificate": "The client certificate"}
"""What access tokens are bound to, as the form names it."""


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
    """The method with what belongs to it; what was entered for another method does not count."""
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
    """The settings as they take effect: a profile may demand more than was chosen."""
    security = client.security
    return {
        "security_profile": security.security_profile or "",
        "require_pushed_authorization_requests": "yes" if security.requires_pushed_requests else "",
        "bound_tokens": _binding(security),
        "dpop_nonce_required": "yes" if security.dpop_nonce_required else "",
    }


def _read_tokens(client: Client, values: Values, is_sandbox: bool) -> Details:
    """The settings that were chosen; with a profile those that differ, as it demands the others itself."""
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
    """Whether the owner may use the forms, which are the operator's outside sandboxes."""
    return is_sandbox and not client.is_archived


AUTHENTICATION = ClientForm(SECURITY, "authentication", _show_authentication, _read_authentication, _may_change)
TOKENS = ClientForm(SECURITY, "tokens", _show_tokens, _read_tokens, _may_change)
