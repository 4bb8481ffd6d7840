"""Signatures match a published test vector, and weak keys are rejected."""

import base64
import json
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from chalicelib.foundation.crypto import signatures

VECTOR = json.loads(Path(__file__).with_name("vector.json").read_text(encoding="utf-8"))
BODY = VECTOR["body"].encode()


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return signatures.load_private_key(VECTOR["private_key"])


@pytest.fixture(scope="module")
def other() -> rsa.RSAPrivateKey:
    return signatures.load_private_key(signatures.generate_private_pem())


def pem_of(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> tuple[str, str]:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


def test_signing_the_published_test_vector_creates_the_published_signature(key: rsa.RSAPrivateKey) -> None:
    assert signatures.sign(key, BODY) == VECTOR["signature"]


def test_the_signature_of_the_published_test_vector_is_verified() -> None:
    public = signatures.load_public_key(VECTOR["public_key"])

    assert signatures.verify([public], BODY, VECTOR["signature"])
    assert signatures.key_id(public) == VECTOR["key_id"]


@pytest.mark.needs("openssl")
def test_openssl_verifies_the_published_signature_test_vector(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(VECTOR["public_key"])
    (tmp_path / "signature").write_bytes(base64.b64decode(VECTOR["signature"]))
    (tmp_path / "body").write_bytes(BODY)

    command = ["openssl", "dgst", "-sha256", "-verify", "key", "-signature", "signature", "body"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout == b"Verified OK\n"


def test_a_signature_is_verified_by_any_of_several_public_keys(
    key: rsa.RSAPrivateKey, other: rsa.RSAPrivateKey
) -> None:
    publics = [key.public_key(), other.public_key()]

    assert signatures.verify(publics, BODY, signatures.sign(key, BODY))
    assert signatures.verify(publics, BODY, signatures.sign(other, BODY))
    assert not signatures.verify(publics[1:], BODY, signatures.sign(key, BODY))
    assert not signatures.verify([], BODY, signatures.sign(key, BODY))


@pytest.mark.parametrize("body", [b"", BODY + b" ", BODY[:-1], BODY.replace(b'"', b"'"), BODY.lower()])
def test_a_signature_of_another_body_is_rejected(key: rsa.RSAPrivateKey, body: bytes) -> None:
    assert not signatures.verify([key.public_key()], body, VECTOR["signature"])


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "garbage",
        "ä",
        "====",
        "\x00",
        VECTOR["signature"][:-4],
        VECTOR["signature"] + "AAAA",
        VECTOR["signature"] + "\n",
        " " + VECTOR["signature"],
        VECTOR["signature"].replace("+", "-").replace("/", "_"),
        base64.b64encode(b"\x00" * 256).decode(),
        base64.b64encode(b"\xff" * 256).decode(),
        "A" * 1_000_000,
    ],
)
def test_malformed_signatures_are_rejected(key: rsa.RSAPrivateKey, signature: str) -> None:
    assert signature != VECTOR["signature"]
    assert not signatures.verify([key.public_key()], BODY, signature)


def test_a_new_key_is_a_unique_rsa_key_of_2048_bits(other: rsa.RSAPrivateKey, key: rsa.RSAPrivateKey) -> None:
    assert other.key_size == signatures.MINIMUM_BITS == 2048
    assert signatures.key_id(other.public_key()) != signatures.key_id(key.public_key())


def test_weak_rsa_keys_are_rejected() -> None:
    private, public = pem_of(rsa.generate_private_key(public_exponent=65537, key_size=1024))  # noqa: S505 - weak on purpose

    with pytest.raises(signatures.InvalidKey, match="must be RSA with at least 2048 bits"):
        signatures.load_private_key(private)
    with pytest.raises(signatures.InvalidKey, match="has 1024 bits; at least 2048 are required"):
        signatures.load_public_key(public)


@pytest.mark.parametrize("key", [ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()])
def test_keys_that_are_not_rsa_keys_are_rejected(key: ec.EllipticCurvePrivateKey) -> None:
    private, public = pem_of(key)

    with pytest.raises(signatures.InvalidKey, match="must be RSA"):
        signatures.load_private_key(private)
    with pytest.raises(signatures.InvalidKey, match="must be an RSA key"):
        signatures.load_public_key(public)


def test_a_public_key_of_an_unknown_type_is_rejected() -> None:
    encoded = base64.b64encode(bytes.fromhex("300a300506032b6500030100")).decode()

    with pytest.raises(signatures.InvalidKey, match="must be an RSA key"):
        signatures.load_public_key(f"-----BEGIN PUBLIC KEY-----\n{encoded}\n-----END PUBLIC KEY-----\n")


@pytest.mark.parametrize("pem", ["", "garbage", "ä", VECTOR["public_key"][:200], VECTOR["private_key"]])
def test_text_that_is_not_a_public_key_is_rejected(pem: str) -> None:
    with pytest.raises(signatures.InvalidKey, match="not a PEM public key"):
        signatures.load_public_key(pem)


def test_text_that_is_not_a_private_key_is_rejected() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    ).decode()

    for pem in ("", "garbage", VECTOR["public_key"], VECTOR["private_key"][:400], locked):
        with pytest.raises(signatures.InvalidKey, match="not a PEM private key"):
            signatures.load_private_key(pem)


def test_a_public_key_is_unchanged_after_a_pem_round_trip(key: rsa.RSAPrivateKey) -> None:
    pem = signatures.public_pem(key.public_key())

    assert pem == VECTOR["public_key"]
    assert signatures.public_pem(signatures.load_public_key(pem)) == pem


def test_a_json_web_key_has_the_members_of_the_public_key(key: rsa.RSAPrivateKey) -> None:
    jwk = signatures.jwk(key.public_key())
    modulus = int.from_bytes(base64.urlsafe_b64decode(jwk["n"] + "=="), "big")

    assert modulus == key.public_key().public_numbers().n
    assert {name: jwk[name] for name in ("kty", "use", "alg", "kid", "e")} == {
        "kty": "RSA",
        "use": "sig",
        "alg": "RS256",
        "kid": VECTOR["key_id"],
        "e": "AQAB",
    }
