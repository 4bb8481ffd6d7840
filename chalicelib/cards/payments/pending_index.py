"""Records that wait for the provider's response or for a point in time, and their entries in the due index."""

from __future__ import annotations

from typing import Any, ClassVar

from chalicelib.cards.requests.envelope import IdempotencyClaim
from chalicelib.cards.storage.record import Record
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass

TABLE = "external-payments"
DUE = ShardedIndex(TABLE, "due", "due_shard", "due_at")
ASKING_SECONDS = 60
"""The number of seconds after which ``finish`` takes over a request to the provider. The value is twice a function's
timeout.
"""

NOT_DUE: Item = {"due_at": None, "due_shard": None}
"""The members that remove a record from the index."""
ANSWERED: Item = NOT_DUE | {"asks": None}
"""The members that end a record's wait for a response."""


@dataclass(frozen=True, kw_only=True)
class PendingRecord(Record):
    """A record that may wait for the payment provider or for a point in time.

    Attributes:
        asks: the action that waits for the provider's response.
        asked: the latest action that has waited for the provider's response.
        claim: the claim of the latest waiting request. The claim is pending while the request waits.
        due_at: the time when ``finish`` processes the record, in Unix seconds.
        due_shard: the shard of the due index.
    """

    table: ClassVar = TABLE

    asks: str | None = None
    asked: str | None = None
    claim: dict[str, str] | None = None
    due_at: int | None = None
    due_shard: str | None = None

    @property
    def waiting_claim(self) -> IdempotencyClaim | None:
        return IdempotencyClaim(**self.claim, view=None) if self.claim else None


def due_members(number: int, at: int) -> Item:
    """Return the attributes that add a record to the due index, with the due time ``at`` (Unix seconds)."""
    return {"due_at": at, **DUE.entry(str(number))}


def waiting_members(number: int, action: str, claim: IdempotencyClaim | None, now: int) -> dict[str, Any]:
    """Return the members of a record that waits for the provider from ``now`` (Unix seconds)."""
    claim_members = {"name": claim.name, "fingerprint": claim.fingerprint, "attempt": claim.attempt} if claim else None
    return {"asks": action, "asked": action, "claim": claim_members, **due_members(number, now + ASKING_SECONDS)}
