"""The entry point of scheduled jobs. It binds the jobs of all packages and defines the job that reseals records."""

from __future__ import annotations

from typing import Any

from chalice.app import Blueprint, Rate

from chalicelib.bootstrap import Hub, hub
from chalicelib.cards.jobs import card_jobs
from chalicelib.delivery.jobs import delivery_jobs
from chalicelib.foundation.http.job_blueprint import Jobs
from chalicelib.openbanking.jobs import openbanking_jobs
from chalicelib.statistics.jobs import statistics_jobs

RUN_SECONDS = 40
"""The number of seconds after which a run stops reading pages."""
key_jobs = Jobs[Hub](__name__)


@key_jobs.schedule(Rate(5, unit=Rate.MINUTES), name="reseal")
def reseal(event: Any) -> None:
    """Seal records with the newest data key, if the operator requested it. This job runs every five minutes."""
    process = key_jobs.parts()
    process.resealing.run(process.clock.monotonic() + RUN_SECONDS)


def _measure() -> Any:
    return hub().statistics.measurements.measure()


JOBS: list[Blueprint] = [
    delivery_jobs.bind(lambda: (hub().delivery, _measure)),  # a sweep must not load statistics
    openbanking_jobs.bind(lambda: hub().openbanking),
    card_jobs.bind(lambda: hub().cards),
    statistics_jobs.bind(lambda: hub().statistics),
    key_jobs.bind(hub),
]
if hub().settings.is_sandbox:
    from chalicelib.demo_bank.jobs import demo_bank_jobs

    JOBS.append(demo_bank_jobs.bind(hub))
