"""Slots limit parallel deliveries to a receiver, so that an unresponsive receiver cannot occupy all workers.

A receiver has ``SLOTS`` items per lane (notices, requests, payments). An attempt holds a slot until the attempt ends
or, if its worker stopped, until the slot's time expires. After a long, failed attempt, the slot remains unavailable for
a while, so that an unresponsive receiver occupies a worker for at most a quarter of the time per slot.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from chalicelib.delivery.delivery_record import CLAIMED_SECONDS, TABLE
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Store, Update
from chalicelib.foundation.lazy_dataclasses import dataclass

SLOTS = 4
WORKERS = 100
"""The maximum number of workers that the queue starts. A hanging receiver occupies at most ``SLOTS`` workers."""
LONG_SECONDS = 3
RESTING_SECONDS = 60
_MOMENT = 1
_FORGOTTEN_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot in a receiver's ``lane``."""

    lane: str
    number: int

    @property
    def key(self) -> Item:
        return {"delivery_id": f"receiver#{self.lane}", "part": f"slot#{self.number}"}

    def take(self, now: int) -> Update:
        """Return the write operation that takes the slot for an attempt. It fails if another attempt has the slot."""
        return Update(
            TABLE,
            self.key,
            set={"taken_at": now, "held_until": now + CLAIMED_SECONDS, "expires_at": now + _FORGOTTEN_SECONDS},
            condition=Attr("held_until").not_exists() | Attr("held_until").lte(now),
        )

    def free(self, at: int) -> Update:
        """Return the write operation that frees the slot at ``at``.

        The write is unconditional. If the slot expired and another attempt took the slot, the receiver briefly gets one
        parallel delivery too many. A conditional write could prevent an outcome from being written.
        """
        changes = {"held_until": at, "expires_at": at + _FORGOTTEN_SECONDS}
        return Update(TABLE, self.key, set=changes, remove=("taken_at",))


def any_slot(lane: str) -> Slot:
    """Return a random slot to try without reading the slots first. The slot is usually free."""
    return Slot(lane, random.randrange(SLOTS))


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """The free slots of a lane when it was read, in any order.

    ``brisk`` is true if all occupied slots were taken very recently, so that a slot may soon be free.
    """

    free: Sequence[Slot]
    brisk: bool


def read_free_slots(store: Store, lane: str, now: int) -> FreeSlots:
    """Read the slots of a lane."""
    slots = [Slot(lane, number) for number in range(SLOTS)]
    items = store.batch_get([(TABLE, slot.key) for slot in slots])
    free = [slot for slot, item in zip(slots, items, strict=True) if item is None or item["held_until"] <= now]
    taken_at = [item.get("taken_at", 0) for item in items if item and item["held_until"] > now]
    random.shuffle(free)
    return FreeSlots(free, all(now - _MOMENT <= at <= now for at in taken_at))
