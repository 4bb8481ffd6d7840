"""Explains an invalid signature by trying common mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto.signatures import verify

_OTHER_KEY = (
    "it is of other bytes, or of another key: compare the id of the bank's key with that of bank_public_key below"
)


def hint(keys: Sequence[RSAPublicKey], body: bytes, signature: str) -> str:
    """Describe the bytes that ``signature`` signs instead of ``body``. If no attempt matches, suggest that a different
    key was used.
    """
    return next((said for said, other in _attempts(body) if verify(keys, other, signature)), _OTHER_KEY)


def _attempts(body: bytes) -> Iterator[tuple[str, bytes]]:
    if body.rstrip() != body:
        yield "the body ends with a line break or spaces that the signature does not cover", body.rstrip()
    for end in (b"\n", b"\r\n"):
        yield "the signature covers a line break at the end that the body does not have", body + end
    try:
        yield "the signature is of the body without spaces", jsontext.dumps(jsontext.loads(body)).encode()
    except jsontext.InvalidJson:
        return
