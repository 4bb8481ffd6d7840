"""Reads RSA public keys in all notations in which engineers exchange them: PEM, certificates, JWK and JWK sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto.certificates import InvalidCertificate, load_certificate
from chalicelib.foundation.crypto.signatures import InvalidKey, load_public_key, public_pem

MOST_KEYS = 10
MOST_BITS = 8192
MOST_EXPONENT_BITS = 32
"""Larger keys are slow to verify with: ten keys of 16,384 bits and their explanations take seconds."""
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----[^-]+-----END \1-----")
_PRIVATE = "this is a private key, which must not leave its owner: use the public key"


def read_public_keys(text: str) -> list[RSAPublicKey]:
    """Read the RSA public keys in a text: PEM blocks, of keys or certificates, or a JSON Web Key or key set.

    Raises:
        InvalidKey: the text has a private key, a key that is not RSA, too short or too long, no key, or more than
            ``MOST_KEYS``.
    """
    text = text.strip()
    if "PRIVATE KEY-----" in text:
        raise InvalidKey(_PRIVATE)
    pems = _read_jwks(text) if text.startswith("{") else [_as_pem(block) for block in _BLOCK.finditer(text)]
    if not 1 <= len(pems) <= MOST_KEYS:
        raise InvalidKey(f"there are more than {MOST_KEYS} keys" if pems else _describe_unknown(text))
    return [_check_costs(load_public_key(pem)) for pem in pems]


def _check_costs(key: RSAPublicKey) -> RSAPublicKey:
    """Return a key with which a verification takes milliseconds. Raises: InvalidKey."""
    exponent = key.public_numbers().e.bit_length()
    if key.key_size > MOST_BITS:
        raise InvalidKey(f"the public key has {key.key_size} bits; at most {MOST_BITS} are allowed")
    if exponent > MOST_EXPONENT_BITS:
        raise InvalidKey(f"the public exponent has {exponent} bits; at most {MOST_EXPONENT_BITS} are allowed")
    return key


def _describe_unknown(text: str) -> str:
    if text.startswith("ssh-"):
        return "this is an SSH key: ssh-keygen -e -m PKCS8 -f FILE writes it as PEM"
    return "this is not a public key or certificate in PEM, or a JWK"


def _as_pem(block: re.Match[str]) -> str:
    """Return a PEM block, or the PEM of a certificate's key. Indentation is removed."""
    pem = "\n".join(line.strip() for line in block[0].splitlines())
    if block[1] != "CERTIFICATE":
        return pem
    try:
        return public_pem(load_certificate(pem).public_key())  # type: ignore[arg-type] # checked when it is loaded
    except (InvalidCertificate, UnsupportedAlgorithm, ValueError):
        raise InvalidKey("this is not a certificate with an RSA key") from None


def _read_jwks(text: str) -> list[str]:
    try:
        members = jsontext.loads(text)
    except jsontext.InvalidJson as error:
        raise InvalidKey(f"this is not a JWK: {error}") from None
    listed = members.get("keys", [members]) if isinstance(members, dict) else []
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise InvalidKey("this is not a JWK set: keys must be a list of keys")
    return [public_pem(_read_jwk(each)) for each in _signing_keys(listed)]


def _signing_keys(listed: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the keys that are not for another use than signatures."""
    return [each for each in listed if each.get("use", "sig") == "sig"]


def _read_jwk(members: Mapping[str, Any]) -> RSAPublicKey:
    if "d" in members or members.get("kty") == "oct":
        raise InvalidKey(_PRIVATE)
    if members.get("kty") != "RSA":
        raise InvalidKey("the public key must be an RSA key")
    from joserfc.errors import JoseError
    from joserfc.jwk import RSAKey

    try:
        return RSAKey.import_key({name: members[name] for name in ("kty", "n", "e")}).public_key
    except (JoseError, KeyError, TypeError, ValueError):
        raise InvalidKey("this is not a JWK: n or e is missing or invalid") from None
