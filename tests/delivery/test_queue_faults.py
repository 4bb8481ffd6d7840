"""A queue that fails, at every call of it: nobody who waits is harmed, nothing is lost, and copies do nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.delivery.delivery_plan import SWEEP_WAITS
from chalicelib.delivery.delivery_record import RECORD
from chalicelib.delivery.sweeper import sweep
from chalicelib.delivery.worker import Worker
from chalicelib.foundation.aws import calls
from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.aws.errors import AwsError, ErrorResponse, NoAnswer, NotSent
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from tests.delivery.deliveries import Receiver, buried, fail, record
from tests.openbanking.call_sites import QUEUE, Site, call_sites
from tests.openbanking.faults import came_by, items
from tests.openbanking.scenes import LATER, carry_on, outcome
from tests.world import World

pytestmark = pytest.mark.faults

KINDS = ("before", "after", "refused")
ALL = pytest.mark.parametrize("kind", KINDS)
HITS: dict[str, set[Site]] = {kind: set() for kind in KINDS}
PLAYED: set[str] = set()
UNKNOWN_URL = ErrorResponse("GetQueueUrl", "AWS.SimpleQueueService.NonExistentQueue")
REFUSED = ErrorResponse("SendMessage", "RequestThrottled")


class QueueFault:
    """One fault at the next call of a queue: *before* the call arrives, *after* it was done, or *refused*.

    Its repeat does not arrive.

    Of messages that are sent together the first is refused, and the others are taken. With ``operation`` only calls
    that SQS has under this name count.
    """

    def __init__(self, queue: Queue, kind: str, operation: str = "") -> None:
        self.kind = kind
        self.operation = operation
        self.hit: frozenset[Site] = frozenset()
        self._url = queue._url  # found before: the fault is not about that
        self._struck: Members = {}
        self._observation = ExitStack()

    def __enter__(self) -> QueueFault:
        self._observation.enter_context(observe(self._see))
        return self

    def __exit__(self, *_: object) -> None:
        self._observation.close()

    def _see(self, call: Call, proceed: Proceed) -> Members:
        if call.body is self._struck:
            raise NotSent(f"{call.operation}, for the second time")
        if self.hit or call.body.get("QueueUrl") != self._url or self.operation not in ("", call.operation):
            return proceed(call)
        self._struck = call.body
        self.hit = frozenset(came_by(sys._getframe(), QUEUE))
        HITS[self.kind] |= self.hit
        if self.kind == "before":
            raise NotSent(call.operation)
        if self.kind == "refused":
            return self._without_the_first(call, proceed)
        proceed(call)
        raise NoAnswer(call.operation)

    def _without_the_first(self, call: Call, proceed: Proceed) -> Members:
        if call.operation != "SendMessageBatch":
            raise REFUSED
        first, *others = call.body["Entries"]
        failed = {"Failed": [{"Id": first["Id"], "SenderFault": False}]}
        return (proceed(replace(call, body=call.body | {"Entries": others})) if others else {}) | failed


Make = Callable[..., QueueFault]


@pytest.fixture(autouse=True, scope="module")
def every_call_is_hit(request: pytest.FixtureRequest) -> Iterator[None]:
    """In the end every fault has hit every call of a queue, if every test of this module was made."""
    yield
    config = request.config
    is_whole = not config.getoption("keyword") and not any("::" in each for each in config.args)
    if is_whole and {item.name for item in request.session.items if item.path == request.path} <= PLAYED:
        missed = {f"{site}: {kind}" for kind, hit in HITS.items() for site in call_sites(QUEUE) - hit}
        assert sorted(missed) == []


@pytest.fixture(autouse=True)
def empty(world: World, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests have queued is gone."""
    PLAYED.add(request.node.name)
    monkeypatch.setattr(calls, "LONGEST_PAUSE", 0)
    for queue in ("deliveries", "deliveries-dead"):
        world.queued(queue)


@pytest.fixture
def fault(world: World) -> Iterator[Make]:
    """Makes faults of the queue of deliveries; every one that was made has hit a call."""
    made: list[QueueFault] = []

    def make(kind: str, operation: str = "") -> QueueFault:
        made.append(QueueFault(world.hub.delivery.queue, kind, operation))
        return made[-1]

    yield make
    assert all(each.hit for each in made)


def due(world: World) -> set[str]:
    return {item["delivery_id"] for item in items(world, "deliveries") if item["part"] == RECORD and "due_at" in item}


def swept(world: World) -> list[str]:
    """What the queue has after the sweeper's run in two minutes; every message is taken out."""
    world.clock.advance(SWEEP_WAITS[0])
    world.hub.delivery.call(sweep)
    return world.queued()


@ALL
def test_a_token_revocation_returns_200_and_the_sweep_queues_its_deliveries(
    world: World, fault: Make, kind: str
) -> None:
    world.wants_events()
    token = world.tokens(1)["access_token"]
    carry_on(world)
    world.receiver.received.clear()
    world.queued()

    with fault(kind):
        answer = world.tpp("POST", "/tpp/token/revoke", {"token": token})

    assert answer.status == 200
    found = world.queued()
    assert len(found) == {"before": 0, "after": 2, "refused": 1}[kind]
    found += swept(world)
    assert set(found) == due(world)
    assert len(due(world)) == 2
    world.banks[1].answers["/revoke_token"] = lambda sent: {"status": "success"}
    for delivery_id in found:
        world.hub.delivery.worker.attempt(delivery_id)
    assert due(world) == set()
    assert [event["type"] for event in world.receiver.events] == ["consent.revoked"]
    assert len(world.banks[1].received) == 1


@ALL
def test_an_asynchronous_call_returns_202_and_is_made_once(world: World, fault: Make, kind: str) -> None:
    bearer, side = world.tokens(1)["access_token"], world.banks[1]
    side.answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}

    with fault(kind):
        answer = world.tpp("GET", "/tpp/accounts", bearer=bearer, headers=LATER)

    assert answer.status == 202
    for delivery_id in [*world.queued(), *swept(world)]:
        world.hub.delivery.worker.attempt(delivery_id)
    assert outcome(world, answer.body["request_id"], bearer)["state"] == "done"
    assert len(side.received) == 1


@ALL
def test_the_sweep_queues_a_retry_that_the_worker_could_not_queue(
    world: World, receiver: Receiver, worker: Worker, recorded: str, fault: Make, kind: str
) -> None:
    receiver.failures = [fail()]

    with fault(kind):
        worker.attempt(recorded)

    assert world.delivery(recorded).state == "due"
    world.clock.advance(10)
    assert recorded in swept(world)
    worker.attempt(recorded)
    worker.attempt(recorded)
    assert world.delivery(recorded).state == "delivered"
    assert len(receiver.got) == 2


@ALL
def test_the_next_sweep_queues_the_deliveries_that_the_previous_one_could_not_queue(
    world: World, fault: Make, kind: str
) -> None:
    ids = {record(world) for _ in range(12)}
    world.clock.advance(SWEEP_WAITS[0])

    with fault(kind, "SendMessageBatch"):
        world.hub.delivery.call(sweep)

    first = set(world.queued())
    assert len(first) == {"before": 2, "after": 12, "refused": 11}[kind]
    world.hub.delivery.call(sweep)
    again = set(world.queued())
    assert again == (ids - first or set(list(again)[:10]))


@ALL
def test_the_next_sweep_queues_deliveries_after_the_message_count_failed(
    world: World, recorded: str, fault: Make, kind: str
) -> None:
    with fault(kind), pytest.raises(AwsError):
        world.hub.delivery.call(sweep)

    assert world.queued() == []
    assert swept(world) == [recorded]


@ALL
def test_the_sweep_queues_the_events_of_expired_consents(world: World, fault: Make, kind: str) -> None:
    world.wants_events()
    world.approve(1)
    carry_on(world)
    (consent,) = [item for item in items(world, "consents") if item["part"] == "consent"]
    world.clock.advance(consent["valid_until"] - world.clock.time())
    world.queued()

    with fault(kind):
        assert world.hub.openbanking.call(record_due_events) == 1

    assert set(swept(world)) == due(world)
    assert len(due(world)) == 2


@ALL
@pytest.mark.parametrize("which", ["one", "all"])
def test_the_sweep_queues_the_deliveries_that_an_operator_resent(
    world: World, fault: Make, kind: str, which: str
) -> None:
    world.wants_events()
    world.approve(1)
    (delivery_id,) = due(world)
    world.receiver.answers = [Reply(410, b"", {}, 0.01)]
    world.hub.delivery.worker.attempt(delivery_id)
    world.queued()

    with fault(kind):
        if which == "one":
            world.hub.delivery.journal.resend(delivery_id)
        else:
            assert world.hub.delivery.journal.resend_failed(0) == 1

    assert delivery_id in swept(world)
    world.hub.delivery.worker.attempt(delivery_id)
    assert world.delivery(delivery_id).state == "delivered"


@ALL
def test_an_exception_counts_as_an_attempt_when_the_dead_letter_queue_fails(
    world: World, receiver: Receiver, worker: Worker, recorded: str, kind: str
) -> None:
    receiver.failures = [RuntimeError("a defect")]

    with QueueFault(worker._dead, kind) as fault:
        worker.attempt(recorded)

    assert fault.hit
    assert buried(world) == ([recorded] if kind == "after" else [])
    assert world.delivery(recorded).history[-1]["error"] == "a defect of this service: RuntimeError"
    world.clock.advance(10)
    worker.attempt(recorded)
    assert world.delivery(recorded).state == "delivered"


@ALL
def test_sending_a_task_raises_the_error_of_the_queue(world: World, fault: Make, kind: str) -> None:
    with fault(kind), pytest.raises(AwsError):
        world.hub.delivery.tasks.send("any", "details")

    assert len(world.queued()) == (1 if kind == "after" else 0)


def test_a_queue_url_that_was_not_found_is_looked_up_again(
    world: World, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(queue: Queue) -> Any:
        raise UNKNOWN_URL

    with monkeypatch.context() as patch:
        patch.setattr(Queue, "_url", property(unknown))
        assert world.hub.delivery.outbox.queue([recorded]) == 0
    assert swept(world) == [recorded]
