"""Identifiers, secrets, and credentials that combine an identifier with a secret.

A credential has the form ``<id>[~<id>…].<secret>``: the identifiers locate the records, and the secret (256 bits)
grants access to them. A secret that only needs to be verified is stored as a digest.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import uuid

from chalicelib.foundation.lazy_dataclasses import dataclass

SECRET_LENGTH = 43
_CREDENTIAL = re.compile(r"[A-Za-z0-9_-]{1,64}(?:~[A-Za-z0-9_-]{1,64}){0,2}\.[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class OpaqueToken:
    """A parsed credential: its identifiers and the digest of its secret."""

    ids: tuple[str, ...]
    digest: str

    @classmethod
    def parse(cls, text: str, parts: int) -> OpaqueToken | None:
        """Parse a credential with exactly ``parts`` identifiers. Return ``None`` if the format does not match."""
        if not _CREDENTIAL.fullmatch(text):
            return None
        ids, _, secret = text.partition(".")
        found = tuple(ids.split("~"))
        return cls(found, digest(secret)) if len(found) == parts else None

    def matches(self, stored: object) -> bool:
        """Whether the secret matches a stored digest, compared in constant time."""
        return isinstance(stored, str) and hmac.compare_digest(self.digest, stored)


def new_credential(*ids: str) -> tuple[str, str]:
    """Create a credential for ``ids``. Returns the credential's text, and the digest to store."""
    secret = new_secret()
    return f"{'~'.join(ids)}.{secret}", digest(secret)


def new_id() -> str:
    """Create a random identifier of 22 hexadecimal digits."""
    return secrets.token_hex(11)


def new_secret() -> str:
    """Create a secret of 256 random bits as 43 URL-safe characters."""
    return secrets.token_urlsafe(32)


def new_uuid() -> str:
    return str(uuid.uuid4())


def is_uuid(text: str) -> bool:
    """Whether ``text`` is a UUID in hyphenated form."""
    return read_uuid(text) is not None


def read_uuid(text: str) -> str | None:
    """Parse a UUID in hyphenated form, and convert it to lower case. Return ``None`` for any other text."""
    try:
        found = str(uuid.UUID(text))
    except ValueError:
        return None
    return found if found == text.lower() else None


def digest(content: str | bytes) -> str:
    """Return the SHA-256 of text or bytes in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def matches(secret: str, stored: str) -> bool:
    """Whether ``stored`` is the digest of ``secret``, compared in constant time."""
    return hmac.compare_digest(digest(secret), stored)


def base64url(content: bytes) -> str:
    """Encode bytes as URL-safe Base64 without padding (RFC 4648 §5)."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")
