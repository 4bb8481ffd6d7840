"""Values of the OAuth security extensions (RFC 7523, 7591, 7800, 8705, 9126, 9449; FAPI 2.0 Security Profile)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

AuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt", "tls_client_auth"]
"""How a client authenticates: ``token_endpoint_auth_method`` (RFC 7591 §2, RFC 8705 §2.1)."""
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
"""The endpoints that clients call themselves, by their names in the metadata (RFC 8414 §2, RFC 9126 §5).

With mutual TLS they are also below ``MTLS_URL`` (RFC 8705 §5).
"""
PROOF_ROUTES = (ENDPOINTS["token_endpoint"], ENDPOINTS["pushed_authorization_request_endpoint"])
"""The endpoints that bind what they issue to the key of a proof."""
SIGNING_ALGORITHMS = ("PS256", "ES256", "EdDSA", "Ed25519")
"""Signature algorithms of assertions and proofs (FAPI 2.0 §5.4.1); ``Ed25519`` is the name of RFC 9864."""
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
REQUEST_URI = "urn:ietf:params:oauth:request_uri:"
"""The prefix of a pushed request's ``request_uri`` (RFC 9126 §2.2)."""
REQUEST_URI_SECONDS = 60

CALLBACK_PARAMETERS = ("state", "code", "authorization_code", "error", "error_description", "iss")
"""What the service adds to the query of a Callback URL (RFC 6749 §4.1.2, RFC 9207 §2)."""
AUTHORIZATION_PARAMETERS = (
    *("response_type", "client_id", "redirect_uri", "scope", "state", "consent_type"),
    *("code_challenge", "code_challenge_method"),
)
"""What the service adds to the query of a bank's authorization URL (RFC 6749 §4.1.1, RFC 7636 §4.3)."""

ASSERTION_SECONDS = 300
"""The most seconds that a client assertion's ``exp`` may be ahead."""
PROOF_SECONDS = 300
"""The age in seconds at which a DPoP proof or nonce is no longer accepted."""
FUTURE_SECONDS = 60
"""Seconds by which ``iat`` and ``nbf`` may be ahead of this clock (FAPI 2.0 §5.3.2.1: 10 s must, 60 s may)."""
PAST_SECONDS = 10
"""Seconds by which ``exp`` may be behind this clock, since clocks differ."""
CODE_SECONDS = 60
"""The lifetime of a ``fapi2`` client's authorization code in every stage (FAPI 2.0 §5.3.2.1)."""


def token_type(confirmation: Confirmation | None) -> TokenType:
    """The type of a token that is bound to a key, or to none."""
    return "DPoP" if confirmation and "jkt" in confirmation else "Bearer"
