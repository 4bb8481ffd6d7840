"""The scheduled job that works on the records of all packages."""

from __future__ import annotations

from typing import Any

from chalice.app import Blueprint, Rate

from chalicelib.bootstrap import hub

RUN_SECONDS = 40
"""The time, in seconds, after which a run reads no further page."""
key_jobs = Blueprint(__name__)


@key_jobs.schedule(Rate(5, unit=Rate.MINUTES), name="reseal")
def reseal(event: Any) -> None:
    """Every five minutes: seal records with the newest data key, if the operator requested it."""
    process = hub()
    process.resealing.run(process.clock.monotonic() + RUN_SECONDS)
