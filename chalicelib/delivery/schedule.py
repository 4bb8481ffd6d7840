"""Delivery plans: when each kind is attempted, and when that ends (decisions: Delivery)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["revoke_token", "event", "card_event", "relay", "payment", "mail"]

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
JITTER = 0.2
_SHORTEST_PUT_OFF = 2


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """The attempts at one kind of delivery; all times are in seconds.

    Attributes:
        lane: each lane has its own slots at a receiver, so payments wait for payments only.
        waits: after the first attempt, after the second, …; the first is made at once.
        put_off: the longest wait when its receiver is busy or paused; what waits for a receiver that is down costs the
            workers of all others something every time that it is looked at.
        lasts: no attempt begins later than so long after the delivery was recorded, or sent again by hand.
        kept: how long the record stays after its end or, with ``has_caller``, after its beginning.
        has_caller: whether somebody was promised an outcome: it is told once, so that nothing is sent again by hand.
    """

    lane: Literal["notices", "questions", "payments"]
    waits: tuple[int, ...]
    put_off: int
    lasts: int
    kept: int
    has_caller: bool = False


_NOTIFICATION = DeliveryPlan(
    lane="notices",
    waits=(5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR),
    put_off=12 * MINUTE,
    lasts=30 * DAY,
    kept=30 * DAY,
)
PLANS: Mapping[Kind, DeliveryPlan] = {
    "revoke_token": _NOTIFICATION,
    "event": _NOTIFICATION,
    "card_event": _NOTIFICATION,
    "relay": DeliveryPlan(
        lane="questions", waits=(5, 10, 20, 40, 60, 60, 60), put_off=MINUTE, lasts=5 * MINUTE, kept=DAY, has_caller=True
    ),
    "payment": DeliveryPlan(lane="payments", waits=(5,), put_off=MINUTE, lasts=5 * MINUTE, kept=DAY, has_caller=True),
    "mail": DeliveryPlan(
        lane="notices", waits=(5, 30, 2 * MINUTE, 10 * MINUTE), put_off=12 * MINUTE, lasts=HOUR, kept=DAY
    ),
}


def wait_after(plan: DeliveryPlan, attempts: int, retry_after: int | None) -> int | None:
    """Seconds until the next attempt; ``None`` after the last.

    What the receiver asks for (``Retry-After``) is honoured within twice the slot.
    """
    if attempts > len(plan.waits):
        return None
    slot = plan.waits[attempts - 1]
    asked = min(retry_after or 0, 2 * slot)
    return max(_add_jitter(slot), asked, 1)


def put_off(plan: DeliveryPlan, age: int, retry_after: int | None) -> int:
    """Seconds until a postponed delivery is tried again; they grow with its waiting time."""
    wait = min(max(age // 4, _SHORTEST_PUT_OFF), plan.put_off)
    return max(_add_jitter(wait), min(retry_after or 0, plan.put_off), 1)


def _add_jitter(seconds: float) -> int:
    return round(seconds * random.uniform(1 - JITTER, 1 + JITTER))
