"""Common mistakes in signatures are detected and explained."""

import pytest

from chalicelib.foundation.crypto import signatures
from infra.conformance.signature_hints import hint
from tests.infra.conformance.small_bank import KEY, OTHER_KEY

BODY = b'{"a":1}'
MISTAKES = [
    (BODY + b"\n", BODY, "the body ends with a line break or spaces that the signature does not cover"),
    (BODY, BODY + b"\n", "the signature covers a line break at the end that the body does not have"),
    (BODY, BODY + b"\r\n", "the signature covers a line break at the end that the body does not have"),
    (b'{"a": 1}', BODY, "the signature is of the body without spaces"),
]


@pytest.mark.parametrize(("sent", "signed", "said"), MISTAKES, ids=lambda each: repr(each)[:30])
def test_the_signature_hint_detects_a_signature_over_different_bytes(sent: bytes, signed: bytes, said: str) -> None:
    assert hint([KEY.public_key()], sent, signatures.sign(KEY, signed)) == said


@pytest.mark.parametrize("body", [BODY, b"\xff", b""])
def test_the_signature_hint_for_a_different_key_compares_key_ids(body: bytes) -> None:
    assert "or of another key: compare the id" in hint([KEY.public_key()], body, signatures.sign(OTHER_KEY, body))
