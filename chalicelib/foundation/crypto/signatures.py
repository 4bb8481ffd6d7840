"""Signatures of raw bodies: RSA PKCS#1 v1.5 with SHA-256, base64 (specification, Authentication: X-Signature)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import Literal, TypedDict

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, generate_private_key

from chalicelib.foundation.identifiers import base64url

MINIMUM_BITS = 2048
_PADDING = padding.PKCS1v15()
_HASH = hashes.SHA256()


class InvalidKey(ValueError):
    """The key is unusable: not PEM, not RSA, or shorter than 2048 bits."""


def sign(key: RSAPrivateKey, body: bytes) -> str:
    """Return the base64 signature of ``body``."""
    return base64.b64encode(key.sign(body, _PADDING, _HASH)).decode("ascii")


def verify(keys: Iterable[RSAPublicKey], body: bytes, signature: str) -> bool:
    """Whether ``signature`` is valid for ``body`` and any of ``keys``."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    return any(_verifies(key, body, raw) for key in keys)


def describe_attempt(keys: Iterable[RSAPublicKey], body: bytes) -> str:
    """Describe a signature verification for sandbox users, with the ids of ``keys`` and the length and SHA-256 of
    ``body``.
    """
    tried = ", ".join(key_id(key) for key in keys) or "none"
    return f"keys tried: {tried}; body received: {len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}"


def _verifies(key: RSAPublicKey, body: bytes, signature: bytes) -> bool:
    try:
        key.verify(signature, body, _PADDING, _HASH)
    except InvalidSignature:
        return False
    return True


def generate_private_pem() -> str:
    """Generate an RSA-2048 private key as PEM (PKCS#8)."""
    key = generate_private_key(public_exponent=65537, key_size=MINIMUM_BITS)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode("ascii")


def load_private_key(pem: str, *, own: bool = False) -> RSAPrivateKey:
    """Load a private key from PEM.

    Args:
        own: whether this service generated the key. If true, the check of the key's primes is skipped, because this
            check is the slowest step in a cold start.

    Raises:
        InvalidKey: not PEM, not RSA, or too short.
    """
    try:
        key: object = serialization.load_pem_private_key(
            pem.encode(), password=None, unsafe_skip_rsa_key_validation=own
        )
    except UnsupportedAlgorithm:
        key = None
    except (ValueError, TypeError):
        raise InvalidKey("this is not a PEM private key") from None
    if not isinstance(key, RSAPrivateKey) or key.key_size < MINIMUM_BITS:
        raise InvalidKey(f"the private key must be RSA with at least {MINIMUM_BITS} bits")
    return key


def load_public_key(pem: str) -> RSAPublicKey:
    """Load a public key from PEM. Raises: InvalidKey."""
    try:
        key: object = serialization.load_pem_public_key(pem.encode())
    except UnsupportedAlgorithm:
        key = None
    except ValueError:
        raise InvalidKey("this is not a PEM public key") from None
    if not isinstance(key, RSAPublicKey):
        raise InvalidKey("the public key must be an RSA key")
    if key.key_size < MINIMUM_BITS:
        raise InvalidKey(f"the public key has {key.key_size} bits; at least {MINIMUM_BITS} are required")
    return key


def public_pem(key: RSAPublicKey) -> str:
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def key_id(key: RSAPublicKey) -> str:
    """Return the key's id: the first 16 hexadecimal digits of the SHA-256 of its DER encoding."""
    encoded = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).hexdigest()[:16]


class PublicKey(TypedDict):
    """A public signing key as a JSON Web Key (RFC 7517)."""

    kty: Literal["RSA"]
    """The key type."""
    use: Literal["sig"]
    """The intended use."""
    alg: Literal["RS256"]
    """The signature algorithm."""
    kid: str
    """The key's identifier. Example: ``"lqTeqB0kHh7pVY3VqPzvC0kqPpRr1XvF0Jb6VhX2yQk"``."""
    n: str
    """The modulus. Example: ``"sXchX6M2q9hC4m0D5cQ1"``."""
    e: str
    """The exponent. Example: ``"AQAB"``."""


def jwk(key: RSAPublicKey) -> PublicKey:
    """Convert the key to a JSON Web Key (RFC 7517)."""
    numbers = key.public_numbers()
    return {
        "kty": "RSA",
        "use": "sig",
        "alg": "RS256",
        "kid": key_id(key),
        "n": _encode_number(numbers.n),
        "e": _encode_number(numbers.e),
    }


def _encode_number(number: int) -> str:
    return base64url(number.to_bytes((number.bit_length() + 7) // 8, "big"))
