"""Signing of events: the headers of Standard Webhooks (https://www.standardwebhooks.com), symmetric scheme v1.

A receiver's events are signed with one or two secrets, sealed, oldest first.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass

_PREFIX = "whsec_"


def new_secret() -> str:
    """A new signing secret: ``whsec_`` and the base64 of 256 random bits."""
    return secret_of(secrets.token_bytes(32))


def secret_of(key: bytes) -> str:
    """The secret of an imported key of 24 to 64 bytes."""
    return _PREFIX + base64.b64encode(key).decode()


def headers(keys: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of one attempt; a receiver verifies them with any of the secrets.

    Args:
        keys: ``whsec_`` and the base64 of the key, newest first, at least one.
        message_id: the same at every attempt, so a receiver recognises a repeat.
        timestamp: Unix seconds of this attempt; receivers refuse one that is some minutes old.
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


@dataclass(frozen=True, slots=True)
class EventSecret:
    """A secret, ``sealed``; ``valid_until`` (Unix seconds) is ``None`` for the newest.

    The one before it may be used beside it for a while, so that a receiver can change to it at any moment of that.
    """

    sealed: bytes = field(repr=False)
    valid_until: int | None


def new_event_secret(vault: Vault, plain: str, context: str) -> EventSecret:
    """A new secret, sealed for ``context``."""
    return EventSecret(vault.seal(plain, context), None)


def rotate_secrets(secrets: Sequence[EventSecret], new: EventSecret, now: int, overlap: int) -> tuple[EventSecret, ...]:
    """The secrets after a rotation: the previous newest stays for ``overlap`` seconds, others end now."""
    kept = [replace(newest, valid_until=now + overlap) for newest in secrets[-1:] if overlap]
    return (*kept, new)


def in_use(vault: Vault, secrets: Sequence[EventSecret], context: str, now: int) -> list[str]:
    """The secrets that sign events now, in clear, newest first. Raises: Unsealable."""
    valid = [secret for secret in secrets if secret.valid_until is None or now < secret.valid_until]
    return [vault.unseal(secret.sealed, context) for secret in reversed(valid)]


def as_items(secrets: Iterable[EventSecret]) -> list[Item]:
    """Secrets as stored in an item."""
    return [{"sealed": secret.sealed, "valid_until": secret.valid_until} for secret in secrets]


def of_items(kept: Iterable[Item]) -> tuple[EventSecret, ...]:
    return tuple(EventSecret(**each) for each in kept)
