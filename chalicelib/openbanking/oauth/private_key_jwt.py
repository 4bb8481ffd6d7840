"""Client authentication by signed assertions (RFC 7523; FAPI 2.0 Security Profile §5.3.2.1).

An assertion is signed with a key of the client, expires within five minutes, names this service as audience, and can be
used once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS, Clock
from chalicelib.foundation.crypto.signed_jwts import InvalidJwt, parse, read_identifier, read_time, verify
from chalicelib.openbanking.oauth.key_sets import KeySets
from chalicelib.openbanking.protocol.oauth_security import (
    ASSERTION_SECONDS,
    FUTURE_SECONDS,
    PAST_SECONDS,
    SIGNING_ALGORITHMS,
)
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.single_use import SingleUse


class ClientAssertions:
    """Verifies assertions. ``issuer`` is this service's identifier, which is its public URL.

    ``token_endpoints`` are the addresses of the token endpoint.
    """

    def __init__(self, key_sets: KeySets, clock: Clock, issuer: str, token_endpoints: Collection[str]) -> None:
        self._key_sets = key_sets
        self._clock = clock
        self._issuer = issuer
        self._token_endpoints = token_endpoints

    def verify(self, client: Client, assertion: str, endpoints: Collection[str]) -> SingleUse:
        """Verify an assertion of ``client``. The caller must then record the assertion's identifier as used.

        Outside the profile ``fapi2``, ``aud`` may also be the URL of the token endpoint or of the called endpoint.
        ``endpoints`` contains the URLs of the called endpoint (RFC 7523 §3, RFC 9126 §2).

        Raises:
            InvalidJwt.
        """
        token = parse(assertion)
        self._check_claims(client, token.claims, endpoints)
        kid = token.header.get("kid")
        verify(token, self._key_sets.find(client, kid), SIGNING_ALGORITHMS)
        too_old_at = int(token.claims["exp"]) + PAST_SECONDS + CLOCK_SKEW_SECONDS
        return SingleUse(client.client_id, read_identifier(token.claims), too_old_at)

    def _check_claims(self, client: Client, claims: Mapping[str, Any], endpoints: Collection[str]) -> None:
        if claims.get("iss") != client.client_id or claims.get("sub") != client.client_id:
            raise InvalidJwt("iss and sub must be the Client ID")
        others = () if client.security.is_fapi2 else (*self._token_endpoints, *endpoints)
        audiences = {self._issuer, *others}
        if not isinstance(claims.get("aud"), str) or claims["aud"] not in audiences:
            raise InvalidJwt("aud must be one string, this service's issuer")
        _check_times(claims, self._clock.time())


def read_subject(assertion: str) -> str | None:
    """Return the client that an unverified assertion names, or ``None`` if the assertion is not a JWT."""
    try:
        subject = parse(assertion).claims.get("sub")
    except InvalidJwt:
        return None
    return subject if isinstance(subject, str) else None


def _check_times(claims: Mapping[str, Any], now: int) -> None:
    """Check ``exp``, ``iat`` and ``nbf`` of an assertion against ``now`` (Unix seconds). Raises: InvalidJwt."""
    expiry = read_time(claims, "exp")
    if expiry is None or not now - PAST_SECONDS < expiry <= now + ASSERTION_SECONDS:
        raise InvalidJwt(f"exp must be at most {ASSERTION_SECONDS} seconds ahead, and not in the past")
    for name in ("iat", "nbf"):
        moment = read_time(claims, name)
        if moment is not None and moment > now + FUTURE_SECONDS:
            raise InvalidJwt(f"{name} is in the future")
