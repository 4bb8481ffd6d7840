"""RSA public keys are read in all notations that engineers exchange."""

import json
import re
import secrets
import textwrap
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.crypto.public_keys import MOST_BITS, MOST_EXPONENT_BITS, MOST_KEYS, read_public_keys
from chalicelib.foundation.crypto.signatures import InvalidKey
from tests.infra.conformance.small_bank import KEY, OTHER_KEY
from tests.kit.certificates import NOW, name

PUBLIC = KEY.public_key()
PEM, OTHER_PEM = (signatures.public_pem(key.public_key()) for key in (KEY, OTHER_KEY))
JWK = dict(signatures.jwk(PUBLIC))
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def certificate(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> str:
    subject = name("CN=Example Bank")
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, NOW, NOW + timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        f"\n  {PEM}\n\n",
        textwrap.indent(PEM, "    "),
        PEM.replace("\n", "\r\n"),
        PUBLIC.public_bytes(Encoding.PEM, PublicFormat.PKCS1).decode(),
        certificate(KEY),
        json.dumps(JWK),
        json.dumps({"keys": [JWK, {"kty": "EC", "use": "enc"}]}),
        json.dumps({"kty": "RSA", "n": JWK["n"], "e": JWK["e"]}),
    ],
    ids=lambda _: "key",
)
def test_a_public_key_is_read_in_every_notation(text: str) -> None:
    assert read_public_keys(text) == [PUBLIC]


def test_several_pem_blocks_are_several_keys() -> None:
    assert read_public_keys(PEM + OTHER_PEM) == [PUBLIC, OTHER_KEY.public_key()]


def private(form: serialization.PrivateFormat) -> str:
    return KEY.private_bytes(Encoding.PEM, form, serialization.NoEncryption()).decode()


def public_of(key: Any) -> str:
    return str(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())


def jwk_of(bits: int, exponent: int) -> str:
    modulus = secrets.randbits(bits) | 1 << (bits - 1) | 1
    return json.dumps(signatures.jwk(rsa.RSAPublicNumbers(exponent, modulus).public_key()))


@pytest.mark.parametrize(
    ("bits", "exponent", "reason"),
    [
        (MOST_BITS + 8, 65537, f"the public key has {MOST_BITS + 8} bits; at most {MOST_BITS} are allowed"),
        (2048, 2**MOST_EXPONENT_BITS + 1, f"the public exponent has {MOST_EXPONENT_BITS + 1} bits"),
    ],
)
def test_a_key_that_is_slow_to_verify_with_is_refused(bits: int, exponent: int, reason: str) -> None:
    assert read_public_keys(jwk_of(min(bits, MOST_BITS), min(exponent, 2**MOST_EXPONENT_BITS - 1)))
    with pytest.raises(InvalidKey, match=reason):
        read_public_keys(jwk_of(bits, exponent))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (private(serialization.PrivateFormat.PKCS8), "private key"),
        (private(serialization.PrivateFormat.TraditionalOpenSSL), "private key"),
        (json.dumps(JWK | {"d": "AQ"}), "private key"),
        (json.dumps({"kty": "oct", "k": "AQ"}), "private key"),
        (public_of(EC_KEY), "must be an RSA key"),
        (certificate(EC_KEY), "must be an RSA key"),
        (json.dumps({"kty": "EC"}), "must be an RSA key"),
        (public_of(rsa.generate_private_key(65537, 1024)), "has 1024 bits"),  # noqa: S505 - it is refused
        (json.dumps(JWK | {"n": "AQ"}), "n or e is missing or invalid"),
        (json.dumps({"kty": "RSA"}), "n or e is missing or invalid"),
        ('{"keys": 1}', "keys must be a list"),
        ('{"keys": []}', "not a public key or certificate"),
        ("{", "not a JWK: "),
        ("", "not a public key or certificate"),
        ("ssh-rsa AAAA me@host", "ssh-keygen -e -m PKCS8"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "not a PEM public key"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "not a certificate"),
        (PEM * (MOST_KEYS + 1), f"more than {MOST_KEYS} keys"),
    ],
    ids=lambda _: "key",
)
def test_a_text_without_a_usable_public_key_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidKey, match=re.escape(reason)):
        read_public_keys(text)
