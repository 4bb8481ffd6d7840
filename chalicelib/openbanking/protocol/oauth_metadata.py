"""The service's metadata documents and its key set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

from chalicelib.foundation.crypto.signatures import PublicKey
from chalicelib.foundation.fields.field_types import WebAddress
from chalicelib.openbanking.protocol.own_answers import ScopeName


class ServerMetadata(TypedDict):
    """The authorization server's metadata (RFC 8414, 8705, 9126, 9449)."""

    issuer: WebAddress
    authorization_endpoint: WebAddress
    token_endpoint: WebAddress
    revocation_endpoint: WebAddress
    introspection_endpoint: WebAddress
    pushed_authorization_request_endpoint: WebAddress
    jwks_uri: WebAddress
    scopes_supported: list[ScopeName]
    response_types_supported: list[Literal["code"]]
    response_modes_supported: list[Literal["query"]]
    grant_types_supported: list[Literal["authorization_code", "refresh_token"]]
    token_endpoint_auth_methods_supported: list[str]
    token_endpoint_auth_signing_alg_values_supported: list[str]
    revocation_endpoint_auth_methods_supported: list[str]
    revocation_endpoint_auth_signing_alg_values_supported: list[str]
    introspection_endpoint_auth_methods_supported: list[str]
    introspection_endpoint_auth_signing_alg_values_supported: list[str]
    dpop_signing_alg_values_supported: list[str]
    tls_client_certificate_bound_access_tokens: bool
    require_pushed_authorization_requests: bool
    code_challenge_methods_supported: list[Literal["S256"]]
    authorization_response_iss_parameter_supported: bool
    request_parameter_supported: bool
    request_uri_parameter_supported: bool
    protected_resources: list[WebAddress]
    mtls_endpoint_aliases: NotRequired[Mapping[str, WebAddress]]


class ResourceMetadata(TypedDict):
    """The metadata of the TPP-facing API as a protected resource (RFC 9728)."""

    resource: WebAddress
    resource_name: str
    resource_documentation: WebAddress
    authorization_servers: list[WebAddress]
    jwks_uri: WebAddress
    scopes_supported: list[ScopeName]
    bearer_methods_supported: list[Literal["header"]]
    dpop_signing_alg_values_supported: list[str]
    dpop_bound_access_tokens_required: bool
    tls_client_certificate_bound_access_tokens: bool


class KeySet(TypedDict):
    """The service's public signing keys (RFC 7517)."""

    keys: list[PublicKey]
