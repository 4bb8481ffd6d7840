"""Builds the parameters of an authorization request, and checks the parameters of the callback."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from causeway import errors
from causeway.tpp.pkce import code_challenge

if TYPE_CHECKING:
    from causeway.tpp._generated.literals import ConsentType, Scope


def challenge_members(code_verifier: str | None) -> dict[str, str | None]:
    """Return the PKCE parameters of an authorization request."""
    if code_verifier is None:
        return {}
    return {"code_challenge": code_challenge(code_verifier), "code_challenge_method": "S256"}


def authorization_members(
    scopes: Sequence[Scope],
    bic: str | None,
    redirect_uri: str | None,
    state: str | None,
    code_verifier: str | None,
    consent_type: ConsentType | None,
) -> dict[str, str | None]:
    """Return the members of an OAuth authorization request (RFC 6749 section 4.1.1)."""
    return {
        "response_type": "code",
        "scope": " ".join(scopes),
        "bic": bic,
        "redirect_uri": redirect_uri,
        "state": state,
        **challenge_members(code_verifier),
        "consent_type": consent_type,
    }


def code_of_callback(url: str, *, state: str, issuer: str) -> str:
    """Return the authorization code in the callback URL.

    Raises ``ForgedCallback`` if the state or issuer differs (RFC 9207), and ``ConsentRefused`` if there is no code.
    """
    try:
        found = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    except ValueError:
        raise errors.ForgedCallback("this is no address") from None
    if not _is_same(found.get("state", ""), state):
        raise errors.ForgedCallback("the state is not that of this session")
    if not _is_same(found.get("iss", ""), issuer):
        raise errors.ForgedCallback("the issuer is not this hub")
    if "code" not in found:
        raise errors.ConsentRefused(found.get("error", "access_denied"), found.get("error_description", ""))
    return found["code"]


def _is_same(found: str, expected: str) -> bool:
    """Return whether a value equals the expected value. If no value is expected, return false."""
    return expected != "" and hmac.compare_digest(found.encode(), expected.encode())
