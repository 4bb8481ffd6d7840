"""Slots: they limit parallel deliveries to a receiver, so that a hanging one cannot occupy all workers.

A receiver has ``SLOTS`` items for each lane: notices, questions, payments. An attempt holds one of them until it ends
or, when its worker died, until the slot's time is over. After an attempt that failed and was long the slot rests,
so that a slot of a receiver that hangs costs a worker a quarter of the time only.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from boto3.dynamodb.conditions import Attr

from chalicelib.delivery.delivery_record import CLAIMED_SECONDS, TABLE
from chalicelib.foundation.dynamodb.store import Item, Store, Update

SLOTS = 4
LONG_SECONDS = 3
RESTING_SECONDS = 60
_MOMENT = 1
_FORGOTTEN_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Slot:
    """One of the slots of a receiver's ``lane``."""

    lane: str
    number: int

    @property
    def key(self) -> Item:
        return {"delivery_id": f"receiver#{self.lane}", "part": f"slot#{self.number}"}

    def take(self, now: int) -> Update:
        """The write that takes the slot for an attempt; it fails while another one holds it."""
        return Update(
            TABLE,
            self.key,
            set={"taken_at": now, "held_until": now + CLAIMED_SECONDS, "expires_at": now + _FORGOTTEN_SECONDS},
            condition=Attr("held_until").not_exists() | Attr("held_until").lte(now),
        )

    def free(self, at: int) -> Update:
        """The write that frees the slot at ``at``.

        It has no condition: when the holder's time was over and another attempt has the slot, then for a moment the
        receiver gets one delivery more than it should, and that is better than an outcome that cannot be written.
        """
        changes = {"held_until": at, "expires_at": at + _FORGOTTEN_SECONDS}
        return Update(TABLE, self.key, set=changes, remove=("taken_at",))


def any_slot(lane: str) -> Slot:
    """A random slot to try without a read; it is usually free."""
    return Slot(lane, random.randrange(SLOTS))


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """The slots of a lane as read: the free ones, in any order.

    ``brisk``: all others were taken a moment ago, so one may soon be free.
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
