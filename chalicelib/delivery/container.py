"""Wiring of delivery: outbox, queue, worker, journal, event log, and the view of events and deliveries for client
owners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from chalicelib.delivery.delivery_plan import Plans
from chalicelib.delivery.outcomes import Sender
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.settings import Settings
from chalicelib.foundation.wiring import Container, part

if TYPE_CHECKING:
    from chalicelib.delivery.client_events import ClientEvents
    from chalicelib.delivery.event_log import EventLog
    from chalicelib.delivery.journal import Journal
    from chalicelib.delivery.outbox import Outbox
    from chalicelib.delivery.sealed_bodies import SealedBodies
    from chalicelib.delivery.tasks import Handlers, Tasks
    from chalicelib.delivery.worker import Worker

Senders = Mapping[str, Sender]


def queue_name(settings: Settings) -> str:
    """Return the name of a stage's queue of deliveries."""
    return f"{settings.prefix}-deliveries"


class DeliveryContainer(Container):
    """The components of delivery.

    ``plans`` has a plan for each kind of delivery. ``senders`` is called at the first attempt and returns the senders.
    ``handlers`` are the handlers of ``Tasks``.
    """

    bodies: SealedBodies = part("chalicelib.delivery.sealed_bodies")
    outbox: Outbox = part("chalicelib.delivery.outbox")
    tasks: Tasks = part("chalicelib.delivery.tasks")
    event_log: EventLog = part("chalicelib.delivery.event_log")
    client_events: ClientEvents = part("chalicelib.delivery.client_events")
    journal: Journal = part("chalicelib.delivery.journal")
    worker: Worker = part("chalicelib.delivery.worker")

    def __init__(
        self, shared: Infrastructure, plans: Plans, senders: Callable[[], Senders], handlers: Callable[[], Handlers]
    ) -> None:
        self.shared = shared
        self.parents = (shared,)
        self.plans = plans
        self.handlers = handlers
        self._senders = senders

    @cached_property
    def queue(self) -> Queue:
        return Queue(queue_name(self.shared.settings))

    @cached_property
    def dead(self) -> Queue:
        """The dead-letter queue, which triggers an alarm."""
        return Queue(f"{queue_name(self.shared.settings)}-dead")

    @cached_property
    def engine(self) -> Engine:
        return Engine(self.shared.store, self.outbox.dispatch)

    @property
    def senders(self) -> Senders:
        return self._senders()
