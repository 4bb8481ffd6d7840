"""A worker whose sender does as it is told."""

from __future__ import annotations

import pytest

from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.worker import Worker
from tests.causeway import Causeway
from tests.delivery.deliveries import Receiver, record, worker_of


@pytest.fixture
def outbox(causeway: Causeway) -> Outbox:
    for queue in ("deliveries", "deliveries-dead"):
        causeway.queued(queue)  # what other tests left behind
    return causeway.hub.delivery.outbox


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def worker(causeway: Causeway, outbox: Outbox, receiver: Receiver) -> Worker:
    return worker_of(causeway, receiver)


@pytest.fixture
def recorded(causeway: Causeway) -> str:
    """A delivery that was recorded and not yet queued; its id."""
    return record(causeway)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """No jitter."""
    monkeypatch.setattr("chalicelib.delivery.delivery_plan.random.uniform", lambda low, high: 1.0)
