"""The queue consumer and the scheduled sweeper."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from chalice.app import Rate, SQSEvent

from chalicelib.delivery import sweeper
from chalicelib.delivery.container import DeliveryContainer, queue_name
from chalicelib.delivery.receiver_slots import WORKERS
from chalicelib.delivery.tasks import is_task
from chalicelib.delivery.worker import Worker
from chalicelib.foundation import log
from chalicelib.foundation.http.job_blueprint import Jobs
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.settings import Settings

Measure = Callable[[], AbstractContextManager[object]]
"""A context manager that measures the enclosed calls."""

delivery_jobs = Jobs[tuple[DeliveryContainer, Measure]](__name__)


@delivery_jobs.on_sqs_message(
    queue=queue_name(Settings.from_environment(os.environ)), batch_size=1, maximum_concurrency=WORKERS, name="deliver"
)
def deliver(event: SQSEvent) -> dict[str, Any] | None:
    """Process one delivery per message. A failing receiver is not an error.

    If this function raises, a single message is retried. In a batch, records run in parallel. Failed records are
    returned as ``batchItemFailures``, so batches need ``ReportBatchItemFailures``.
    """
    delivery, measure = delivery_jobs.parts()
    return attempt_all(delivery.worker, measure, delivery.shared.metrics, event)


def attempt_all(worker: Worker, measure: Measure, metrics: Metrics, event: SQSEvent) -> dict[str, Any] | None:
    records = event.to_dict()["Records"]
    if len(records) == 1:
        with _measure_attempt(measure):
            worker.attempt(records[0]["body"])
        return None
    with ThreadPoolExecutor(len(records)) as threads:  # not `together`, which attempts use themselves
        made = [(record["messageId"], threads.submit(_attempt, worker, measure, record["body"])) for record in records]
    broken = [message for message, done in made if not done.result()]
    if broken:
        metrics.write({"BrokenAttempts": len(broken)})  # for Lambda this is no error of the function
    return {"batchItemFailures": [{"itemIdentifier": message} for message in broken]}


def _attempt(worker: Worker, measure: Measure, message: str) -> bool:
    """Process a message in a separate thread with a separate log context. Return whether the message was processed."""
    with _measure_attempt(measure):
        try:
            worker.attempt(message)
        except Exception:
            log.exception("attempt aborted", **({} if is_task(message) else {"delivery_id": message}))
            return False
    return True


@contextmanager
def _measure_attempt(measure: Measure) -> Iterator[None]:
    try:
        with measure():
            yield
    finally:
        log.clear()


@delivery_jobs.schedule(Rate(1, unit=Rate.MINUTES), name="sweep")
def sweep(event: Any) -> None:
    """Queue deliveries that were never queued, whose message was lost, or that are due again. This job runs every
    minute.
    """
    delivery, _ = delivery_jobs.parts()
    queued = delivery.call(sweeper.sweep)
    if queued:
        log.info("swept", queued=queued)
