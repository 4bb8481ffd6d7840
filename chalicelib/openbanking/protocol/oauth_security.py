"""Values of the OAuth security extensions (RFC 7523, 7591, 7800, 8705, 9126, 9449; FAPI 2.0 Security Profile)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

AuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt", "tls_client_auth"]
"""A client's authentication method: ``token_endpoint_auth_method`` (RFC 7591 §2, RFC 8705 §2.1)."""
SecurityProfile = Literal["fapi2"]
TokenType = Literal["Bearer", "DPoP"]
Confirmation = Mapping[str, str]
"""The key to which a token is bound (``cnf``, RFC 7800): ``jkt`` (RFC 9449 §6) or ``x5t#S256`` (RFC 8705 §3.1)."""

ENDPOINTS: Mapping[str, str] = {
    "token_endpoint": "/tpp/token",
    "revocation_endpoint": "/tpp/token/revoke",
    "introspection_endpoint": "/oauth/introspect",
    "pushed_authorization_request_endpoint": "/oauth/par",
}
"""The endpoints that clients call directly instead of through a browser, by their names in the metadata (RFC 8414 §2,
RFC 9126 §5).

With mutual TLS, these endpoints are also available below ``MTLS_URL`` (RFC 8705 §5).
"""
PROOF_ROUTES = (ENDPOINTS["token_endpoint"], ENDPOINTS["pushed_authorization_request_endpoint"])
"""The endpoints that bind tokens or authorization codes to the key of a DPoP proof."""
SIGNING_ALGORITHMS = ("PS256", "ES256", "EdDSA", "Ed25519")
"""The signature algorithms of client assertions and DPoP proofs (FAPI 2.0 §5.4.1). ``Ed25519`` is the name in RFC 9864.
"""
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
REQUEST_URI = "urn:ietf:params:oauth:request_uri:"
"""The prefix of a pushed request's ``request_uri`` (RFC 9126 §2.2)."""
REQUEST_URI_SECONDS = 60

CALLBACK_PARAMETERS = ("state", "code", "authorization_code", "error", "error_description", "iss")
"""The parameters that the service adds to the query of a Callback URL (RFC 6749 §4.1.2, RFC 9207 §2)."""
AUTHORIZATION_PARAMETERS = (
    *("response_type", "client_id", "redirect_uri", "scope", "state", "consent_type"),
    *("code_challenge", "code_challenge_method"),
)
"""The parameters that the service adds to the query of a bank's authorization URL (RFC 6749 §4.1.1, RFC 7636 §4.3)."""

ASSERTION_SECONDS = 300
"""The maximum number of seconds from now to the ``exp`` of a client assertion."""
PROOF_SECONDS = 300
"""The age in seconds from which a DPoP proof or nonce is no longer accepted."""
FUTURE_SECONDS = 60
"""The number of seconds by which ``iat`` and ``nbf`` may be ahead of the service's clock. FAPI 2.0 §5.3.2.1 requires at
least 10 and allows at most 60.
"""
PAST_SECONDS = 10
"""The number of seconds by which ``exp`` may be in the past, because clocks differ."""
CODE_SECONDS = 60
"""The lifetime in seconds of a ``fapi2`` client's authorization code in every stage (FAPI 2.0 §5.3.2.1)."""


def token_type(confirmation: Confirmation | None) -> TokenType:
    """Return the type of a token: ``DPoP`` if the token is bound to a DPoP key, otherwise ``Bearer``."""
    return "DPoP" if confirmation and "jkt" in confirmation else "Bearer"
