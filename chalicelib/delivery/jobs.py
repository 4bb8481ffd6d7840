"""What runs without a caller: the queue's consumer and the sweeper's schedule."""

from __future__ import annotations

from typing import Any

from chalice.app import Blueprint, Rate, SQSEvent

from chalicelib.bootstrap import hub
from chalicelib.foundation import log

job_routes = Blueprint(__name__)


@job_routes.on_sqs_message(queue=hub().deliveries_queue.name, batch_size=1, name="deliver")
def deliver(event: SQSEvent) -> None:
    """One delivery per invocation; a failing receiver is data, and raises nothing."""
    for record in event:
        try:
            hub().worker.attempt(record.body)
        finally:
            log.clear()


@job_routes.schedule(Rate(1, unit=Rate.MINUTES), name="sweep")
def sweep(event: Any) -> None:
    """Every minute: queue what was never queued, was lost, or is due again."""
    queued = hub().sweeper.sweep()
    if queued:
        log.info("swept", queued=queued)


@job_routes.schedule(Rate(5, unit=Rate.MINUTES), name="expire")
def expire(event: Any) -> None:
    """Every five minutes: tell TPPs of consents that are about to end, or have ended."""
    moved = hub().consent_expiry.tell()
    if moved:
        log.info("expiry told", consents=moved)
