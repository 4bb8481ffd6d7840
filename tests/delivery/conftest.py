"""Fixtures for deliveries, and for a worker with a scripted receiver."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery.delivery_plan import HOUR, MINUTE
from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.outcomes import Delivered, Dispatch, Sender, StoredAnswer, Undeliverable
from chalicelib.delivery.worker import Attempt, Worker
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.dynamodb.store import Conflict
from tests.causeway import Causeway
from tests.conftest import DYNAMODB_ENGINE


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
    return worker_for(causeway, receiver)


@pytest.fixture
def recorded(causeway: Causeway) -> str:
    """Record a delivery without a queue message. Return the id of the delivery."""
    return record_delivery(causeway)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.delivery.delivery_plan.random.uniform", lambda low, high: 1.0)


RETRY_DELAYS = (5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR)


@dataclass
class Receiver:
    """A scripted receiver that records the requests.

    Each attempt raises the next exception of ``failures``. If ``always`` is set, every attempt raises this exception.
    ``meanwhile`` is called once during the next request. ``abandon`` lists the deliveries that expired, and
    ``last_words`` is the response to the callers of these deliveries.
    """

    got: list[Dispatch] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    always: Exception | None = None
    meanwhile: Callable[[], object] | None = None
    arrived: Delivered = field(default_factory=lambda: Delivered(200))
    abandon: list[Dispatch] = field(default_factory=list)
    last_words: StoredAnswer | None = None

    def send(self, dispatch: Dispatch) -> Delivered:
        self.got.append(dispatch)
        if self.meanwhile is not None:
            during, self.meanwhile = self.meanwhile, None
            during()
        if self.always is not None:
            raise self.always
        if self.failures:
            raise self.failures.pop(0)
        return self.arrived

    def give_up(self, dispatch: Dispatch) -> Undeliverable:
        self.abandon.append(dispatch)
        return Undeliverable("too late", final=True, answer=self.last_words)


def worker_for(causeway: Causeway, receiver: Receiver) -> Worker:
    hub, senders = causeway.hub, {kind: Sender(receiver.send, receiver.give_up) for kind in PLANS}
    dead = Queue(f"{hub.settings.prefix}-deliveries-dead")
    worker: Worker = hub.delivery.make(Worker, dead=dead, senders=senders)
    return worker


def unrecorded_delivery(causeway: Causeway, kind: str = "event", **members: Any) -> RecordedDeliveries:
    """Return a delivery to the test's own client. The operations that record the delivery are not executed."""
    client_id = causeway.tpp.client_id
    known = {"receiver": f"client#{client_id}", "bic": "ALPHGB21", "client_id": client_id, "consent_id": "a-consent"}
    return causeway.hub.delivery.outbox.record(kind, "a.topic", **known | members)


def record_delivery(causeway: Causeway, kind: str = "event", **members: Any) -> str:
    delivery = unrecorded_delivery(causeway, kind, **members)
    causeway.hub.store.transact(delivery.operations)
    return delivery.delivery_ids[0]


def begin_attempt(worker: Worker, delivery_id: str) -> Attempt:
    attempt = worker.begin(delivery_id)
    assert attempt is not None
    return attempt


def contest(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run ``calls`` in parallel. Return the result of each call, or ``None`` for a call with too many conflicts.

    On the emulator, which does not support threads, the calls run sequentially.
    """
    turn = contextlib.nullcontext() if DYNAMODB_ENGINE else threading.Lock()
    barrier = threading.Barrier(len(calls))

    def compete(call: Callable[[], Any]) -> Any:
        barrier.wait()
        with turn, contextlib.suppress(Conflict):
            return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(compete, calls))


def dead_letters(causeway: Causeway) -> list[str]:
    """Remove all messages from the dead-letter queue. Return the delivery ids in the messages."""
    return causeway.queued("deliveries-dead")


def failure(reason: str = "it answered with status 503", **members: Any) -> Undeliverable:
    return Undeliverable(reason, **members)


def recording_send_all(batches: list[Any]) -> Callable[[Queue, Any], list[str]]:

    def send_all(queue: Queue, bodies: Any) -> list[str]:
        batches.append(bodies)
        return []

    return send_all
