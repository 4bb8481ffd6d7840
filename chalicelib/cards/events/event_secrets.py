"""Secrets that sign a programme manager's events. One or two sealed secrets are stored with the configuration.

The stored item is created with the first Events URL and is retained when the URL is changed or removed. So receivers
can verify the signatures of later events with the same secrets.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.programs.programmes import TABLE
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.crypto.event_signing import EventSecret
from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, Store, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome, Proof


class NoEventSecret(LookupError):
    """The programme manager has no secret, because an Events URL was never configured. The message is a full
    sentence.
    """


@dataclass(frozen=True, slots=True)
class RotatedSecret:
    """A new secret in clear text, displayed once. The old secret is valid until ``old_until`` (Unix seconds)."""

    secret: str
    old_until: int | None


def secrets_key(manager_id: int) -> tuple[str, Item]:
    """The key of a programme manager's secrets item."""
    return TABLE, {"owner": f"events#{manager_id}", "part": "secrets"}


def has_events_secret(manager_id: int, *, store: Store) -> bool:
    return store.get(*secrets_key(manager_id)) is not None


def create_events_secret(manager_id: int, *, vault: Vault) -> tuple[str, Put]:
    """Create a programme manager's first secret for signing events.

    Return its clear text, and a put operation that fails if the programme manager already has a secret.
    """
    plain = event_signing.new_secret()
    return plain, _put(manager_id, (_seal(manager_id, plain, vault),), None)


def rotate_events_secret(manager_id: int, overlap: int, *, clock: Clock, engine: Engine, vault: Vault) -> RotatedSecret:
    """Create a new secret. The old secret remains in use for ``overlap`` seconds.

    If the old secret was compromised, pass 0 to end its validity immediately. At most two secrets are in use.

    Raises:
        NoEventSecret: the programme manager never had an Events URL.
        Conflict: every attempt failed because of a concurrent change.
    """
    key, plain = secrets_key(manager_id), event_signing.new_secret()
    sealed = _seal(manager_id, plain, vault)

    def decide(facts: Facts) -> Outcome[RotatedSecret]:
        item = facts.item(key)
        if item is None:
            raise NoEventSecret(
                f"programme manager {manager_id} has no Events URL: load one with `programme load` first"
            )
        before = event_signing.of_items(item["secrets"])
        after = event_signing.rotate_secrets(before, sealed, clock.time(), overlap)
        return Outcome(
            RotatedSecret(plain, after[0].valid_until),
            [_put(manager_id, after, before)],
            proof=Proof([key], lambda stored: any(each["sealed"] == sealed.sealed for each in stored["secrets"])),
            is_overwritten=True,
        )

    return engine.carry_out(decide, engine.read([key]))


def open_secrets(manager_id: int, item: Item | None, vault: Vault, now: int) -> list[str]:
    """Return the valid secrets in ``item`` in clear text at ``now`` (Unix time), newest first. Raises: Unsealable."""
    secrets = event_signing.of_items(item["secrets"]) if item else ()
    return event_signing.in_use(vault, secrets, _context(manager_id), now)


def _seal(manager_id: int, plain: str, vault: Vault) -> EventSecret:
    return event_signing.new_event_secret(vault, plain, _context(manager_id))


def _put(manager_id: int, after: Sequence[EventSecret], before: Sequence[EventSecret] | None) -> Put:
    table, key = secrets_key(manager_id)
    as_read = absent("owner") if before is None else Attr("secrets").eq(event_signing.as_items(before))
    return Put(table, {**key, "secrets": event_signing.as_items(after)}, as_read)


def _context(manager_id: int) -> str:
    return f"{TABLE}/{manager_id}/events_secret"


SEALED = (
    SealedPlace(TABLE, ("owner", "part"), "secrets", lambda item: _context(int(item["owner"].removeprefix("events#")))),
)
