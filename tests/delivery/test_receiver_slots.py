"""Tests of the slots that limit the parallel deliveries to a receiver, so that no receiver delays other receivers."""

import pytest

from chalicelib.delivery.delivery_record import CLAIMED_SECONDS
from chalicelib.delivery.receiver_slots import LONG_SECONDS, RESTING_SECONDS, SLOTS, Slot, read_free_slots
from chalicelib.delivery.worker import Worker
from chalicelib.foundation.identifiers import new_id
from tests.causeway import Causeway
from tests.conftest import DYNAMODB_ENGINE
from tests.delivery.conftest import Receiver, begin_attempt, contest, failure, record_delivery

pytestmark = pytest.mark.dynamodb


@pytest.fixture
def name() -> str:
    return f"bank#{new_id()}"


@pytest.fixture
def without_sleep(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)


def fill(causeway: Causeway, worker: Worker, name: str) -> None:
    for _ in range(SLOTS):
        begin_attempt(worker, record_delivery(causeway, receiver=name))


def free(causeway: Causeway, name: str) -> int:
    return len(read_free_slots(causeway.hub.store, f"{name}#notices", causeway.clock.time()).free)


def test_a_receiver_has_at_most_four_deliveries_at_a_time(causeway: Causeway, worker: Worker, name: str) -> None:
    fifth = record_delivery(causeway, receiver=name)
    assert (SLOTS, free(causeway, name)) == (4, 4)
    fill(causeway, worker, name)

    assert worker.begin(fifth) is None
    assert free(causeway, name) == 0


def test_a_busy_receiver_does_not_block_another_receiver(
    causeway: Causeway, worker: Worker, receiver: Receiver, name: str
) -> None:
    fill(causeway, worker, name)
    other = record_delivery(causeway, receiver=f"{name}-other")
    worker.attempt(other)

    assert causeway.delivery(other).state == "delivered"


@pytest.mark.usefixtures("exact", "without_sleep")
def test_a_delivery_to_a_busy_receiver_is_deferred_without_an_attempt_and_delivered_later(
    causeway: Causeway, worker: Worker, receiver: Receiver, name: str
) -> None:
    waiting = record_delivery(causeway, receiver=name)
    fill(causeway, worker, name)
    worker.attempt(waiting)

    delivery = causeway.delivery(waiting)
    assert delivery.state == "due"
    assert delivery.attempts == 0
    assert delivery.claimed_by is None
    assert receiver.got == []
    assert delivery.due_at == causeway.clock.time() + 2
    causeway.clock.advance(CLAIMED_SECONDS)
    worker.attempt(waiting)
    assert (causeway.delivery(waiting).state, causeway.delivery(waiting).attempts) == ("delivered", 1)


@pytest.mark.usefixtures("exact", "without_sleep")
def test_the_delays_for_a_busy_receiver_increase_with_the_age_of_the_delivery(
    causeway: Causeway, worker: Worker, name: str
) -> None:
    waiting, delays = record_delivery(causeway, receiver=name), []
    for _ in range(7):
        fill(causeway, worker, name)
        worker.attempt(waiting)
        delays.append((causeway.delivery(waiting).due_at or 0) - causeway.clock.time())
        causeway.clock.advance(max(CLAIMED_SECONDS, delays[-1]))

    assert delays == [2, 15, 30, 45, 60, 75, 93]


def test_payments_to_a_receiver_have_separate_delivery_slots(causeway: Causeway, worker: Worker, name: str) -> None:
    fill(causeway, worker, name)
    payment = record_delivery(causeway, receiver=name, kind="payment")

    assert worker.begin(payment) is not None


@pytest.mark.parametrize(
    "failures",
    [[], [failure()], [failure(final=True)], [failure(not_made=True)], [ZeroDivisionError()]],
    ids=["delivered", "retried", "failed", "not made", "defect"],
)
def test_every_outcome_of_a_delivery_attempt_frees_the_delivery_slot(
    causeway: Causeway, worker: Worker, receiver: Receiver, name: str, failures: list[Exception]
) -> None:
    receiver.failures = list(failures)
    receiver.meanwhile = lambda: counts.append(free(causeway, name))
    counts: list[int] = []
    worker.attempt(record_delivery(causeway, receiver=name))

    assert [*counts, free(causeway, name)] == [SLOTS - 1, SLOTS]


@pytest.mark.parametrize("final", [False, True])
def test_the_delivery_slot_of_a_slow_attempt_remains_occupied_for_a_rest_period(
    causeway: Causeway, worker: Worker, receiver: Receiver, name: str, final: bool
) -> None:
    receiver.failures = [failure("no answer came in time", final=final)]
    receiver.meanwhile = lambda: causeway.clock.advance(LONG_SECONDS)
    worker.attempt(record_delivery(causeway, receiver=name))

    assert free(causeway, name) == SLOTS - 1
    causeway.clock.advance(RESTING_SECONDS - 1)
    assert free(causeway, name) == SLOTS - 1
    causeway.clock.advance(1)
    assert free(causeway, name) == SLOTS


def test_a_refused_connection_frees_the_delivery_slot_immediately(
    causeway: Causeway, worker: Worker, receiver: Receiver, name: str
) -> None:
    receiver.failures = [failure("no connection could be made")]
    worker.attempt(record_delivery(causeway, receiver=name))

    assert free(causeway, name) == SLOTS


def test_all_delivery_slots_of_a_recovered_receiver_are_free_again(
    causeway: Causeway, worker: Worker, receiver: Receiver, name: str
) -> None:
    receiver.failures = [failure()] * SLOTS
    ids = [record_delivery(causeway, receiver=name) for _ in range(SLOTS)]
    for delivery_id in ids:
        receiver.meanwhile = lambda: causeway.clock.advance(LONG_SECONDS)
        worker.attempt(delivery_id)
    assert free(causeway, name) == 0
    causeway.clock.advance(RESTING_SECONDS)
    for delivery_id in ids:
        worker.attempt(delivery_id)

    assert {causeway.delivery(delivery_id).state for delivery_id in ids} == {"delivered"}
    assert free(causeway, name) == SLOTS


def test_the_delivery_slot_of_a_terminated_worker_is_free_when_the_claim_expires(
    causeway: Causeway, worker: Worker, name: str
) -> None:
    fill(causeway, worker, name)

    causeway.clock.advance(CLAIMED_SECONDS - 1)
    assert free(causeway, name) == 0
    causeway.clock.advance(1)
    assert free(causeway, name) == SLOTS
    begin_attempt(worker, record_delivery(causeway, receiver=name))


@pytest.mark.parametrize("now", [0, 1_772_000_000])
def test_the_stored_item_of_a_delivery_slot_expires_a_day_after_the_last_use(now: int) -> None:
    slot = Slot("bank#1#notices", 0)

    assert slot.take(now).set["expires_at"] == now + 86400
    assert slot.free(now + 60).set["expires_at"] == now + 60 + 86400


def test_a_superseded_attempt_does_not_free_a_delivery_slot(causeway: Causeway, worker: Worker, name: str) -> None:
    slow = begin_attempt(worker, record_delivery(causeway, receiver=name))
    causeway.clock.advance(CLAIMED_SECONDS)
    begin_attempt(worker, slow.delivery.delivery_id)
    before = free(causeway, name)
    worker.carry_out(slow)

    assert free(causeway, name) == before == SLOTS - 1


def test_an_expired_delivery_fails_without_a_free_delivery_slot(causeway: Causeway, worker: Worker, name: str) -> None:
    late = record_delivery(causeway, "relay", receiver=name)
    causeway.clock.advance(3600)
    fill(causeway, worker, name)
    worker.attempt(late)

    assert causeway.delivery(late).state == "failed"


def test_one_of_many_parallel_workers_claims_a_delivery(causeway: Causeway, worker: Worker, name: str) -> None:
    recorded = record_delivery(causeway, receiver=name)
    claims = contest([lambda: worker.begin(recorded)] * 16)

    assert len([claim for claim in claims if claim]) == 1
    assert (causeway.delivery(recorded).attempts, free(causeway, name)) == (1, SLOTS - 1)


def test_parallel_workers_never_claim_more_delivery_slots_than_exist(
    causeway: Causeway, worker: Worker, name: str
) -> None:
    workers = 16 if DYNAMODB_ENGINE else SLOTS + 2
    ids = [record_delivery(causeway, receiver=name) for _ in range(workers)]
    claims = contest([lambda each=each: worker.begin(each) for each in ids])  # type: ignore[misc]

    taken = [claim for claim in claims if claim]
    assert 1 <= len(taken) <= SLOTS
    assert len({claim.slot for claim in taken}) == len(taken) == SLOTS - free(causeway, name)
    assert all(causeway.delivery(each).state == "due" for each in ids)


def test_a_worker_waits_briefly_for_a_delivery_slot_of_a_fast_receiver(
    causeway: Causeway, worker: Worker, receiver: Receiver, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [begin_attempt(worker, record_delivery(causeway, receiver=name)) for _ in range(SLOTS)]
    waiting = record_delivery(causeway, receiver=name)
    monkeypatch.setattr(causeway.hub.store, "wait", lambda turn: worker.carry_out(held.pop()))

    worker.attempt(waiting)
    assert (causeway.delivery(waiting).state, len(held)) == ("delivered", SLOTS - 1)


def test_a_worker_does_not_wait_for_a_delivery_slot_of_a_slow_receiver(
    causeway: Causeway, worker: Worker, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(causeway, worker, name)
    waiting = record_delivery(causeway, receiver=name)
    monkeypatch.setattr(causeway.hub.store, "wait", lambda turn: pytest.fail("others want this worker"))
    causeway.clock.advance(LONG_SECONDS)

    worker.attempt(waiting)
    assert causeway.delivery(waiting).attempts == 0


def test_a_worker_does_not_wait_for_a_delivery_slot_in_its_rest_period(
    causeway: Causeway, worker: Worker, receiver: Receiver, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.failures = [failure() for _ in range(SLOTS)]
    for _ in range(SLOTS):
        receiver.meanwhile = lambda: causeway.clock.advance(LONG_SECONDS)
        worker.attempt(record_delivery(causeway, receiver=name))
    waiting = record_delivery(causeway, receiver=name)
    monkeypatch.setattr(causeway.hub.store, "wait", lambda turn: pytest.fail("others want this worker"))

    worker.attempt(waiting)
    assert causeway.delivery(waiting).attempts == 0
