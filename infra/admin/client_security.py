"""The options of client commands for client authentication and security."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.addresses import has_web_scheme
from chalicelib.openbanking.protocol.oauth_security import AuthMethod
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.client_security import ClientSecurity
from infra.admin.output import CommandRefused

Binding = Literal["dpop", "certificate", "none"]
Profile = Literal["fapi2", "none"]

MethodOption = Annotated[
    AuthMethod | None,
    typer.Option("--auth-method", help="How the client authenticates (RFC 7591). Default: by a secret if it has one."),
]
JwksOption = Annotated[
    str | None,
    typer.Option("--jwks", metavar="FILE|URL", help="Its public keys for private_key_jwt: a JSON Web Key Set."),
]
ProfileOption = Annotated[
    Profile | None, typer.Option("--profile", help="fapi2: demand what the FAPI 2.0 Security Profile demands.")
]
PushedOption = Annotated[
    bool | None,
    typer.Option("--pushed-requests/--no-pushed-requests", help="Whether authorization requests must be pushed."),
]
BindingOption = Annotated[
    Binding | None,
    typer.Option("--bound-tokens", help="What access tokens must be bound to: a DPoP key, or the client certificate."),
]
NonceOption = Annotated[
    bool | None, typer.Option("--dpop-nonce/--no-dpop-nonce", help="Whether DPoP proofs need a nonce of this service.")
]
SubjectOption = Annotated[
    str | None,
    typer.Option(
        "--certificate-subject", metavar="DN", help="The subject of its certificate for tls_client_auth (RFC 4514)."
    ),
]
OrganizationOption = Annotated[
    str | None,
    typer.Option(
        "--organization-identifier",
        metavar="ID",
        help="The identifier in its PSD2 certificate, PSDGB-FCA-123456; every call then needs it. Empty: none.",
    ),
]


def read_changes(
    *,
    method: AuthMethod | None,
    jwks: str | None,
    profile: Profile | None,
    pushed: bool | None,
    binding: Binding | None,
    nonce: bool | None,
    subject: str | None,
    organization: str | None,
) -> dict[str, Any]:
    """Return the members of ``ClientSecurity`` that the given options change. Raises: CommandRefused."""
    given: Mapping[str, Any] = {
        "auth_method": method,
        "require_pushed_authorization_requests": pushed,
        "dpop_nonce_required": nonce,
        "tls_client_auth_subject_dn": subject,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if profile is not None:
        changes["security_profile"] = None if profile == "none" else profile
    if organization is not None:
        changes["organization_identifier"] = organization or None
    if binding is not None:
        changes["dpop_bound_access_tokens"] = binding == "dpop"
        changes["tls_client_certificate_bound_access_tokens"] = binding == "certificate"
    return changes | (_read_jwks(jwks) if jwks is not None else {})


def describe_security(client: Client) -> dict[str, Any]:
    """Return a client's security settings for printing, under the names of RFC 7591, 8705, 9126 and 9449."""
    security = client.security
    members = {name: getattr(security, name) for name in ClientSecurity.__dataclass_fields__}
    members |= {"jwks": [_key_id(key) for key in security.jwks["keys"]] if security.jwks else None}
    return {"token_endpoint_auth_method": client.auth_method} | {
        name: value for name, value in members.items() if value not in (None, False) and name != "auth_method"
    }


def _key_id(key: Mapping[str, Any]) -> str:
    return str(key.get("kid") or f"{key.get('kty')} without kid")


def _read_jwks(place: str) -> dict[str, Any]:
    if has_web_scheme(place):
        return {"jwks_uri": place}
    try:
        members = jsontext.loads(Path(place).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise CommandRefused(f"{place} cannot be read as a file, and is not an http(s) URL") from None
    except jsontext.InvalidJson as error:
        raise CommandRefused(f"{place} is not a JSON Web Key Set: {error}") from None
    if not isinstance(members, dict):
        raise CommandRefused(f"{place} is not a JSON Web Key Set")
    return {"jwks": members}
