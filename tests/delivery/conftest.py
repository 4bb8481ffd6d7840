"""A worker whose sender does as it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from chalicelib.delivery.outbox import Delivery, Outbox
from chalicelib.delivery.worker import Undeliverable, Worker
from tests.world import World


@dataclass
class Receiver:
    """What a receiver got, and how it fails: ``failures`` are raised one per attempt, ``always`` at each."""

    got: list[Delivery] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    always: Exception | None = None
    meanwhile: Callable[[], object] | None = None

    def send(self, delivery: Delivery) -> None:
        self.got.append(delivery)
        if self.meanwhile is not None:
            during, self.meanwhile = self.meanwhile, None
            during()
        if self.always is not None:
            raise self.always
        if self.failures:
            raise self.failures.pop(0)


@pytest.fixture
def outbox(world: World) -> Outbox:
    for queue in ("deliveries", "deliveries-dead"):
        world.queued(queue)  # what other tests left behind
    return world.hub.outbox


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def worker(outbox: Outbox, receiver: Receiver) -> Worker:
    return Worker(outbox, {"revoke_token": receiver.send})


@pytest.fixture
def recorded(world: World, outbox: Outbox) -> str:
    """A delivery that was recorded and not yet queued; its id."""
    return record(world, outbox)


def record(world: World, outbox: Outbox) -> str:
    put = outbox.record("revoke_token", "ALPHGB21", "a-consent")
    world.hub.store.transact([put])
    delivery_id: str = put.item["delivery_id"]
    return delivery_id


def buried(world: World) -> list[str]:
    """The ids in the dead-letter queue; they are taken out."""
    return world.queued("deliveries-dead")


def fail(reason: str = "the bank answered with status 503", *, final: bool = False) -> Undeliverable:
    return Undeliverable(reason, final=final)
