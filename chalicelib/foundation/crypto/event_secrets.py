"""The secrets that somebody's events are signed with: one or two, sealed, from oldest to newest.

A new one may be used beside the one before it for a while, so that a receiver can change to it at any moment of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.store import Item


@dataclass(frozen=True, slots=True)
class EventSecret:
    """A secret, ``sealed``; ``valid_until`` (Unix seconds) is ``None`` for the newest."""

    sealed: bytes = field(repr=False)
    valid_until: int | None


def new_event_secret(vault: Vault, plain: str, context: str) -> EventSecret:
    """A new secret, as it is kept at the place that ``context`` names."""
    return EventSecret(vault.seal(plain, context), None)


def rotate_secrets(secrets: Sequence[EventSecret], new: EventSecret, now: int, overlap: int) -> tuple[EventSecret, ...]:
    """The secrets after a rotation: the newest of before is used for ``overlap`` seconds more, others end now."""
    kept = [replace(newest, valid_until=now + overlap) for newest in secrets[-1:] if overlap]
    return (*kept, new)


def in_use(vault: Vault, secrets: Sequence[EventSecret], context: str, now: int) -> list[str]:
    """What an event of this moment is signed with, in clear, newest first. Raises: Unsealable."""
    valid = [secret for secret in secrets if secret.valid_until is None or now < secret.valid_until]
    return [vault.unseal(secret.sealed, context) for secret in reversed(valid)]


def as_items(secrets: Iterable[EventSecret]) -> list[Item]:
    """Secrets as an item keeps them."""
    return [{"sealed": secret.sealed, "valid_until": secret.valid_until} for secret in secrets]


def of_items(kept: Iterable[Item]) -> tuple[EventSecret, ...]:
    return tuple(EventSecret(**each) for each in kept)
