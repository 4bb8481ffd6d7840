"""Slots for slow calls limit the calls to a bank that wait longer than ``SLOW_SECONDS``, across all instances.

A bank has ``SLOTS`` rows. A slow call takes a row while it waits, so calls with a timely response use no storage. If an
instance ends without freeing a slot, the slot becomes free after the call would have timed out, even if clocks differ.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS, Clock
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, Store, absent
from chalicelib.foundation.http.outbound import TOTAL_SECONDS
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.statistics.call_counts import TABLE

SLOW_SECONDS = 3
"""The number of seconds after which a call that waits for a bank needs a slot."""
SLOTS = 50
"""The maximum number of slow calls to a bank at a time, a sixteenth of the instances that requests may occupy
(``infra.deploy.limits``).
"""
HELD_SECONDS = int(TOTAL_SECONDS) - SLOW_SECONDS + 1 + CLOCK_SKEW_SECONDS
_LONGEST_SECONDS = HELD_SECONDS + CLOCK_SKEW_SECONDS
"""The maximum number of seconds until a taken slot expires. A slot that expires later was taken before a clock was
corrected, and is free.
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot that is taken by a call."""

    bic: str
    number: int
    held_by: str

    def to_item(self, until: int) -> Item:
        """Return the row of the slot, which expires at the Unix second ``until``."""
        attribute, subject = slots_key(self.bic)
        return {
            attribute: subject,
            "part": f"{self.number:02}",
            "held_by": self.held_by,
            "held_until": until,
            "expires_at": until,
        }


def slots_key(bic: str) -> tuple[str, str]:
    """Return the partition key of a bank's slots: attribute name and value."""
    return "subject", f"slow-calls#{bic}"


@dataclass(frozen=True, slots=True)
class SlowCalls:
    store: Store
    clock: Clock

    def take(self, bic: str) -> Slot | None:
        """Take a free slot of a bank. Return ``None`` if there is none. Raises: StoreError.

        A random slot is tried without a read, because it is usually free.
        """
        held_by = new_id()
        slot = self._take_one_of(bic, held_by, range(SLOTS))
        while slot is None and (free := self._find_free(bic)):
            slot = self._take_one_of(bic, held_by, free)
        return slot

    def free(self, slot: Slot) -> None:
        """Free a slot, unless another call has taken it since. Raises: StoreError."""
        put = Put(TABLE, slot.to_item(self.clock.time()), Attr("held_by").eq(slot.held_by))
        Engine(self.store).carry_out(if_permitted([put], None, lambda _: None))

    def _take_one_of(self, bic: str, held_by: str, numbers: Sequence[int]) -> Slot | None:
        now = self.clock.time()
        slot = Slot(bic, random.choice(numbers), held_by)
        until = Attr("held_until")
        is_free = absent("subject") | until.lte(now) | until.gt(now + _LONGEST_SECONDS)
        put = Put(TABLE, slot.to_item(now + HELD_SECONDS), is_free)
        is_taken = Engine(self.store).carry_out(if_permitted([put], True, lambda _: False))
        return slot if is_taken else None

    def _find_free(self, bic: str) -> list[int]:
        now = self.clock.time()
        rows = self.store.rows(TABLE, slots_key(bic))
        held = {int(row["part"]) for row in rows if now < row["held_until"] <= now + _LONGEST_SECONDS}
        return [number for number in range(SLOTS) if number not in held]
