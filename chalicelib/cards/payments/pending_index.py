"""Records that wait for the provider's answer or for a time, with their entries in the index of due times."""

from __future__ import annotations

from typing import Any, ClassVar

from chalicelib.cards.requests.idempotency import IdempotencyClaim
from chalicelib.cards.storage.record import Record
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass

TABLE = "external-payments"
DUE = ShardedIndex(TABLE, "due", "due_shard", "due_at")
ASKING_SECONDS = 60
"""Seconds for a request to the provider, twice a function's time-out; then the schedule finishes it."""

NOT_DUE: Item = {"due_at": None, "due_shard": None}
"""The members that remove a record from the index."""
ANSWERED: Item = NOT_DUE | {"asks": None, "claim": None}
"""The members that end its wait for an answer."""


@dataclass(frozen=True, kw_only=True)
class PendingRecord(Record):
    """A record that may wait.

    Attributes:
        asks: the action that waits for the provider's answer; ``claim``: the claim that waits with it.
        due_at: when the schedule handles it, in Unix seconds; ``due_shard``: its shard.
    """

    table: ClassVar = TABLE

    asks: str | None = None
    claim: dict[str, str] | None = None
    due_at: int | None = None
    due_shard: str | None = None

    @property
    def waiting_claim(self) -> IdempotencyClaim | None:
        return IdempotencyClaim(**self.claim, view=None) if self.claim else None


def due_members(number: int, at: int) -> Item:
    """The members that have a record looked after at ``at`` (Unix seconds)."""
    return {"due_at": at, **DUE.entry(str(number))}


def waiting_members(number: int, action: str, claim: IdempotencyClaim | None, now: int) -> dict[str, Any]:
    """The members that have a record wait for the provider from ``now`` on (Unix seconds)."""
    kept = {"name": claim.name, "fingerprint": claim.fingerprint, "attempt": claim.attempt} if claim else None
    return {"asks": action, "claim": kept, **due_members(number, now + ASKING_SECONDS)}
