"""The meanings of the members of metadata documents and key sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.openbanking.protocol.oauth_security import SIGNING_ALGORITHMS

OWN_ADDRESS = "http://127.0.0.1:8000"
"""The service's URL in examples, replaced with the actual one when the documents are served."""

Meaning = tuple[str, Any]

_SIGNED_WITH = [*SIGNING_ALGORITHMS]
_METHODS: Meaning = ("The supported methods of client authentication", ["private_key_jwt", "client_secret_basic"])
_ALGORITHMS: Meaning = ("The signature algorithms of client assertions (RFC 7523)", _SIGNED_WITH)

METADATA: Mapping[str, Meaning] = {
    "issuer": ("The issuer of the tokens, and the `iss` in callbacks", OWN_ADDRESS),
    "authorization_endpoint": ("The URL where authorizations begin", f"{OWN_ADDRESS}/oauth/authorize"),
    "token_endpoint": ("The URL where codes and refresh tokens are exchanged", f"{OWN_ADDRESS}/tpp/token"),
    "revocation_endpoint": ("The URL where consents are ended", f"{OWN_ADDRESS}/tpp/token/revoke"),
    "jwks_uri": ("The URL of the public keys", f"{OWN_ADDRESS}/.well-known/jwks.json"),
    "scopes_supported": ("The scopes of both versions", ["accounts", "payments.single"]),
    "response_types_supported": ("Always `code`", ["code"]),
    "response_modes_supported": ("Always `query`", ["query"]),
    "grant_types_supported": ("The supported grant types", ["authorization_code", "refresh_token"]),
    "token_endpoint_auth_methods_supported": _METHODS,
    "token_endpoint_auth_signing_alg_values_supported": _ALGORITHMS,
    "revocation_endpoint_auth_methods_supported": _METHODS,
    "revocation_endpoint_auth_signing_alg_values_supported": _ALGORITHMS,
    "introspection_endpoint": ("The URL where tokens are described", f"{OWN_ADDRESS}/oauth/introspect"),
    "introspection_endpoint_auth_methods_supported": _METHODS,
    "introspection_endpoint_auth_signing_alg_values_supported": _ALGORITHMS,
    "pushed_authorization_request_endpoint": (
        "The URL to which authorization requests are pushed (RFC 9126)",
        f"{OWN_ADDRESS}/oauth/par",
    ),
    "require_pushed_authorization_requests": ("Whether every client must push its requests", False),
    "dpop_signing_alg_values_supported": ("The signature algorithms of DPoP proofs (RFC 9449)", _SIGNED_WITH),
    "tls_client_certificate_bound_access_tokens": (
        "Whether access tokens can be bound to a client certificate (RFC 8705)",
        True,
    ),
    "mtls_endpoint_aliases": (
        "The endpoints for clients with a certificate (RFC 8705); absent in a stage without mutual TLS",
        {"token_endpoint": "https://mtls.causeway.example/tpp/token"},
    ),
    "protected_resources": ("The resources for which tokens are issued (RFC 9728)", [OWN_ADDRESS]),
    "resource": ("The identifier of the TPP-facing API", OWN_ADDRESS),
    "resource_name": ("The name of the service", "Causeway"),
    "resource_documentation": ("The URL of the documentation", f"{OWN_ADDRESS}/docs"),
    "authorization_servers": ("The issuers of tokens", [OWN_ADDRESS]),
    "bearer_methods_supported": ("The ways of sending an access token", ["header"]),
    "dpop_bound_access_tokens_required": ("Whether every access token must be DPoP-bound", False),
    "code_challenge_methods_supported": ("The supported PKCE methods", ["S256"]),
    "authorization_response_iss_parameter_supported": ("Whether callbacks carry `iss` (RFC 9207)", True),
    "request_parameter_supported": ("Whether `request` is supported (RFC 9101)", False),
    "request_uri_parameter_supported": (
        "Whether a `request_uri` that was not pushed here is supported (RFC 9101)",
        False,
    ),
    "keys": ("The keys, newest first", None),
    "kty": ("The key type", "RSA"),
    "use": ("The intended use", "sig"),
    "alg": ("The signature algorithm", "RS256"),
    "kid": ("The key's identifier", "lqTeqB0kHh7pVY3VqPzvC0kqPpRr1XvF0Jb6VhX2yQk"),
    "n": ("The modulus", "sXchX6M2q9hC4m0D5cQ1"),
    "e": ("The exponent", "AQAB"),
}
