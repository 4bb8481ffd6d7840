"""Event signing: the headers of Standard Webhooks (https://www.standardwebhooks.com), symmetric scheme v1.

Each receiver has one or two signing secrets, which are stored encrypted, oldest first.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass

TOLERANCE_SECONDS = 300
"""The maximum difference in seconds between the timestamp of an attempt and the receiver's clock."""
_PREFIX = "whsec_"


def new_secret() -> str:
    """Create a signing secret: ``whsec_`` and the base64 of 256 random bits."""
    return secret_of(secrets.token_bytes(32))


def secret_of(key: bytes) -> str:
    """Encode an imported key of 24 to 64 bytes as a signing secret."""
    return _PREFIX + base64.b64encode(key).decode()


def headers(keys: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of one delivery attempt. A receiver can verify them with any of the secrets.

    Args:
        keys: ``whsec_`` and the base64 of the key, newest first, at least one.
        message_id: identical for every attempt, so that receivers can detect duplicates.
        timestamp: Unix seconds of this attempt. Receivers reject old timestamps.
        body: the exact bytes of the request body.

    Raises:
        ValueError: ``keys`` is empty. Events are never sent unsigned.
    """
    if not keys:
        raise ValueError("signing an event requires at least one secret")
    content = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(_signature(key, content) for key in keys),
    }


def has_recent_headers(received: Mapping[str, str], now: int) -> bool:
    """Whether ``received`` (lower-case names) has the headers of a recent attempt. The signature is not verified."""
    sent_at = received.get("webhook-timestamp", "")
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) <= len(str(now))):
        return False
    is_complete = bool(received.get("webhook-id") and received.get("webhook-signature"))
    return is_complete and abs(now - int(sent_at)) <= TOLERANCE_SECONDS


def is_signed(keys: Sequence[str], received: Mapping[str, str], body: bytes, now: int) -> bool:
    """Whether the ``received`` headers (lower-case names) belong to a recent attempt signed with one of ``keys``."""
    if not keys or not has_recent_headers(received, now):
        return False
    expected = headers(keys, received["webhook-id"], int(received["webhook-timestamp"]), body)
    known, given = expected["webhook-signature"].split(), received["webhook-signature"].encode().split()
    return any(hmac.compare_digest(each, signature.encode()) for signature in known for each in given)


def _signature(key: str, content: bytes) -> str:
    plain = base64.b64decode(key.removeprefix(_PREFIX), validate=True)
    return f"v1,{base64.b64encode(hmac.digest(plain, content, hashlib.sha256)).decode()}"


@dataclass(frozen=True, slots=True)
class EventSecret:
    """A sealed signing secret. ``valid_until`` (Unix seconds) is ``None`` for the newest secret.

    The previous secret can remain valid for an overlap period, in which the receiver can switch at any time.
    """

    sealed: bytes = field(repr=False)
    valid_until: int | None


def new_event_secret(vault: Vault, plain: str, context: str) -> EventSecret:
    """Create a secret, sealed for ``context``."""
    return EventSecret(vault.seal(plain, context), None)


def rotate_secrets(secrets: Sequence[EventSecret], new: EventSecret, now: int, overlap: int) -> tuple[EventSecret, ...]:
    """Rotate the secrets: the previous secret remains valid for ``overlap`` seconds, older secrets are dropped."""
    previous = [replace(newest, valid_until=now + overlap) for newest in secrets[-1:] if overlap]
    return (*previous, new)


def in_use(vault: Vault, secrets: Sequence[EventSecret], context: str, now: int) -> list[str]:
    """Return the currently valid secrets in plaintext, newest first. Raises: Unsealable."""
    valid = [secret for secret in secrets if secret.valid_until is None or now < secret.valid_until]
    return [vault.unseal(secret.sealed, context) for secret in reversed(valid)]


def as_items(secrets: Iterable[EventSecret]) -> list[Item]:
    """Serialise secrets for storage in an item."""
    return [{"sealed": secret.sealed, "valid_until": secret.valid_until} for secret in secrets]


def of_items(items: Iterable[Item]) -> tuple[EventSecret, ...]:
    return tuple(EventSecret(**each) for each in items)
