"""Explains why a signature is invalid, by trying the common mistakes.

A valid signature of another body or with another hash still proves the key: its padding can be recovered. Therefore the
explanation distinguishes a wrong key from a wrong body.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto.signatures import verify

Attempt = tuple[str, bytes]
"""A description of what a signature may cover instead of the body, and these bytes."""

_ALGORITHM = "RSASSA-PKCS1-v1_5 with SHA-256 is required"
_OTHER_KEY = "it is by another private key, or was damaged on the way: compare the id of the key"
_PADDING = padding.PKCS1v15()
_HASHES: Sequence[hashes.HashAlgorithm] = tuple(
    hashed() for hashed in (hashes.SHA256, hashes.SHA1, hashes.SHA384, hashes.SHA512, hashes.SHA224)
)
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2}){32,}")
_FORMATS: Sequence[tuple[str, re.Pattern[str]]] = (
    ("it is empty", re.compile(r"\s*")),
    (
        "it has parameters, as in the HTTP signature drafts or of other services: X-Signature is only the Base64 value",
        re.compile(r'.*(?:signature=|sha256=|\bv1[=,]|"|:).*', re.DOTALL),
    ),
    (
        "it is a JWS, three parts with dots between them: X-Signature is only the signature of the body",
        re.compile(r"[\w-]+\.[\w-]*\.[\w-]+"),
    ),
    ("it is hexadecimal instead of Base64", _HEXADECIMAL),
    ("it has line breaks or spaces: Base64 must be on one line", re.compile(r"[\w+/=-]+(?:\s+[\w+/=-]+)+")),
    ("its Base64 is cut off, or lacks the padding with =", re.compile(r"[A-Za-z0-9+/]+=?")),
    ("it is in base64url, with - and _, instead of Base64, with + and /", re.compile(r"[A-Za-z0-9_-]+=*")),
)
"""Formats of texts that are not Base64, in the order of their tests."""


def explain(keys: Sequence[RSAPublicKey], body: bytes, signature: str) -> str:
    """Explain why ``signature`` is invalid for ``body`` and all of ``keys``, as a sentence without a full stop."""
    raw = None if _HEXADECIMAL.fullmatch(signature) else _decode(signature)
    if raw is not None:
        return _explain_bytes(keys, body, raw)
    problem = next((problem for problem, form in _FORMATS if form.fullmatch(signature)), "it is not Base64")
    repaired = _repair(signature)
    if repaired is None:
        return problem
    encoded = base64.b64encode(repaired).decode("ascii")
    return problem if verify(keys, body, encoded) else f"{problem}; besides, {_explain_bytes(keys, body, repaired)}"


def _decode(text: str) -> bytes | None:
    """Decode Base64 as ``signatures.verify`` does. Return ``None`` for another or an empty text."""
    with suppress(binascii.Error, ValueError):
        return base64.b64decode(text, validate=True) or None
    return None


def _repair(text: str) -> bytes | None:
    """Decode a hexadecimal text, or Base64 with line breaks, the alphabet of URLs or without padding."""
    compact = "".join(text.split())
    if _HEXADECIMAL.fullmatch(compact):
        return bytes.fromhex(compact)
    plain = compact.translate(str.maketrans("-_", "+/")).rstrip("=")
    return _decode(plain + "=" * (-len(plain) % 4)) if re.fullmatch(r"[A-Za-z0-9+/]+", plain) else None


def _explain_bytes(keys: Sequence[RSAPublicKey], body: bytes, raw: bytes) -> str:
    """Explain the first mistake that a signature reveals."""
    findings = (_wrong_length(keys, raw), *(_explain_key(key, body, raw) for key in keys), _pss(keys, body, raw))
    return next(filter(None, findings), _OTHER_KEY)


def _wrong_length(keys: Sequence[RSAPublicKey], raw: bytes) -> str:
    sizes = sorted({key.key_size // 8 for key in keys})
    if len(raw) in sizes or not sizes:
        return ""
    if (inner := _decode(raw.decode("latin-1"))) and len(inner) in sizes:
        return "it is encoded in Base64 twice"
    cause = {20: ", as a SHA-1 hash has", 32: ", as a SHA-256 hash or an HMAC has"}.get(len(raw), "")
    if raw[:1] == b"\x30" and len(raw) < 150:
        cause = ", as an ECDSA signature has"
    return f"it has {len(raw)} bytes{cause}; a signature by this key has {' or '.join(map(str, sizes))}"


def _explain_key(key: RSAPublicKey, body: bytes, raw: bytes) -> str:
    """Explain a signature that was made with the private key of ``key``; "" if it was made with another key."""
    for algorithm in _HASHES:
        digest = _recover(key, raw, algorithm)
        if digest is not None:
            return _explain_digest(body, digest, algorithm)
    content = _recover(key, raw, None)
    if content is None:
        return ""
    if content == hashlib.sha256(body).digest():
        return f"the hash was encrypted without the name of its algorithm (DigestInfo): {_ALGORITHM}"
    return f"the key is right, but the signature has no known hash: {_ALGORITHM}"


def _recover(key: RSAPublicKey, raw: bytes, algorithm: hashes.HashAlgorithm | None) -> bytes | None:
    with suppress(InvalidSignature, UnsupportedAlgorithm, ValueError):
        return key.recover_data_from_signature(raw, _PADDING, algorithm)
    return None


def _explain_digest(body: bytes, digest: bytes, algorithm: hashes.HashAlgorithm) -> str:
    name, hashed = algorithm.name.upper().replace("SHA", "SHA-"), _hasher(algorithm)
    if not isinstance(algorithm, hashes.SHA256):
        other = "" if digest == hashed(body) else ", and covers other bytes"
        return f"it was made with {name}{other}: {_ALGORITHM}"
    for description, covered in attempts(body):
        if digest == hashed(covered):
            return description
    return (
        "the key is right, but the signature covers other bytes than this body: "
        f"their SHA-256 is {digest.hex()}, that of the body is {hashed(body).hex()}"
    )


def _hasher(algorithm: hashes.HashAlgorithm) -> Callable[[bytes], bytes]:
    return lambda content: hashlib.new(algorithm.name, content, usedforsecurity=False).digest()


def _pss(keys: Sequence[RSAPublicKey], body: bytes, raw: bytes) -> str:
    for key in keys:
        for algorithm in _HASHES:
            with suppress(InvalidSignature, UnsupportedAlgorithm, ValueError):
                pss = padding.PSS(padding.MGF1(algorithm), padding.PSS.AUTO)
                key.verify(raw, body, pss, algorithm)
                return f"it was made with RSASSA-PSS: {_ALGORITHM}"
    return ""


def attempts(body: bytes) -> Iterator[Attempt]:
    """Yield the bytes that banks sign by mistake instead of ``body``."""
    if body.rstrip() != body:
        yield "the body ends with a line break or spaces that the signature does not cover", body.rstrip()
    for end in (b"\n", b"\r\n"):
        yield "the signature covers a line break at the end that the body does not have", body + end
    yield from _spelled_text(body)
    hashed, twice = hashlib.sha256(body), "of the body was signed, which hashes it again: pass the body itself"
    yield f"the SHA-256 hash {twice}", hashed.digest()
    yield f"the hexadecimal SHA-256 hash {twice}", hashed.hexdigest().encode()
    yield "the signature covers the Base64 of the body", base64.b64encode(body)
    yield "the signature covers an empty text instead of the body", b""


def _spelled_text(body: bytes) -> Iterator[Attempt]:
    """Yield the body with other line breaks, in other encodings, and as JSON that was written again."""
    lines = body.replace(b"\r\n", b"\n")
    for ending, separator in (("LF", b"\n"), ("CRLF", b"\r\n")):
        yield f"the signature covers lines that end with {ending}", lines.replace(b"\n", separator)
    yield "the signature covers a byte order mark before the body", b"\xef\xbb\xbf" + body
    with suppress(UnicodeDecodeError, UnicodeEncodeError):
        text = body.decode()
        yield "the signature covers the body in Latin-1 instead of UTF-8", text.encode("latin-1")
        yield "the signature covers the body in UTF-16 instead of UTF-8", text.encode("utf-16-le")
    with suppress(jsontext.InvalidJson, UnicodeDecodeError):
        yield from _written_again(jsontext.loads(body))


def _written_again(value: object) -> Iterator[Attempt]:
    again = "the signature is of the body parsed and written again"
    compact = jsontext.dumps(value)
    yield "the signature is of the body without spaces", compact.encode()
    yield f"{again}, with / as \\/", compact.replace("/", "\\/").encode()
    parsed = json.loads(compact)
    for ascii_only, escapes in ((False, ""), (True, ", with \\u escapes")):
        yield f"{again}, without spaces{escapes}", _dump(parsed, ascii_only, separators=(",", ":"))
        yield f"{again}, with spaces after commas and colons{escapes}", _dump(parsed, ascii_only)
        for indent in (2, 4):
            yield f"{again}, with an indentation of {indent} spaces{escapes}", _dump(parsed, ascii_only, indent=indent)
        for separators in ((",", ":"), (", ", ": ")):
            described = f"{again}, with its members in alphabetical order{escapes}"
            yield described, _dump(parsed, ascii_only, sort_keys=True, separators=separators)


def _dump(value: object, ascii_only: bool, **layout: object) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only, **layout).encode()  # type: ignore[arg-type]
