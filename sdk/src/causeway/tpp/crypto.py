"""Keys of a client: signed assertions (``private_key_jwt``) and DPoP proofs.

Needs the extra: ``pip install 'causeway[crypto]'``. The hub accepts PS256 (RSA of 2048 bits or more), ES256 (P-256) and
EdDSA (Ed25519). A key's type determines the algorithm.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from typing import Any, Self

from causeway.errors import ConfigurationError
from causeway.tpp._keys import Algorithm, KeyMaterial, SigningKey, generate_members, read_key, write_key

LONGEST_LIFETIME = 300.0
"""Maximum lifetime of an assertion, in seconds, that the hub accepts."""


class PrivateKeyJwt:
    """Signs a client's assertions (``private_key_jwt``, RFC 7523): ``Tpp(…, assertion=PrivateKeyJwt.load("key.pem"))``.

    ``key`` is a private key in PEM format, decrypted with ``password``, or a JSON Web Key. ``kid`` identifies the key
    among the client's keys; the default is the ``kid`` of the JSON Web Key. Without a ``kid``, the hub tries all keys.
    ``lifetime`` is the validity of an assertion in seconds, up to 300. Each assertion is used for one request. Raises
    ``ConfigurationError`` if the hub does not accept this type of key.
    """

    def __init__(
        self, key: KeyMaterial, *, kid: str | None = None, password: str | bytes | None = None, lifetime: float = 60.0
    ) -> None:
        if not 1 <= lifetime <= LONGEST_LIFETIME:
            raise ConfigurationError(f"lifetime must be 1 to {LONGEST_LIFETIME:.0f} seconds")
        self._key = SigningKey(key, password)
        self.kid = kid or self._key.kid
        self.lifetime = lifetime

    @classmethod
    def generate(cls, algorithm: Algorithm = "ES256", *, lifetime: float = 60.0) -> Self:
        """Generate a key with its thumbprint as ``kid``. Store the key with ``save``, and send ``jwks`` to the hub's
        operator.
        """
        members = generate_members(algorithm)
        return cls(members, kid=SigningKey(members, None).thumbprint, lifetime=lifetime)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        kid: str | None = None,
        password: str | bytes | None = None,
        lifetime: float = 60.0,
    ) -> Self:
        """Load a key from a file that contains PEM or a JSON Web Key as written by ``save``."""
        return cls(read_key(path), kid=kid, password=password, lifetime=lifetime)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the private key as a JSON Web Key to a new file that only its owner can read."""
        write_key(path, {**self._key.private, **self._named})

    def __repr__(self) -> str:
        return f"{type(self).__name__}(algorithm={self.algorithm!r}, kid={self.kid!r})"

    @property
    def algorithm(self) -> Algorithm:
        """The signature algorithm."""
        return self._key.algorithm

    @property
    def jwks(self) -> dict[str, Any]:
        """The public key as a JSON Web Key Set, for the client's record or its ``jwks_uri``."""
        return {"keys": [{**self._key.public, **self._named, "use": "sig"}]}

    def sign(self, client_id: str, audience: str, now: float) -> str:
        """Create an assertion for one request. ``now`` is in Unix seconds."""
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": audience,
            "jti": secrets.token_urlsafe(24),
            "iat": int(now),
            "exp": int(now + self.lifetime),
        }
        return self._key.sign({"typ": "JWT", **self._named}, claims)

    @property
    def _named(self) -> dict[str, str]:
        return {} if self.kid is None else {"kid": self.kid}


class DpopKey:
    """Signs DPoP proofs (RFC 9449), which bind a client's tokens to a key: ``Tpp(…, dpop=DpopKey.load("dpop.json"))``.

    Access tokens cannot be used without this key, so store a generated key together with the tokens. For a client
    without a secret or an assertion key, the refresh token is also bound to the key. ``key`` is a private key in PEM
    format or a JSON Web Key. Raises ``ConfigurationError`` if the hub does not accept this type of key.
    """

    def __init__(self, key: KeyMaterial, *, password: str | bytes | None = None) -> None:
        self._key = SigningKey(key, password)

    @classmethod
    def generate(cls, algorithm: Algorithm = "ES256") -> Self:
        """Generate a new key for DPoP proofs."""
        return cls(generate_members(algorithm))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, password: str | bytes | None = None) -> Self:
        """Load a key from a file that contains PEM or a JSON Web Key as written by ``save``."""
        return cls(read_key(path), password=password)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the private key as a JSON Web Key to a new file that only its owner can read."""
        write_key(path, self._key.private)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(algorithm={self.algorithm!r}, thumbprint={self.thumbprint!r})"

    @property
    def algorithm(self) -> Algorithm:
        """The signature algorithm."""
        return self._key.algorithm

    @property
    def thumbprint(self) -> str:
        """The thumbprint of the key (RFC 7638) in base64url, equal to ``cnf.jkt`` of the tokens that are bound to the
        key.
        """
        return self._key.thumbprint

    def prove(self, method: str, url: str, now: float, *, access_token: str | None, nonce: str | None) -> str:
        """Create a proof for one request. ``url`` has no query, and ``now`` is in Unix seconds."""
        claims: dict[str, Any] = {"jti": secrets.token_urlsafe(24), "htm": method, "htu": url, "iat": int(now)}
        if access_token is not None:
            claims["ath"] = _base64url(hashlib.sha256(access_token.encode()).digest())
        if nonce is not None:
            claims["nonce"] = nonce
        return self._key.sign({"typ": "dpop+jwt", "jwk": self._key.public}, claims)


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
