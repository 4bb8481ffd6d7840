"""The scheduled job of the demonstration banks."""

from __future__ import annotations

from typing import Any

from chalice.app import Blueprint, Rate

from chalicelib.bootstrap import hub

demo_bank_jobs = Blueprint(__name__)


@demo_bank_jobs.schedule(Rate(1, unit=Rate.MINUTES), name="settle")
def settle(event: Any) -> None:
    """Every minute: settle due payments, cancel expired ones, and resend missed reports."""
    from chalicelib.demo_bank import clearing  # the interface registers this job and never runs it

    clearing.run_due_work(hub())
