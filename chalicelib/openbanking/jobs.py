"""The scheduled job of the open banking hub."""

from __future__ import annotations

from typing import Any

from chalice.app import Blueprint, Rate

from chalicelib.bootstrap import hub

openbanking_jobs = Blueprint(__name__)


@openbanking_jobs.schedule(Rate(5, unit=Rate.MINUTES), name="expire")
def expire(event: Any) -> None:
    """Every five minutes: send events for consents that are about to expire or have expired."""
    hub().openbanking.consent_expiry.record_due_events()
