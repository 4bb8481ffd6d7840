"""Tests of delivery records: conditional writes and indexes."""

from dataclasses import replace

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery.delivery_plan import DAY
from chalicelib.delivery.delivery_record import (
    CLAIMED_SECONDS,
    DUE,
    FAILED,
    FAILED_OF_CLIENT,
    HISTORY,
    OF_BANK,
    OF_CLIENT,
    OF_MANAGER,
    Delivery,
    record_key,
    update_claim,
    update_due_time,
    update_end,
    update_retry,
    update_revival,
)
from chalicelib.delivery.outcomes import Delivered
from chalicelib.delivery.worker import Worker
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import ConditionFailed
from tests.causeway import Causeway
from tests.delivery.conftest import Receiver, begin_attempt, failure, record_delivery

pytestmark = pytest.mark.dynamodb

FOREVER = 2**40


def found(causeway: Causeway, index: ShardedIndex, owner: str = "", until: int = FOREVER) -> set[str]:
    return {row["delivery_id"] for row in index.rows(causeway.hub.store, owner=owner, until=until)}


def write(causeway: Causeway, delivery: Delivery, what: str) -> None:
    """Write a delivery on the condition that the stored state equals the previously read state."""
    now = causeway.clock.time()
    if what == "claiming":
        causeway.hub.store.transact([update_claim(delivery, "a-claim", now, sending=True)[1]])
    elif what == "putting off":
        causeway.hub.store.transact([update_due_time(delivery, now + 5)])
    else:
        causeway.hub.store.transact(update_revival(delivery, PLANS["event"], now + 1))


WRITES = ["claiming", "putting off", "reviving"]


def test_a_new_delivery_is_due_immediately_and_indexed_by_time_bank_and_client(causeway: Causeway) -> None:
    recorded = record_delivery(causeway)
    delivery, now = causeway.delivery(recorded), causeway.clock.time()

    assert delivery.state == "due"
    assert delivery.attempts == 0
    assert delivery.due_at == now
    assert delivery.created_at == now
    assert recorded in found(causeway, DUE, until=now)
    assert recorded in found(causeway, OF_BANK, "ALPHGB21")
    assert recorded in found(causeway, OF_CLIENT, causeway.tpp.client_id)
    assert recorded not in found(causeway, FAILED)


def test_a_card_event_is_indexed_only_by_its_programme_manager(causeway: Causeway) -> None:
    members = {"bic": None, "client_id": None, "consent_id": None}
    recorded = record_delivery(causeway, "card_event", receiver="manager#1", manager_id=1, **members)
    item = causeway.hub.store.get(*record_key(recorded))

    assert recorded in found(causeway, OF_MANAGER, "1")
    assert item is not None
    assert item.keys() & {OF_BANK.partition, OF_CLIENT.partition, *members} == set()
    assert PLANS["card_event"].lane_of(causeway.delivery(recorded).receiver) == "manager#1#notices"


@pytest.mark.parametrize("second", WRITES)
@pytest.mark.parametrize("first", WRITES)
def test_the_second_of_two_writes_based_on_the_same_read_fails(causeway: Causeway, first: str, second: str) -> None:
    read = causeway.delivery(record_delivery(causeway))
    write(causeway, read, first)

    with pytest.raises(ConditionFailed):
        write(causeway, read, second)


@pytest.mark.parametrize("what", WRITES)
def test_a_write_to_a_delivery_that_ended_after_the_read_fails(causeway: Causeway, worker: Worker, what: str) -> None:
    recorded = record_delivery(causeway)
    read = causeway.delivery(recorded)
    worker.attempt(recorded)

    with pytest.raises(ConditionFailed):
        write(causeway, read, what)
    assert causeway.delivery(recorded).state == "delivered"


def test_a_delivery_with_a_running_attempt_becomes_due_when_the_attempt_claim_expires(
    causeway: Causeway, worker: Worker
) -> None:
    attempt = begin_attempt(worker, record_delivery(causeway))
    delivery_id, now = attempt.delivery.delivery_id, causeway.clock.time()

    assert attempt.delivery.is_running(now)
    assert delivery_id not in found(causeway, DUE, until=now + CLAIMED_SECONDS - 1)
    assert delivery_id in found(causeway, DUE, until=now + CLAIMED_SECONDS)
    assert not attempt.delivery.is_running(now + CLAIMED_SECONDS)


@pytest.mark.parametrize("state", ["delivered", "failed"])
def test_a_finished_delivery_does_not_become_due_again(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, state: str
) -> None:
    receiver.failures = [failure(final=True)] if state == "failed" else []
    worker.attempt(recorded)

    assert causeway.delivery(recorded).state == state
    assert recorded not in found(causeway, DUE)
    assert (recorded in found(causeway, FAILED)) == (state == "failed")
    assert (recorded in found(causeway, FAILED_OF_CLIENT, causeway.tpp.client_id)) == (state == "failed")
    causeway.clock.advance(29 * DAY)
    assert worker.begin(recorded) is None


@pytest.mark.parametrize("state", ["delivered", "failed"])
def test_a_finished_notification_is_stored_for_30_days_from_its_end(
    causeway: Causeway, worker: Worker, receiver: Receiver, recorded: str, state: str
) -> None:
    causeway.clock.advance(DAY)
    receiver.failures = [failure(final=True)] if state == "failed" else []
    worker.attempt(recorded)

    assert causeway.delivery(recorded).expires_at == causeway.clock.time() + 30 * DAY


def test_a_delivery_record_expires_after_the_last_possible_attempt(causeway: Causeway) -> None:
    delivery = causeway.delivery(record_delivery(causeway))

    assert delivery.expires_at == causeway.clock.time() + PLANS["event"].lifetime + PLANS["event"].retention
    assert delivery.give_up_at == causeway.clock.time() + PLANS["event"].lifetime


def test_the_history_contains_the_latest_twenty_attempts(causeway: Causeway) -> None:
    entries = tuple({"at": number} for number in range(HISTORY))
    claimed = replace(causeway.delivery(record_delivery(causeway)), claimed_by="a-claim", history=entries)
    now = causeway.clock.time()

    assert HISTORY == 20
    for update in (
        update_retry(claimed, now, {"at": 99}),
        update_end(claimed, PLANS["event"], "failed", {"at": 99}, None, now),
    ):
        assert [entry["at"] for entry in update.set["history"]] == [*range(1, HISTORY), 99]


@pytest.mark.parametrize("state", ["delivered", "failed"])
def test_resending_a_finished_delivery_resets_the_attempts_and_preserves_the_history(
    causeway: Causeway, worker: Worker, receiver: Receiver, state: str
) -> None:
    recorded = record_delivery(causeway, body="a body")
    receiver.failures = [failure(final=True)] if state == "failed" else []
    worker.attempt(recorded)
    before = causeway.delivery(recorded)
    causeway.clock.advance(DAY)
    now = causeway.clock.time()
    causeway.hub.delivery.journal.resend(recorded)

    again = causeway.delivery(recorded)
    assert again.state == "due"
    assert again.attempts == 0
    assert again.due_at == now
    assert (again.give_up_at, again.history) == (now + PLANS["event"].lifetime, before.history)
    assert again.request_id == before.request_id
    assert again.delivered_at is None
    assert again.failed_at is None
    assert recorded in found(causeway, DUE, until=now)
    assert recorded not in found(causeway, FAILED)
    assert recorded not in found(causeway, FAILED_OF_CLIENT, causeway.tpp.client_id)
    receiver.arrived = Delivered(204)
    worker.attempt(recorded)
    assert (causeway.delivery(recorded).state, len(causeway.delivery(recorded).history)) == ("delivered", 2)
    assert [dispatch.body for dispatch in receiver.got] == ["a body", "a body"]
