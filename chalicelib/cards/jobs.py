"""What the card API does without a caller: its schedule."""

from __future__ import annotations

from typing import Any

from chalice.app import Blueprint, Rate

from chalicelib.bootstrap import hub
from chalicelib.foundation import log

RUN_SECONDS = 40
"""Nothing further is begun after so long."""
card_jobs = Blueprint(__name__)


@card_jobs.schedule(Rate(1, unit=Rate.MINUTES), name="finish")
def finish(event: Any) -> None:
    """Every minute: finish payments that were cut off, pass cut-offs of direct debits, release holds that are over."""
    room, clock = hub().card_room, hub().clock
    started = clock.monotonic()
    payments = room.overdue.finish(started + RUN_SECONDS / 2)  # however many there are, holds have their turn
    holds = room.holds.expire(started + RUN_SECONDS)
    if payments:
        log.info("payments finished", payments=payments)
    if holds:
        log.info("holds released", holds=holds)
