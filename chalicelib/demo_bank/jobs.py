"""The scheduled job of the demonstration banks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chalice.app import Rate

from chalicelib.foundation.http.job_blueprint import Jobs

if TYPE_CHECKING:
    from chalicelib.demo_bank.runtime import Services

demo_bank_jobs: Jobs[Services] = Jobs(__name__)


@demo_bank_jobs.schedule(Rate(1, unit=Rate.MINUTES), name="settle")
def settle(event: Any) -> None:
    """Settle due payments, cancel expired payments, and resend missed reports. This job runs every minute."""
    from chalicelib.demo_bank import clearing  # the interface registers this job and never runs it

    clearing.run_due_work(demo_bank_jobs.parts())
