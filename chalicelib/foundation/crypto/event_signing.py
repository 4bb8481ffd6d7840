"""How events are signed: the headers of Standard Webhooks (https://www.standardwebhooks.com), symmetric scheme v1."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

_PREFIX = "whsec_"


def new_secret() -> str:
    """A secret to sign with: ``whsec_`` and the base64 of 256 random bits."""
    return secret_of(secrets.token_bytes(32))


def secret_of(key: bytes) -> str:
    """The secret of a key that was made elsewhere, 24 to 64 bytes."""
    return _PREFIX + base64.b64encode(key).decode()


def headers(keys: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of one attempt; a receiver that knows any of the secrets can verify it.

    Args:
        keys: ``whsec_`` and the base64 of the key, newest first, at least one.
        message_id: the same at every attempt, so that a receiver recognises a repeat.
        timestamp: Unix seconds of this attempt; receivers refuse what is more than some minutes old.
        body: the exact bytes that are sent.

    Raises:
        ValueError: there is no secret: an event is never sent unsigned.
    """
    if not keys:
        raise ValueError("an event needs a secret to be signed with")
    content = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(_signature(key, content) for key in keys),
    }


def _signature(key: str, content: bytes) -> str:
    plain = base64.b64decode(key.removeprefix(_PREFIX), validate=True)
    return f"v1,{base64.b64encode(hmac.digest(plain, content, hashlib.sha256)).decode()}"
