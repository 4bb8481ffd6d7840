"""The outbox: delivery records, written in the transaction of what causes them.

A record is *due* until its receiver has acknowledged it (*delivered*) or the last attempt is over (*failed*). The queue
carries a record's id and nothing else; a record whose message was never sent or got lost is found again by the sweeper
on the index of due times, which is spread over shards so that no partition carries all of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from boto3.dynamodb.conditions import Attr
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.foundation import log
from chalicelib.foundation.aws import Queue
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.identifiers import new_id, new_uuid
from chalicelib.foundation.store import ConditionFailed, Item, Put, Store, absent

TABLE = "deliveries"
SHARDS = 8
KEPT = 30 * 24 * 3600
CLAIMED_SECONDS = 120
"""How long an attempt has before the sweeper takes the record for abandoned: longer than any attempt may last."""

Kind = Literal["revoke_token"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery. ``request_id`` is what the receiver sees on every attempt; times are Unix seconds."""

    delivery_id: str
    kind: Kind
    receiver: str
    consent_id: str
    request_id: str
    state: Literal["due", "delivered", "failed"]
    attempts: int
    created_at: int
    due_at: int | None
    last_error: str | None

    @classmethod
    def from_item(cls, item: Item) -> Delivery:
        members: dict[str, Any] = {name: item.get(name) for name in cls.__dataclass_fields__}
        return cls(**members)


class Outbox:
    """The delivery records' table and the queue that hurries them along."""

    def __init__(self, store: Store, queue: Queue, dead: Queue, clock: Clock) -> None:
        self._store = store
        self._queue = queue
        self._dead = dead
        self._clock = clock

    def record(self, kind: Kind, receiver: str, consent_id: str) -> Put:
        """The write that records a delivery, for the transaction of its cause; due at once."""
        delivery_id, now = new_id(), self._clock.time()
        item = {
            "delivery_id": delivery_id,
            "kind": kind,
            "receiver": receiver,
            "consent_id": consent_id,
            "request_id": new_uuid(),
            "state": "due",
            "attempts": 0,
            "created_at": now,
            "due_at": now,
            "due_shard": _shard(delivery_id),
            "expires_at": now + KEPT,
        }
        return Put(TABLE, item, absent("delivery_id"))

    def dispatch(self, delivery_id: str) -> None:
        """Queue a recorded delivery. When the queue fails, the sweeper will do it: nothing is lost."""
        try:
            self._queue.send(delivery_id)
        except (ClientError, BotoCoreError) as error:
            log.warning("delivery not queued", delivery_id=delivery_id, error=type(error).__name__)

    def bury(self, delivery_id: str) -> None:
        """Put an id into the dead-letter queue, whose alarm calls a person: an attempt met a defect of ours."""
        try:
            self._dead.send(delivery_id)
        except (ClientError, BotoCoreError) as error:
            log.warning("defect not reported", delivery_id=delivery_id, error=type(error).__name__)

    def claim(self, delivery_id: str) -> Delivery | None:
        """Take a due delivery for one attempt; ``None`` when it is not due, or another worker has it."""
        now = self._clock.time()
        try:
            item = self._store.update(
                TABLE,
                {"delivery_id": delivery_id},
                set={"due_at": now + CLAIMED_SECONDS},
                add={"attempts": 1},
                condition=Attr("state").eq("due") & Attr("due_at").lte(now),
            )
        except ConditionFailed:
            return None
        return Delivery.from_item(item)

    def delivered(self, delivery: Delivery) -> None:
        self._finish(delivery, {"state": "delivered", "delivered_at": self._clock.time()})

    def failed(self, delivery: Delivery, error: str) -> None:
        self._finish(delivery, {"state": "failed", "last_error": error})

    def retry(self, delivery: Delivery, delay: int, error: str) -> None:
        """Make a delivery due again after ``delay`` seconds."""
        changes = {"due_at": self._clock.time() + delay, "last_error": error}
        self._change(delivery, changes, ())

    def due(self) -> Iterator[str]:
        """The ids of all deliveries whose time has come."""
        for shard in range(SHARDS):
            after: Item | None = None
            while True:
                page = self._store.query(TABLE, ("due_shard", str(shard)), index="due", after=after)
                ids = [item["delivery_id"] for item in page.items if item["due_at"] <= self._clock.time()]
                yield from ids
                after = page.next
                if after is None or len(ids) < len(page.items):
                    break

    def _finish(self, delivery: Delivery, changes: dict[str, Any]) -> None:
        self._change(delivery, changes, ("due_at", "due_shard"))

    def _change(self, delivery: Delivery, changes: dict[str, Any], removed: tuple[str, ...]) -> None:
        """Write an attempt's outcome, unless a later attempt has begun in the meantime."""
        try:
            self._store.update(
                TABLE,
                {"delivery_id": delivery.delivery_id},
                set=changes,
                remove=removed,
                condition=Attr("state").eq("due") & Attr("attempts").eq(delivery.attempts),
            )
        except ConditionFailed:
            log.warning("delivery was taken over", delivery_id=delivery.delivery_id)


def _shard(delivery_id: str) -> str:
    return str(zlib.crc32(delivery_id.encode()) % SHARDS)
