"""Checks a signature for a bank's engineer, in both directions: of the hub's webhooks, and of the bank's calls.

Nothing is stored or logged.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation.crypto.signature_hints import explain
from chalicelib.foundation.crypto.signatures import key_id, verify
from chalicelib.foundation.lazy_dataclasses import dataclass

_HEADER_NAME = re.compile(r"x-signature\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OwnedKey:
    """A public key, and the party that owns it; "" for a pasted key that is not known here."""

    key: RSAPublicKey
    owner: str

    @property
    def key_id(self) -> str:
        return key_id(self.key)


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """The result for a body of ``length`` bytes.

    Attributes:
        signer: the key that made the valid signature, or ``None`` if the signature is invalid.
        tried: the keys that were tried.
        reason: why the signature is invalid.
        line_ends: the line ends of the body, if it has several lines. Forms do not preserve them.
    """

    signer: OwnedKey | None
    tried: Sequence[OwnedKey]
    reason: str
    length: int
    digest: str
    line_ends: str


def check_signature(body: str, signature: str, tried: Sequence[OwnedKey], known: Iterable[OwnedKey]) -> SignatureCheck:
    """Check a signature with the keys in ``tried``.

    Args:
        body: the body, whose line ends may be LF or CRLF.
        signature: the value of ``X-Signature``, optionally with the header's name.
        known: the keys of the hub and the bank, which may have signed instead.
    """
    text = _remove_name(signature.strip())
    lines = body.replace("\r\n", "\n")
    contents = {"LF": lines.encode(), "CRLF": lines.replace("\n", "\r\n").encode()}
    for ends, content in contents.items():
        for each in tried:
            if verify([each.key], content, text):
                return _result(content, ends, tried, each)
    reason = _other_signer(contents.values(), text, known) or explain(
        [each.key for each in tried], contents["LF"], text
    )
    return _result(contents["LF"], "LF", tried, None, reason)


def _remove_name(signature: str) -> str:
    named = _HEADER_NAME.match(signature)
    return signature[named.end() :].strip() if named else signature


def _result(
    content: bytes, ends: str, tried: Sequence[OwnedKey], signer: OwnedKey | None, reason: str = ""
) -> SignatureCheck:
    digest = hashlib.sha256(content).hexdigest()
    return SignatureCheck(signer, tried, reason, len(content), digest, ends if b"\n" in content else "")


def _other_signer(contents: Iterable[bytes], text: str, known: Iterable[OwnedKey]) -> str | None:
    """Name the known key that made the signature although it was not tried, if any."""
    for other in known:
        if any(verify([other.key], content, text) for content in contents):
            return f"it is by another key, {other.key_id}, which {other.owner} uses: verify with this one"
    return None
