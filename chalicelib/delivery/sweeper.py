"""The sweeper: queues what is due and was never queued, got lost, or had to wait for long."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.delivery.delivery_record import DUE
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation.aws import Queue
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.metrics import Metrics

BACKLOG = 20_000
"""With so many messages in the queue it gets no more: what is due stays due, and copies of it would only pile up."""


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Looks through the index of due times."""

    store: Store
    clock: Clock
    queue: Queue
    outbox: Outbox
    metrics: Metrics

    def sweep(self) -> int:
        """Queue the deliveries whose time has come, those first that have waited longest; answers how many.

        How long the first has waited is measured though there be no room: then above all somebody wants to know.
        """
        room, now = max(BACKLOG - self.queue.count_messages(), 0), self.clock.time()
        rows = DUE.rows(self.store, until=now, limit=max(room, 1))
        oldest = now - rows[0][DUE.time] if rows else 0
        self.metrics.write({"DueDeliveries": len(rows), "OldestDueSeconds": oldest})
        return self.outbox.queue([row["delivery_id"] for row in rows[:room]])
