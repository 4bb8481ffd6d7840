"""DPoP proofs, which show that a caller has the key to which its tokens are bound (RFC 9449).

A proof is a JWT that the caller signs for one request. Nonces are stateless: each is a keyed hash of the minute of its
creation.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS, Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.crypto.signed_jwts import (
    InvalidJwt,
    InvalidKeySet,
    UnverifiedJwt,
    import_key,
    parse,
    read_identifier,
    read_time,
    thumbprint,
    verify,
)
from chalicelib.foundation.identifiers import base64url
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.oauth_security import FUTURE_SECONDS, PROOF_SECONDS, SIGNING_ALGORITHMS
from chalicelib.openbanking.records.single_use import SingleUse

if TYPE_CHECKING:
    from joserfc.jwk import Key

_PURPOSE = "openbanking/dpop-nonce"
_MINUTE = 60
_PORTS = {"http": 80, "https": 443}


class NonceNeeded(Exception):
    """The proof has no nonce of this service, or its nonce is too old."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A verified proof: the thumbprint of its key (RFC 7638), and its identifier. The caller must use up this
    identifier.
    """

    jkt: str
    use: SingleUse


class DpopNonces:
    """Creates nonces and accepts them for five minutes."""

    def __init__(self, keyring: Keyring, clock: Clock) -> None:
        self._keyring = keyring
        self._clock = clock.real

    def make(self) -> str:
        """Return a nonce for the next proof."""
        return _nonce(self._keyring.derived_signing_key(_PURPOSE), self._clock.time() // _MINUTE)

    def is_valid(self, nonce: object) -> bool:
        if not isinstance(nonce, str) or not nonce.isascii():
            return False
        minute = nonce.partition(".")[0]
        if not minute.isdecimal() or len(minute) > 12:
            return False
        if not -CLOCK_SKEW_SECONDS <= self._clock.time() - int(minute) * _MINUTE < PROOF_SECONDS:
            return False
        keys = self._keyring.derived_keys(_PURPOSE)
        return any(hmac.compare_digest(_nonce(key, int(minute)), nonce) for key in keys)


class DpopProofs:
    """Verifies DPoP proofs."""

    def __init__(self, nonces: DpopNonces, clock: Clock) -> None:
        self._nonces = nonces
        self._clock = clock

    def verify(
        self, text: str, method: str, endpoints: Collection[str], *, token: str | None = None, needs_nonce: bool
    ) -> Proof:
        """Verify a proof (RFC 9449 §4.3).

        Args:
            text: the header ``DPoP``. Several headers are invalid.
            method: the request's method.
            endpoints: the addresses of the called endpoint, one of which ``htu`` must name.
            token: the access token of the request, which ``ath`` must name.
            needs_nonce: whether the proof must have a nonce.

        Raises:
            InvalidJwt, NonceNeeded.
        """
        proof = parse(text)
        key = _read_key(proof)
        verify(proof, [key], SIGNING_ALGORITHMS)
        claims = proof.claims
        self._check_request(claims, method, endpoints)
        issued_at = self._check_time(claims)
        if token is not None and claims.get("ath") != access_token_hash(token):
            raise InvalidJwt("ath is not the hash of the access token")
        if (needs_nonce or "nonce" in claims) and not self._nonces.is_valid(claims.get("nonce")):
            raise NonceNeeded
        jkt = thumbprint(key)
        return Proof(jkt, SingleUse(jkt, read_identifier(claims), issued_at + PROOF_SECONDS + FUTURE_SECONDS))

    def _check_request(self, claims: Mapping[str, Any], method: str, endpoints: Collection[str]) -> None:
        if claims.get("htm") != method:
            raise InvalidJwt("htm is not the request's method")
        called = _canonical(claims.get("htu"))
        if called is None or called not in [_canonical(endpoint) for endpoint in endpoints]:
            raise InvalidJwt("htu is not the request's address")

    def _check_time(self, claims: Mapping[str, Any]) -> int:
        now, issued_at = self._clock.time(), read_time(claims, "iat")
        if issued_at is None or not now - PROOF_SECONDS < issued_at <= now + FUTURE_SECONDS:
            raise InvalidJwt("iat is missing, too old, or in the future")
        return int(issued_at)


def access_token_hash(token: str) -> str:
    """Return the ``ath`` claim for an access token."""
    return base64url(hashlib.sha256(token.encode()).digest())


def _read_key(proof: UnverifiedJwt) -> Key:
    """Return the key in a proof's header. A ``kid`` is ignored. Raises: InvalidJwt."""
    members = proof.header.get("jwk")
    if str(proof.header.get("typ")).lower() != "dpop+jwt" or not isinstance(members, dict):
        raise InvalidJwt("typ is not dpop+jwt, or jwk is missing")
    try:
        return import_key({name: value for name, value in members.items() if name != "kid"})
    except InvalidKeySet as error:
        raise InvalidJwt(str(error)) from None


def _canonical(address: object) -> tuple[object, ...] | None:
    """Return a URL without query and fragment, with its host in lower case and its port (RFC 9449 §4.3).

    Return ``None`` for a URL with user information, blanks or control characters.
    """
    if not isinstance(address, str) or not address.isprintable() or " " in address:
        return None
    try:
        parts = urlsplit(address)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port, parts.path or "/"


def _nonce(key: bytes, minute: int) -> str:
    made = hmac.digest(key, str(minute).encode(), "sha256")
    return f"{minute}.{base64url(made)}"
