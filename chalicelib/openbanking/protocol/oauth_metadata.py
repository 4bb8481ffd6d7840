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
    """The issuer of the tokens, and the ``iss`` in callbacks."""
    authorization_endpoint: WebAddress
    """The URL where authorizations begin."""
    token_endpoint: WebAddress
    """The URL where codes and refresh tokens are exchanged."""
    revocation_endpoint: WebAddress
    """The URL where consents are ended."""
    introspection_endpoint: WebAddress
    """The URL where tokens are described."""
    pushed_authorization_request_endpoint: WebAddress
    """The URL to which authorization requests are pushed (RFC 9126)."""
    jwks_uri: WebAddress
    """The URL of the public keys."""
    scopes_supported: list[ScopeName]
    """The scopes of both versions."""
    response_types_supported: list[Literal["code"]]
    """Always ``code``."""
    response_modes_supported: list[Literal["query"]]
    """Always ``query``."""
    grant_types_supported: list[Literal["authorization_code", "refresh_token"]]
    """The supported grant types."""
    token_endpoint_auth_methods_supported: list[str]
    """The supported methods of client authentication."""
    token_endpoint_auth_signing_alg_values_supported: list[str]
    """The signature algorithms of client assertions (RFC 7523)."""
    revocation_endpoint_auth_methods_supported: list[str]
    """The supported methods of client authentication."""
    revocation_endpoint_auth_signing_alg_values_supported: list[str]
    """The signature algorithms of client assertions (RFC 7523)."""
    introspection_endpoint_auth_methods_supported: list[str]
    """The supported methods of client authentication."""
    introspection_endpoint_auth_signing_alg_values_supported: list[str]
    """The signature algorithms of client assertions (RFC 7523)."""
    dpop_signing_alg_values_supported: list[str]
    """The signature algorithms of DPoP proofs (RFC 9449)."""
    tls_client_certificate_bound_access_tokens: bool
    """Whether access tokens can be bound to a client certificate (RFC 8705)."""
    require_pushed_authorization_requests: bool
    """Whether every client must push its requests."""
    code_challenge_methods_supported: list[Literal["S256"]]
    """The supported PKCE methods."""
    authorization_response_iss_parameter_supported: bool
    """Whether callbacks carry ``iss`` (RFC 9207)."""
    request_parameter_supported: bool
    """Whether ``request`` is supported (RFC 9101)."""
    request_uri_parameter_supported: bool
    """Whether a ``request_uri`` that was not pushed here is supported (RFC 9101)."""
    protected_resources: list[WebAddress]
    """The resources for which tokens are issued (RFC 9728)."""
    mtls_endpoint_aliases: NotRequired[Mapping[str, WebAddress]]
    """The endpoints for clients with a certificate (RFC 8705); absent in a stage without mutual TLS."""


class ResourceMetadata(TypedDict):
    """The metadata of the TPP-facing API as a protected resource (RFC 9728)."""

    resource: WebAddress
    """The identifier of the TPP-facing API."""
    resource_name: str
    """The name of the service."""
    resource_documentation: WebAddress
    """The URL of the documentation."""
    authorization_servers: list[WebAddress]
    """The issuers of tokens."""
    jwks_uri: WebAddress
    """The URL of the public keys."""
    scopes_supported: list[ScopeName]
    """The scopes of both versions."""
    bearer_methods_supported: list[Literal["header"]]
    """The ways of sending an access token."""
    dpop_signing_alg_values_supported: list[str]
    """The signature algorithms of DPoP proofs (RFC 9449)."""
    dpop_bound_access_tokens_required: bool
    """Whether every access token must be DPoP-bound."""
    tls_client_certificate_bound_access_tokens: bool
    """Whether access tokens can be bound to a client certificate (RFC 8705)."""


class KeySet(TypedDict):
    """The service's public signing keys (RFC 7517)."""

    keys: list[PublicKey]
    """The keys, newest first."""
