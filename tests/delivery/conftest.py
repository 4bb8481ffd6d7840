"""A worker whose sender does as it is told."""

from __future__ import annotations

import pytest

from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.worker import Worker
from tests.delivery.deliveries import Receiver, record, worker_of
from tests.world import World


@pytest.fixture
def outbox(world: World) -> Outbox:
    for queue in ("deliveries", "deliveries-dead"):
        world.queued(queue)  # what other tests left behind
    return world.hub.delivery.outbox


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def worker(world: World, outbox: Outbox, receiver: Receiver) -> Worker:
    return worker_of(world, receiver)


@pytest.fixture
def recorded(world: World) -> str:
    """A delivery that was recorded and not yet queued; its id."""
    return record(world)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """No jitter."""
    monkeypatch.setattr("chalicelib.delivery.delivery_plan.random.uniform", lambda low, high: 1.0)
