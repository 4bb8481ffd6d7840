"""When a delivery is attempted, and when that ends: one plan per kind, as data (decisions: Delivery)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["revoke_token", "event", "relay", "payment"]

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
JITTER = 0.2
_PUT_OFF = (2, 60)
"""The shortest and the longest time that a delivery is put off when its receiver is busy, in seconds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The attempts at one kind of delivery; all times are in seconds.

    Attributes:
        waits: after the first attempt, after the second, …; the first is made at once.
        lasts: no attempt begins later than so long after the delivery was recorded, or sent again by hand.
        kept: how long the record stays after its end or, with ``kept_from_start``, after its beginning.
        kept_from_start: whether the caller was promised the record for a time.
    """

    waits: tuple[int, ...]
    lasts: int
    kept: int
    kept_from_start: bool = False


_NOTIFICATION = Plan(
    waits=(5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR),
    lasts=30 * DAY,
    kept=30 * DAY,
)
PLANS: Mapping[Kind, Plan] = {
    "revoke_token": _NOTIFICATION,
    "event": _NOTIFICATION,
    "relay": Plan(waits=(5, 10, 20, 40, 60, 60, 60), lasts=5 * MINUTE, kept=DAY, kept_from_start=True),
    "payment": Plan(waits=(5,), lasts=5 * MINUTE, kept=DAY, kept_from_start=True),
}


def wait_after(plan: Plan, attempts: int, retry_after: int | None) -> int | None:
    """Seconds from the end of one attempt to the next; ``None`` when there is no next one.

    What the receiver asks for (``Retry-After``) is honoured within twice the slot.
    """
    if attempts > len(plan.waits):
        return None
    slot = plan.waits[attempts - 1]
    asked = min(retry_after or 0, 2 * slot)
    return max(_jittered(slot), asked, 1)


def put_off(age: int, retry_after: int | None) -> int:
    """Seconds until a delivery is looked at again that was not attempted; the longer it has waited, the longer."""
    shortest, longest = _PUT_OFF
    return max(_jittered(min(max(age // 4, shortest), longest)), min(retry_after or 0, longest), 1)


def _jittered(seconds: float) -> int:
    return round(seconds * random.uniform(1 - JITTER, 1 + JITTER))
