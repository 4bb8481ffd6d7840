"""The service's metadata documents and its key set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

from chalicelib.foundation.crypto.signatures import PublicKey
from chalicelib.openbanking.protocol.fields import WebAddress
from chalicelib.openbanking.protocol.listed_names import AnyScopeName


class ServerMetadata(TypedDict):
    """The authorization server's metadata (RFC 8414, 8705, 9126, 9449)."""

    issuer: WebAddress
    """The issuer of the tokens, and the ``iss`` in callbacks. Example: ``"http://127.0.0.1:8000"``."""
    authorization_endpoint: WebAddress
    """The URL where authorizations begin. Example: ``"http://127.0.0.1:8000/oauth/authorize"``."""
    token_endpoint: WebAddress
    """The URL where codes and refresh tokens are exchanged. Example: ``"http://127.0.0.1:8000/tpp/token"``."""
    revocation_endpoint: WebAddress
    """The URL where consents are ended. Example: ``"http://127.0.0.1:8000/tpp/token/revoke"``."""
    introspection_endpoint: WebAddress
    """The URL for token introspection. Example: ``"http://127.0.0.1:8000/oauth/introspect"``."""
    pushed_authorization_request_endpoint: WebAddress
    """The URL to which authorization requests are pushed (RFC 9126). Example: ``"http://127.0.0.1:8000/oauth/par"``."""
    jwks_uri: WebAddress
    """The URL of the public keys. Example: ``"http://127.0.0.1:8000/.well-known/jwks.json"``."""
    scopes_supported: list[AnyScopeName]
    """The unified scopes, and the scopes of both versions. Example: ``["accounts:read", "accounts"]``."""
    response_types_supported: list[Literal["code"]]
    """The supported response types; the only value is ``code``."""
    response_modes_supported: list[Literal["query"]]
    """The supported response modes; the only value is ``query``."""
    grant_types_supported: list[Literal["authorization_code", "refresh_token"]]
    """The supported grant types. Example: ``["authorization_code", "refresh_token"]``."""
    token_endpoint_auth_methods_supported: list[str]
    """The supported methods of client authentication. Example: ``["private_key_jwt", "client_secret_basic"]``."""
    token_endpoint_auth_signing_alg_values_supported: list[str]
    """The signature algorithms of client assertions (RFC 7523). Example: ``SIGNING_ALGORITHMS``."""
    revocation_endpoint_auth_methods_supported: list[str]
    """The supported methods of client authentication. Example: ``["private_key_jwt", "client_secret_basic"]``."""
    revocation_endpoint_auth_signing_alg_values_supported: list[str]
    """The signature algorithms of client assertions (RFC 7523). Example: ``SIGNING_ALGORITHMS``."""
    introspection_endpoint_auth_methods_supported: list[str]
    """The supported methods of client authentication. Example: ``["private_key_jwt", "client_secret_basic"]``."""
    introspection_endpoint_auth_signing_alg_values_supported: list[str]
    """The signature algorithms of client assertions (RFC 7523). Example: ``SIGNING_ALGORITHMS``."""
    dpop_signing_alg_values_supported: list[str]
    """The signature algorithms of DPoP proofs (RFC 9449). Example: ``SIGNING_ALGORITHMS``."""
    tls_client_certificate_bound_access_tokens: bool
    """Whether access tokens can be bound to a client certificate (RFC 8705)."""
    require_pushed_authorization_requests: bool
    """Whether every client must push its requests. Example: ``false``."""
    code_challenge_methods_supported: list[Literal["S256"]]
    """The supported PKCE methods."""
    authorization_response_iss_parameter_supported: bool
    """Whether callbacks carry ``iss`` (RFC 9207)."""
    request_parameter_supported: bool
    """Whether ``request`` is supported (RFC 9101). Example: ``false``."""
    request_uri_parameter_supported: bool
    """Whether clients can send a ``request_uri`` that this service did not issue (RFC 9101). Example: ``false``."""
    protected_resources: list[WebAddress]
    """The resources for which tokens are issued (RFC 9728). Example: ``["http://127.0.0.1:8000"]``."""
    mtls_endpoint_aliases: NotRequired[Mapping[str, WebAddress]]
    """The endpoints for clients with a certificate (RFC 8705); absent in a stage without mutual TLS.
    Example: ``{"token_endpoint": "https://mtls.causeway.example/tpp/token"}``.
    """


class ResourceMetadata(TypedDict):
    """The metadata of the TPP-facing API as a protected resource (RFC 9728)."""

    resource: WebAddress
    """The identifier of the TPP-facing API. Example: ``"http://127.0.0.1:8000"``."""
    resource_name: str
    """The name of the service. Example: ``"Causeway"``."""
    resource_documentation: WebAddress
    """The URL of the documentation. Example: ``"http://127.0.0.1:8000/docs"``."""
    authorization_servers: list[WebAddress]
    """The issuers of tokens. Example: ``["http://127.0.0.1:8000"]``."""
    jwks_uri: WebAddress
    scopes_supported: list[AnyScopeName]
    bearer_methods_supported: list[Literal["header"]]
    """The supported methods of sending an access token."""
    dpop_signing_alg_values_supported: list[str]
    dpop_bound_access_tokens_required: bool
    """Whether every access token must be DPoP-bound. Example: ``false``."""
    tls_client_certificate_bound_access_tokens: bool


class KeySet(TypedDict):
    """The service's public signing keys (RFC 7517)."""

    keys: list[PublicKey]
    """The keys, newest first."""
