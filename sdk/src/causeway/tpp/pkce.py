"""PKCE (RFC 7636): a secret that binds an authorization code to the application that requested it."""

from __future__ import annotations

import base64
import hashlib
import secrets


def new_code_verifier() -> str:
    """Create a code verifier, the PKCE secret of one authorization. Store it in the PSU's session until the code is
    redeemed.
    """
    return secrets.token_urlsafe(48)


def code_challenge(verifier: str) -> str:
    """Return the code challenge of a verifier for the method ``S256``."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
