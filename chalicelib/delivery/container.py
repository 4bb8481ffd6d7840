"""Wires delivery: outbox, queue, worker, journal, the log of events, and what owners see of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from chalicelib.delivery.client_events import ClientEvents
from chalicelib.delivery.delivery_plan import Kind
from chalicelib.delivery.event_log import EventLog
from chalicelib.delivery.journal import Journal
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.outcomes import Sender
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.delivery.sweeper import Sweeper
from chalicelib.delivery.tasks import Handlers, Tasks
from chalicelib.delivery.worker import Worker
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.settings import Settings

Senders = Mapping[Kind, Sender]


def queue_name(settings: Settings) -> str:
    """The name of the stage's queue of deliveries."""
    return f"{settings.prefix}-deliveries"


class DeliveryContainer:
    """``senders`` returns the sender of each kind, called at the first attempt; ``handlers`` those of ``Tasks``."""

    def __init__(
        self, shared: Infrastructure, senders: Callable[[], Senders], handlers: Callable[[], Handlers]
    ) -> None:
        self.shared = shared
        self._senders = senders
        self._handlers = handlers

    @cached_property
    def queue(self) -> Queue:
        return Queue(queue_name(self.shared.settings))

    @cached_property
    def bodies(self) -> SealedBodies:
        return SealedBodies(self.shared.store, self.shared.vault)

    @cached_property
    def outbox(self) -> Outbox:
        return Outbox(self.bodies, self.queue, self.shared.clock)

    @cached_property
    def engine(self) -> Engine:
        return Engine(self.shared.store, self.outbox.dispatch)

    @cached_property
    def tasks(self) -> Tasks:
        return Tasks(self.shared.vault, self.queue, self._handlers)

    @cached_property
    def event_log(self) -> EventLog:
        shared = self.shared
        return EventLog(shared.store, shared.vault, shared.keyring, shared.clock)

    @cached_property
    def client_events(self) -> ClientEvents:
        return ClientEvents(self.shared.store, self.event_log)

    @cached_property
    def sweeper(self) -> Sweeper:
        shared = self.shared
        return Sweeper(shared.store, shared.clock, self.queue, self.outbox, shared.metrics)

    @cached_property
    def journal(self) -> Journal:
        return Journal(self.shared.store, self.shared.clock, self.outbox)

    @cached_property
    def worker(self) -> Worker:
        dead = Queue(f"{self.shared.settings.prefix}-deliveries-dead")
        shared = self.shared
        return Worker(shared.store, shared.clock, self.bodies, self.outbox, dead, self._senders(), self.tasks)
