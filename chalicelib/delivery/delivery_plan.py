"""Delivery plans: the times of delivery attempts, and the time after which no attempt is made
(``docs/concepts/delivery.md``).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Literal

from chalicelib.foundation.lazy_dataclasses import dataclass

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
JITTER = 0.2
SHORTEST_POSTPONEMENT = 2
SWEEP_WAITS = (2 * MINUTE, 4 * MINUTE, 8 * MINUTE, 15 * MINUTE)
"""The seconds before the sweeper queues a due delivery for the first, second, third and fourth time.

The first wait begins at the due time. Each further wait begins when the sweeper last queued the delivery.
"""


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """The plan for one kind of delivery. All times are in seconds.

    Attributes:
        lane: the lane. Each lane has its own slots at a receiver, so that, for example, payments wait only for
            payments.
        waits: the wait after each attempt, in order. The first attempt is immediate.
        max_postponement: the longest wait for a busy or paused receiver. Each check costs worker time.
        lifetime: the time after which no attempt begins, counted from the recording or the manual resending.
        retention: how long the record is stored, counted from its end or, if ``has_caller`` is true, from its creation.
        has_caller: whether a caller waits for an outcome. The outcome is reported once, so manual resending is not
            allowed.
        keeps_replies: whether attempts store the beginning of the response body for the owner of the client.
    """

    lane: Literal["notices", "questions", "payments"]
    waits: tuple[int, ...]
    max_postponement: int
    lifetime: int
    retention: int
    has_caller: bool = False
    keeps_replies: bool = False

    def lane_of(self, receiver: str) -> str:
        """Return the name of the lane (group of slots) that limits concurrent deliveries of this kind to a receiver.

        See ``receiver_slots``.
        """
        return f"{receiver}#{self.lane}"


NOTIFICATION = DeliveryPlan(
    lane="notices",
    waits=(5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR),
    max_postponement=12 * MINUTE,
    lifetime=30 * DAY,
    retention=30 * DAY,
)
"""The plan for notifications of past events."""
Plans = Mapping[str, DeliveryPlan]
"""The delivery plans of all components, keyed by the kind of delivery."""


def wait_after(plan: DeliveryPlan, attempts: int, retry_after: int | None) -> int | None:
    """Return the seconds until the next attempt, or ``None`` after the last attempt.

    The receiver's ``Retry-After`` is honoured up to twice the scheduled wait.
    """
    if attempts > len(plan.waits):
        return None
    slot = plan.waits[attempts - 1]
    asked = min(retry_after or 0, 2 * slot)
    return max(_add_jitter(slot), asked, 1)


def postponement(plan: DeliveryPlan, age: int, retry_after: int | None) -> int:
    """Return the seconds until a postponed delivery is retried. The number increases with the delivery's waiting
    time.
    """
    wait = min(max(age // 4, SHORTEST_POSTPONEMENT), plan.max_postponement)
    return max(_add_jitter(wait), min(retry_after or 0, plan.max_postponement), 1)


def next_sweep(plan: DeliveryPlan, due_at: int, swept_at: int | None, give_up_at: int, first: int) -> int:
    """Return the time, in Unix seconds, when the sweeper next queues a delivery that remains due.

    ``swept_at`` is the time when the sweeper last queued the delivery. ``first`` is the number of seconds before the
    sweeper queues the delivery for the first time. While a caller waits, the sweeper queues the delivery every minute
    after ``due_at``, at most five times until ``give_up_at``.
    """
    age = None if swept_at is None or swept_at < due_at else swept_at - due_at
    if plan.has_caller:
        minute = due_at if age is None else due_at + (age // MINUTE + 1) * MINUTE
        if age is None or minute < give_up_at:
            return minute
    return due_at + first if age is None else due_at + age + _wait_after_sweep(age)


def _wait_after_sweep(age: int) -> int:
    """Return the seconds until the next sweep of a delivery that was due for ``age`` seconds at the previous sweep."""
    reached = 0
    for before, wait in pairwise(SWEEP_WAITS):
        reached += before
        if age < reached + wait:
            return wait
    return SWEEP_WAITS[-1]


def _add_jitter(seconds: float) -> int:
    return round(seconds * random.uniform(1 - JITTER, 1 + JITTER))
