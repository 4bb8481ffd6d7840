"""What the card API does without a caller: its schedule."""

from __future__ import annotations

from typing import Any

from chalice.app import Blueprint, Rate

from chalicelib.bootstrap import hub
from chalicelib.foundation import log

card_jobs = Blueprint(__name__)


@card_jobs.schedule(Rate(1, unit=Rate.MINUTES), name="finish")
def finish(event: Any) -> None:
    """Every minute: finish external payments whose requests were cut off, and pass cut-offs of direct debits."""
    moved = hub().card_room.overdue.finish()
    if moved:
        log.info("payments finished", payments=moved)
