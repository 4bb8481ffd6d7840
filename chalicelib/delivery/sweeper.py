"""The sweeper: queues what is due and was never queued, got lost, or had to wait for long."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.delivery.deliveries import DUE
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation.aws import Queue
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.store import Store

BACKLOG = 20_000
"""With so many messages in the queue it gets no more: what is due stays due, and copies of it would only pile up."""


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Looks through the index of due times."""

    store: Store
    clock: Clock
    queue: Queue
    outbox: Outbox

    def sweep(self) -> int:
        """Queue the deliveries whose time has come, those first that have waited longest; answers how many."""
        room = BACKLOG - self.queue.waiting()
        if room <= 0:
            return 0
        rows = DUE.rows(self.store, until=self.clock.time(), limit=room)
        return self.outbox.queue([row["delivery_id"] for row in rows])
