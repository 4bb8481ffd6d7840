"""The outbox: deliveries that flows record in the same transaction as the change that causes the delivery.

A message in the queue contains only a delivery's id. If a message was lost or never sent, the sweeper sends a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chalicelib.delivery.delivery_plan import Plans
from chalicelib.delivery.delivery_record import BODY, ROW_KEY, Delivery, put_delivery
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.foundation import log
from chalicelib.foundation.aws.errors import AwsError
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Put
from chalicelib.foundation.identifiers import new_id, new_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import WIDTH, pieces, together
from chalicelib.foundation.requests.facts import Key


@dataclass(frozen=True, slots=True)
class RecordedDeliveries:
    """Deliveries to record: their ids, and the write operations to include in the transaction that causes the
    deliveries.

    ``event_ids`` are the ids of events that clients fetch. These events are not queued (see ``event_log``).
    """

    delivery_ids: tuple[str, ...] = ()
    operations: tuple[Put, ...] = ()
    event_ids: tuple[str, ...] = ()

    @property
    def proof(self) -> Key | None:
        """The key of the first row, which proves that the deliveries were recorded, or ``None`` without writes."""
        if not self.operations:
            return None
        first = self.operations[0]
        return first.table, {name: first.item[name] for name in ROW_KEY}

    def __add__(self, other: RecordedDeliveries) -> RecordedDeliveries:
        return RecordedDeliveries(
            self.delivery_ids + other.delivery_ids, self.operations + other.operations, self.event_ids + other.event_ids
        )


class Outbox:
    """Records deliveries and queues them."""

    def __init__(self, bodies: SealedBodies, queue: Queue, clock: Clock, plans: Plans) -> None:
        self._bodies = bodies
        self._queue = queue
        self._clock = clock
        self._plans = plans

    def record(
        self,
        kind: str,
        topic: str,
        *,
        receiver: str,
        bic: str | None = None,
        client_id: str | None = None,
        consent_id: str | None = None,
        manager_id: int | None = None,
        body: str | None = None,
        request_id: str | None = None,
    ) -> RecordedDeliveries:
        """Prepare a delivery of ``kind`` that is due immediately (see ``Delivery``). The request in the log context is
        recorded as its cause.

        ``request_id`` is the id that the receiver sees. By default, it is a UUID for a bank, and the delivery's own id
        for any other receiver. All parts of a long ``body`` except the first are written immediately.
        """
        delivery_id, now, plan = new_id(), self._clock.time(), self._plans[kind]
        expires_at = now + (0 if plan.has_caller else plan.lifetime) + plan.retention
        parts = self._bodies.seal(delivery_id, BODY, body, expires_at) if body is not None else []
        delivery = Delivery(
            delivery_id=delivery_id,
            kind=kind,
            topic=topic,
            receiver=receiver,
            bic=bic,
            client_id=client_id,
            consent_id=consent_id,
            manager_id=manager_id,
            request_id=request_id or (new_uuid() if receiver.startswith("bank#") else delivery_id),
            cause_id=log.request_id(),
            state="due",
            attempts=0,
            created_at=now,
            due_at=now,
            give_up_at=now + plan.lifetime,
            expires_at=expires_at,
            claimed_by=None,
            sending=False,
            abandoned=False,
            body_parts=len(parts),
            answer=None,
            history=(),
            delivered_at=None,
            failed_at=None,
        )
        first = (self._bodies.write_ahead(parts),) if parts else ()
        return RecordedDeliveries((delivery_id,), (put_delivery(delivery), *first))

    def dispatch(self, recorded: RecordedDeliveries) -> None:
        """Queue recorded deliveries. If queuing fails, the sweeper queues the deliveries later, so no delivery is
        lost.
        """
        if recorded.delivery_ids:
            log.info("deliveries recorded", delivery_ids=recorded.delivery_ids)
            self.queue(recorded.delivery_ids)
        if recorded.event_ids:
            log.info("events recorded", event_ids=recorded.event_ids)

    def queue(self, delivery_ids: Sequence[str]) -> int:
        """Queue deliveries in parallel. Return the number of deliveries that the queue accepted."""
        batches = [partial(self.send, batch) for batch in pieces(delivery_ids, Queue.BATCH)]
        refused = [delivery_id for wave in pieces(batches, WIDTH) for batch in together(wave) for delivery_id in batch]
        return len(delivery_ids) - len(refused)

    def queue_later(self, delivery_id: str, delay: int) -> None:
        """Queue a delivery with a delay in seconds. The sweeper handles longer delays."""
        if delay > Queue.LONGEST_DELAY:
            return
        try:
            self._queue.send(delivery_id, delay)
        except AwsError as error:
            log.warning("delivery not queued", delivery_ids=[delivery_id], error=type(error).__name__)

    def send(self, batch: Sequence[str]) -> Sequence[str]:
        """Queue up to ``Queue.BATCH`` deliveries in one call. Return the deliveries that the queue did not accept."""
        refused: Sequence[str]
        try:
            refused, error = self._queue.send_all(batch), "refused"
        except AwsError as failure:
            refused, error = batch, type(failure).__name__
        if refused:
            log.warning("delivery not queued", delivery_ids=refused, error=error)
        return refused
