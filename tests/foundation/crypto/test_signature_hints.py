"""Common mistakes in signatures are detected and explained."""

import base64
import hashlib
import json
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, utils
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.crypto.signature_hints import explain
from tests.infra.conformance.small_bank import KEY, OTHER_KEY

BODY = b'{"a":1}'
TEXT = '{"name":"Zoë","path":"a/b","list":[1,2]}'
PARSED = json.loads(TEXT)
NO_SPACES = (",", ":")
AGAIN = "the signature is of the body parsed and written again, "
COVERED = [
    (BODY + b"\n", BODY, "the body ends with a line break or spaces that the signature does not cover"),
    (BODY, BODY + b"\n", "the signature covers a line break at the end that the body does not have"),
    (BODY, BODY + b"\r\n", "the signature covers a line break at the end that the body does not have"),
    (b'{"a": 1}', BODY, "the signature is of the body without spaces"),
    (b'{\n"a":1}', b'{\r\n"a":1}', "the signature covers lines that end with CRLF"),
    (b'{\r\n"a":1}', b'{\n"a":1}', "the signature covers lines that end with LF"),
    (BODY, b"\xef\xbb\xbf" + BODY, "the signature covers a byte order mark before the body"),
    (TEXT.encode(), TEXT.encode("latin-1"), "the signature covers the body in Latin-1 instead of UTF-8"),
    (BODY, BODY.decode().encode("utf-16-le"), "the signature covers the body in UTF-16 instead of UTF-8"),
    (TEXT.encode(), TEXT.replace("/", "\\/").encode(), "written again, with / as \\/"),
    (TEXT.encode(), json.dumps(PARSED, separators=NO_SPACES).encode(), f"{AGAIN}without spaces, with \\u escapes"),
    (BODY, json.dumps({"a": 1}).encode(), f"{AGAIN}with spaces after commas and colons"),
    (BODY, json.dumps({"a": 1}, indent=2).encode(), f"{AGAIN}with an indentation of 2 spaces"),
    (b'{"b":1,"a":2}', b'{"a":2,"b":1}', f"{AGAIN}with its members in alphabetical order"),
    (BODY, hashlib.sha256(BODY).digest(), "the SHA-256 hash of the body was signed, which hashes it again"),
    (BODY, hashlib.sha256(BODY).hexdigest().encode(), "the hexadecimal SHA-256 hash of the body was signed"),
    (BODY, base64.b64encode(BODY), "the signature covers the Base64 of the body"),
    (BODY, b"", "the signature covers an empty text instead of the body"),
    (BODY, b"other", f"other bytes than this body: their SHA-256 is {hashlib.sha256(b'other').hexdigest()}"),
]
"""The body, the bytes that were signed instead, and the explanation."""


def explained(signature: str, body: bytes = BODY) -> str:
    return explain([KEY.public_key()], body, signature)


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


HASHES = [hashes.SHA1(), hashes.SHA384(), hashes.SHA512(), hashes.SHA224()]  # noqa: S303 - mistakes
SIGNATURE = signatures.sign(KEY, BODY)
RAW = base64.b64decode(SIGNATURE)


@pytest.mark.parametrize(("sent", "signed", "reason"), COVERED)
def test_a_signature_of_other_bytes_is_explained_by_these_bytes(sent: bytes, signed: bytes, reason: str) -> None:
    assert reason in explained(signatures.sign(KEY, signed), sent)


@pytest.mark.parametrize("body", [BODY, b"\xff", b""])
def test_a_signature_by_another_key_is_not_explained_by_the_body(body: bytes) -> None:
    reason = "it is by another private key, or was damaged on the way: compare the id of the key"

    assert explained(signatures.sign(OTHER_KEY, body), body) == reason
    assert explain([], body, SIGNATURE) == reason


def test_the_explanation_tries_every_key() -> None:
    keys = [OTHER_KEY.public_key(), KEY.public_key()]

    assert explain(keys, BODY, signatures.sign(KEY, BODY + b"\n")).startswith("the signature covers a line break")


@pytest.mark.parametrize("algorithm", HASHES)
def test_a_signature_with_another_hash_names_the_hash(algorithm: hashes.HashAlgorithm) -> None:
    name = algorithm.name.upper().replace("SHA", "SHA-")
    right, wrong = (KEY.sign(body, padding.PKCS1v15(), algorithm) for body in (BODY, b"other"))

    required = "RSASSA-PKCS1-v1_5 with SHA-256 is required"
    assert explained(encoded(right)) == f"it was made with {name}: {required}"
    assert explained(encoded(wrong)) == f"it was made with {name}, and covers other bytes: {required}"


@pytest.mark.parametrize("algorithm", [hashes.SHA256(), hashes.SHA512()])
def test_a_pss_signature_names_rsassa_pss(algorithm: hashes.HashAlgorithm) -> None:
    raw = KEY.sign(BODY, padding.PSS(padding.MGF1(algorithm), 32), algorithm)

    assert explained(encoded(raw)) == "it was made with RSASSA-PSS: RSASSA-PKCS1-v1_5 with SHA-256 is required"


def test_a_hash_that_was_encrypted_without_its_name_is_explained() -> None:
    raw = KEY.sign(hashlib.sha256(BODY).digest(), padding.PKCS1v15(), utils.NoDigestInfo())
    other = KEY.sign(b"short", padding.PKCS1v15(), utils.NoDigestInfo())

    assert "without the name of its algorithm (DigestInfo)" in explained(encoded(raw))
    assert "no known hash" in explained(encoded(other))


def in_lines(text: str) -> str:
    return "\n".join(text[start : start + 64] for start in range(0, len(text), 64))


def base64url(text: str) -> str:
    return text.translate(str.maketrans("+/", "-_"))


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (in_lines, "it has line breaks or spaces: Base64 must be on one line"),
        (base64url, "it is in base64url, with - and _, instead of Base64, with + and /"),
        (lambda text: text.rstrip("="), "its Base64 is cut off, or lacks the padding with ="),
        (lambda text: base64.b64decode(text).hex(), "it is hexadecimal instead of Base64"),
    ],
)
def test_a_signature_in_another_encoding_is_explained_and_compared(write: Callable[[str], str], reason: str) -> None:
    assert explained(write(SIGNATURE)) == reason
    wrong = write(signatures.sign(KEY, BODY + b"\n"))
    assert (
        explained(wrong)
        == f"{reason}; besides, the signature covers a line break at the end that the body does not have"
    )


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("", "it is empty"),
        ("\u00fc", "it is not Base64"),
        ("a.b.c", "it is a JWS, three parts with dots between them"),
        (f'keyId="a",signature="{SIGNATURE}"', "it has parameters, as in the HTTP signature drafts"),
        (f"sha256={'0' * 64}", "it has parameters"),
        (f"v1,{SIGNATURE}", "it has parameters"),
        (encoded(SIGNATURE.encode()), "it is encoded in Base64 twice"),
        (encoded(RAW[:-1]), "it has 255 bytes; a signature by this key has 256"),
        (encoded(hashlib.sha256(BODY).digest()), "it has 32 bytes, as a SHA-256 hash or an HMAC has"),
        (encoded(hashlib.sha1(BODY).digest()), "it has 20 bytes, as a SHA-1 hash has"),  # noqa: S324 - an example
        (encoded(b"\x30" + b"0" * 70), "it has 71 bytes, as an ECDSA signature has"),
    ],
    ids=lambda _: "text",
)
def test_a_text_that_is_not_a_signature_is_explained_by_its_format(signature: str, reason: str) -> None:
    assert reason in explained(signature)


@pytest.mark.parametrize("key", [KEY, OTHER_KEY])
@pytest.mark.parametrize("body", [b"{", b'{"a":1,"a":2}', b"\xff\xfe", b"[" * 200, b'"\\ud83d"'])
def test_a_body_that_is_not_json_is_explained_without_an_error(key: RSAPrivateKey, body: bytes) -> None:
    assert explained(signatures.sign(key, b"x"), body)
