"""Tests of failures of every queue call: the caller succeeds, no delivery is lost, and duplicates have no effect."""

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
from tests.causeway import Causeway
from tests.delivery.conftest import Receiver, dead_letters, failure, record_delivery
from tests.openbanking.call_sites import QUEUE, Site, call_sites
from tests.openbanking.fault_scenarios import attempt_all_due
from tests.openbanking.faults import came_by, items
from tests.openbanking.kit import LATER

pytestmark = pytest.mark.faults

KINDS = ("before", "after", "refused")
ALL = pytest.mark.parametrize("kind", KINDS)
HITS: dict[str, set[Site]] = {kind: set() for kind in KINDS}
PLAYED: set[str] = set()
UNKNOWN_URL = ErrorResponse("GetQueueUrl", "AWS.SimpleQueueService.NonExistentQueue")
REFUSED = ErrorResponse("SendMessage", "RequestThrottled")


class QueueFault:
    """A fault that affects the next call of a queue, including the retries of the call.

    The fault occurs *before* the call arrives or *after* the call was executed, or the call is *refused*. For a refused
    batch, the queue rejects the first message and accepts the other messages. If ``operation`` is set, the fault
    affects only calls of this SQS operation.
    """

    def __init__(self, queue: Queue, kind: str, operation: str = "") -> None:
        self.kind = kind
        self.operation = operation
        self.hit: frozenset[Site] = frozenset()
        self._url = queue.url  # found before: the fault is not about that
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
    """After the tests, check that every kind of fault has affected every queue call, if all tests of the module ran."""
    yield
    config = request.config
    is_whole = not config.getoption("keyword") and not any("::" in each for each in config.args)
    if is_whole and {item.name for item in request.session.items if item.path == request.path} <= PLAYED:
        missed = {f"{site}: {kind}" for kind, hit in HITS.items() for site in call_sites(QUEUE) - hit}
        assert sorted(missed) == []


@pytest.fixture(autouse=True)
def empty(causeway: Causeway, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    PLAYED.add(request.node.name)
    monkeypatch.setattr(calls, "LONGEST_PAUSE", 0)
    for queue in ("deliveries", "deliveries-dead"):
        causeway.queued(queue)


@pytest.fixture
def fault(causeway: Causeway) -> Iterator[Make]:
    """Return a function that creates faults of the delivery queue.

    After the test, check that each fault has affected a call.
    """
    made: list[QueueFault] = []

    def make(kind: str, operation: str = "") -> QueueFault:
        made.append(QueueFault(causeway.hub.delivery.queue, kind, operation))
        return made[-1]

    yield make
    assert all(each.hit for each in made)


def due(causeway: Causeway) -> set[str]:
    return {
        item["delivery_id"] for item in items(causeway, "deliveries") if item["part"] == RECORD and "due_at" in item
    }


def swept(causeway: Causeway) -> list[str]:
    causeway.clock.advance(SWEEP_WAITS[0])
    causeway.hub.delivery.call(sweep)
    return causeway.queued()


@ALL
def test_a_token_revocation_returns_200_and_the_sweep_queues_its_deliveries(
    causeway: Causeway, fault: Make, kind: str
) -> None:
    causeway.tpp.set_events_url()
    token = causeway.tpp.tokens(1)["access_token"]
    attempt_all_due(causeway)
    causeway.receiver.received.clear()
    causeway.queued()

    with fault(kind):
        answer = causeway.tpp.call("POST", "/tpp/token/revoke", {"token": token})

    assert answer.status == 200
    found = causeway.queued()
    assert len(found) == {"before": 0, "after": 2, "refused": 1}[kind]
    found += swept(causeway)
    assert set(found) == due(causeway)
    assert len(due(causeway)) == 2
    causeway.banks[1].answers["/revoke_token"] = lambda sent: {"status": "success"}
    for delivery_id in found:
        causeway.hub.delivery.worker.attempt(delivery_id)
    assert due(causeway) == set()
    assert [event["type"] for event in causeway.receiver.events] == ["consent.revoked"]
    assert len(causeway.banks[1].received) == 1


@ALL
def test_an_asynchronous_call_returns_202_and_is_executed_once(causeway: Causeway, fault: Make, kind: str) -> None:
    bearer, side = causeway.tpp.tokens(1)["access_token"], causeway.banks[1]
    side.answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}

    with fault(kind):
        answer = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers=LATER)

    assert answer.status == 202
    for delivery_id in [*causeway.queued(), *swept(causeway)]:
        causeway.hub.delivery.worker.attempt(delivery_id)
    assert causeway.tpp.outcome(answer.body["request_id"], bearer)["state"] == "done"
    assert len(side.received) == 1


@ALL
def test_the_sweep_queues_a_retry_that_the_worker_failed_to_queue(
    causeway: Causeway, receiver: Receiver, worker: Worker, recorded: str, fault: Make, kind: str
) -> None:
    receiver.failures = [failure()]

    with fault(kind):
        worker.attempt(recorded)

    assert causeway.delivery(recorded).state == "due"
    causeway.clock.advance(10)
    assert recorded in swept(causeway)
    worker.attempt(recorded)
    worker.attempt(recorded)
    assert causeway.delivery(recorded).state == "delivered"
    assert len(receiver.got) == 2


@ALL
def test_the_next_sweep_queues_the_deliveries_that_the_previous_sweep_failed_to_queue(
    causeway: Causeway, fault: Make, kind: str
) -> None:
    ids = {record_delivery(causeway) for _ in range(12)}
    causeway.clock.advance(SWEEP_WAITS[0])

    with fault(kind, "SendMessageBatch"):
        causeway.hub.delivery.call(sweep)

    first = set(causeway.queued())
    assert len(first) == {"before": 2, "after": 12, "refused": 11}[kind]
    causeway.hub.delivery.call(sweep)
    again = set(causeway.queued())
    assert again == (ids - first or set(list(again)[:10]))


@ALL
def test_the_next_sweep_queues_deliveries_after_counting_the_queue_messages_failed(
    causeway: Causeway, recorded: str, fault: Make, kind: str
) -> None:
    with fault(kind), pytest.raises(AwsError):
        causeway.hub.delivery.call(sweep)

    assert causeway.queued() == []
    assert swept(causeway) == [recorded]


@ALL
def test_the_sweep_queues_the_events_of_expired_consents(causeway: Causeway, fault: Make, kind: str) -> None:
    causeway.tpp.set_events_url()
    causeway.psu.approve(1)
    attempt_all_due(causeway)
    (consent,) = [item for item in items(causeway, "consents") if item["part"] == "consent"]
    causeway.clock.advance(consent["valid_until"] - causeway.clock.time())
    causeway.queued()

    with fault(kind):
        assert causeway.hub.openbanking.call(record_due_events) == 1

    assert set(swept(causeway)) == due(causeway)
    assert len(due(causeway)) == 2


@ALL
@pytest.mark.parametrize("which", ["one", "all"])
def test_the_sweep_queues_the_deliveries_that_an_operator_resent(
    causeway: Causeway, fault: Make, kind: str, which: str
) -> None:
    causeway.tpp.set_events_url()
    causeway.psu.approve(1)
    (delivery_id,) = due(causeway)
    causeway.receiver.answers = [Reply(410, b"", {}, 0.01)]
    causeway.hub.delivery.worker.attempt(delivery_id)
    causeway.queued()

    with fault(kind):
        if which == "one":
            causeway.hub.delivery.journal.resend(delivery_id)
        else:
            assert causeway.hub.delivery.journal.resend_failed(0) == 1

    assert delivery_id in swept(causeway)
    causeway.hub.delivery.worker.attempt(delivery_id)
    assert causeway.delivery(delivery_id).state == "delivered"


@ALL
def test_an_exception_counts_as_an_attempt_even_if_the_dead_letter_queue_fails(
    causeway: Causeway, receiver: Receiver, worker: Worker, recorded: str, kind: str
) -> None:
    receiver.failures = [RuntimeError("a defect")]

    with QueueFault(causeway.hub.delivery.dead, kind) as fault:
        worker.attempt(recorded)

    assert fault.hit
    assert dead_letters(causeway) == ([recorded] if kind == "after" else [])
    assert causeway.delivery(recorded).history[-1]["error"] == "a defect of this service: RuntimeError"
    causeway.clock.advance(10)
    worker.attempt(recorded)
    assert causeway.delivery(recorded).state == "delivered"


@ALL
def test_sending_a_task_raises_the_error_of_the_queue(causeway: Causeway, fault: Make, kind: str) -> None:
    with fault(kind), pytest.raises(AwsError):
        causeway.hub.delivery.tasks.send("any", "details")

    assert len(causeway.queued()) == (1 if kind == "after" else 0)


def test_a_queue_url_is_looked_up_again_after_a_failed_lookup(
    causeway: Causeway, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(queue: Queue) -> Any:
        raise UNKNOWN_URL

    with monkeypatch.context() as patch:
        patch.setattr(Queue, "url", property(unknown))
        assert causeway.hub.delivery.outbox.queue([recorded]) == 0
    assert swept(causeway) == [recorded]
