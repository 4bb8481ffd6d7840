"""The scheduled job of the open banking hub."""

from __future__ import annotations

from typing import Any

from chalice.app import Rate

from chalicelib.foundation.http.job_blueprint import Jobs
from chalicelib.openbanking.container import OpenBankingContainer

openbanking_jobs = Jobs[OpenBankingContainer](__name__)


@openbanking_jobs.schedule(Rate(5, unit=Rate.MINUTES), name="expire")
def expire(event: Any) -> None:
    """Send events for consents that are about to expire or have expired. This job runs every five minutes."""
    from chalicelib.openbanking.flows.consent.expiry import record_due_events

    openbanking_jobs.parts().call(record_due_events)
