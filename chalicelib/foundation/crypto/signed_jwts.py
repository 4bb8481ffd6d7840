"""Verification of JWTs that other parties signed (RFC 7515, 7517, 7519), with joserfc.

Only asymmetric algorithms named by the caller are accepted, regardless of the token's header. Keys are public keys of
at least the strength that these algorithms require.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from joserfc.jwk import Key
    from joserfc.jws import JWSRegistry

MOST_KEYS = 20
"""The maximum number of keys in a key set."""
_RSA_BITS = 2048
_CURVES: Mapping[str, str] = {"EC": "P-256", "OKP": "Ed25519"}
_LONGEST = 16_384
_LONGEST_JTI = 256
_PRIVATE_MEMBERS = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}
"""The members of private and symmetric keys (RFC 7518 §6)."""


class InvalidJwt(ValueError):
    """A token is invalid. The message contains the reason, for the log."""


class InvalidKeySet(ValueError):
    """A key set is unusable. The message contains the reason."""


@dataclass(frozen=True, slots=True)
class UnverifiedJwt:
    """The header and claims of a token. The token's signature is not verified."""

    text: str
    header: Mapping[str, Any]
    claims: Mapping[str, Any]


def parse(text: str) -> UnverifiedJwt:
    """Parse a compact token without verifying it. Raises: InvalidJwt."""
    from joserfc import jws
    from joserfc.errors import JoseError
    from joserfc.util import urlsafe_b64decode

    if len(text) > _LONGEST:
        raise InvalidJwt("it is too long")
    try:
        found = jws.extract_compact(text.encode(), registry=_registry())
        header = jsontext.loads(urlsafe_b64decode(found.segments["header"]))
        claims = jsontext.loads(found.payload)
    except (JoseError, ValueError, RecursionError) as error:
        raise InvalidJwt(f"it is not a signed JWT: {type(error).__name__}") from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise InvalidJwt("its header or its claims are not an object")
    if "crit" in header:
        raise InvalidJwt("its crit is empty or names an extension, and none is supported")  # RFC 7515 §4.1.11
    return UnverifiedJwt(text, header, claims)


def verify(token: UnverifiedJwt, keys: Sequence[Key], algorithms: Collection[str]) -> None:
    """Verify a token's signature with the key named by ``kid``, or without ``kid`` with any of ``keys``.

    If several keys have this ``kid``, the key of the matching type is used (FAPI 2.0 §5.4.3).

    Raises:
        InvalidJwt: the algorithm is not among ``algorithms``, there is no such key, or the signature is wrong.
    """
    algorithm, kid = str(token.header.get("alg")), token.header.get("kid")
    if algorithm not in algorithms:
        raise InvalidJwt("its algorithm is not allowed")
    fitting = [key for key in keys if kid is None or key.kid == kid]
    if not fitting:
        raise InvalidJwt("its kid is not that of a known key")
    if not any(_has_signed(token, key, algorithm) for key in fitting):
        raise InvalidJwt("its signature is wrong")


def read_time(claims: Mapping[str, Any], name: str) -> int | Decimal | None:
    """Read a claim of Unix seconds (RFC 7519 §2). Return ``None`` if the claim is missing. Raises: InvalidJwt."""
    value = claims.get(name)
    if value is None or (isinstance(value, int | Decimal) and not isinstance(value, bool)):
        return value
    raise InvalidJwt(f"{name} must be a number")


def read_identifier(claims: Mapping[str, Any]) -> str:
    """Read the claim ``jti`` (RFC 7519 §4.1.7). Raises: InvalidJwt."""
    jti = claims.get("jti")
    if not isinstance(jti, str) or not 1 <= len(jti) <= _LONGEST_JTI:
        raise InvalidJwt(f"jti must be text of 1 to {_LONGEST_JTI} characters")
    return jti


def import_key(members: Mapping[str, Any]) -> Key:
    """Import the public key in a JSON Web Key. Raises: InvalidKeySet, also for a private key."""
    from joserfc import jwk
    from joserfc.errors import JoseError

    kind = members.get("kty")
    if kind not in ("RSA", *_CURVES):
        raise InvalidKeySet("a key must be of type RSA, EC or OKP")
    if _PRIVATE_MEMBERS & members.keys():
        raise InvalidKeySet("a key is private: pass public keys only")
    if kind in _CURVES and members.get("crv") != _CURVES[kind]:
        raise InvalidKeySet(f"a key of type {kind} must be on the curve {_CURVES[kind]}")
    if kind == "RSA" and _count_bits(members.get("n")) < _RSA_BITS:
        raise InvalidKeySet(f"an RSA key must have at least {_RSA_BITS} bits")
    named = {name: value for name, value in members.items() if name != "alg" or kind != "OKP"}
    try:
        key = jwk.import_key(named)  # Ed25519 has two names as an algorithm: EdDSA and, since RFC 9864, Ed25519
        key.thumbprint()  # parses the key
    except (JoseError, ValueError, TypeError, KeyError):
        raise InvalidKeySet("a key is not a JSON Web Key") from None
    return key


def import_key_set(members: object) -> list[Key]:
    """Import the public keys of a JSON Web Key Set that verify signatures.

    Keys of other types or uses, which a client may also publish, are ignored (RFC 7517 §5).

    Raises:
        InvalidKeySet: the set has no usable key, or has a private key.
    """
    listed = members.get("keys") if isinstance(members, dict) else None
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise InvalidKeySet('a key set is an object with the member "keys", a list of keys; this is not one')
    if len(listed) > MOST_KEYS:
        raise InvalidKeySet(f"a key set must not have more than {MOST_KEYS} keys")
    if any(_PRIVATE_MEMBERS & each.keys() for each in listed):
        raise InvalidKeySet("a key is private: pass public keys only")
    keys, reasons = _import_usable([each for each in listed if each.get("use", "sig") == "sig"])
    if not keys:
        raise InvalidKeySet(reasons[0] if reasons else "a key set must have a key that verifies signatures")
    return keys


def _import_usable(listed: Sequence[Mapping[str, Any]]) -> tuple[list[Key], list[str]]:
    keys, reasons = [], []
    for members in listed:
        try:
            keys.append(import_key(members))
        except InvalidKeySet as error:
            reasons.append(str(error))
    return keys, reasons


def thumbprint(key: Key) -> str:
    """Return the SHA-256 thumbprint of a key (RFC 7638) in base64url."""
    return key.thumbprint()


def _count_bits(modulus: object) -> int:
    try:
        return int.from_bytes(base64.urlsafe_b64decode(f"{modulus}===")).bit_length()
    except ValueError:
        return 0


def _has_signed(token: UnverifiedJwt, key: Key, algorithm: str) -> bool:
    from joserfc import jws
    from joserfc.errors import JoseError

    try:
        jws.deserialize_compact(token.text, key, registry=_registry(algorithm))
    except (JoseError, ValueError):  # a key of another type than the algorithm's
        return False
    return True


@cache
def _registry(algorithm: str = "") -> JWSRegistry:
    """Return the rules for a token: one algorithm, headers with keys, and unknown header members (RFC 7515 §4)."""
    from joserfc.errors import UnsupportedAlgorithmError
    from joserfc.jws import JWSRegistry

    class Rules(JWSRegistry):
        max_header_length = _LONGEST

        def get_alg(self, name: str) -> Any:
            """Return the algorithm without joserfc's deprecation warning for the name EdDSA, which FAPI 2.0 uses."""
            if name != algorithm:
                raise UnsupportedAlgorithmError(name)
            return self.algorithms[name]

    return Rules(strict_check_header=False)
