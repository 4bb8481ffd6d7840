"""Tests of the sweeper, which queues due deliveries that have no queue message."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import boto3
import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery import outbox, sweeper
from chalicelib.delivery.delivery_plan import MINUTE, SWEEP_WAITS
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS, DUE, record_key
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.sweeper import BACKLOG
from chalicelib.delivery.worker import Worker
from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe, send
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.dynamodb.sharded_index import SHARDS
from chalicelib.foundation.dynamodb.store import Item, Store, StoreUnavailable
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.parallel import WIDTH
from tests.causeway import Causeway
from tests.conftest import DYNAMODB_ENGINE
from tests.delivery.conftest import (
    Receiver,
    begin_attempt,
    failure,
    record_delivery,
    recording_send_all,
    unrecorded_delivery,
)
from tests.kit.logs import metric_values
from tests.volume.records import BATCH, records
from tests.volume.round_trips import RoundTrips

pytestmark = pytest.mark.dynamodb


@pytest.fixture
def sweep(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    batches: list[Sequence[str]] = []
    monkeypatch.setattr(Queue, "send_all", recording_send_all(batches))
    monkeypatch.setattr(Queue, "send", lambda queue, body, delay=0: None)

    def swept() -> list[str]:
        batches.clear()
        queued = causeway.hub.delivery.call(sweeper.sweep)
        ids = [each for batch in batches for each in batch]
        assert queued == len(ids) == len(set(ids))
        return ids

    return swept


FIRST = SWEEP_WAITS[0]


def test_an_unqueued_event_is_queued_two_minutes_after_its_due_time(
    causeway: Causeway, sweep: Callable[[], list[str]], recorded: str
) -> None:
    causeway.clock.advance(FIRST - 1)
    assert recorded not in sweep()
    causeway.clock.advance(1)
    assert recorded in sweep()


def sweeps_by_minute(causeway: Causeway, sweep: Callable[[], list[str]], delivery_id: str, minutes: int) -> list[int]:
    queued = []
    for minute in range(minutes):
        if delivery_id in sweep():
            queued.append(minute)
        causeway.clock.advance(MINUTE)
    return queued


def test_a_delivery_with_a_waiting_message_is_queued_again_after_2_4_8_and_then_15_minutes(
    causeway: Causeway, sweep: Callable[[], list[str]], recorded: str
) -> None:
    assert sweeps_by_minute(causeway, sweep, recorded, 60) == [2, 6, 14, 29, 44, 59]


@pytest.mark.parametrize("kind", ["relay", "payment"])
def test_a_relayed_call_or_payment_is_queued_every_minute_for_5_minutes_and_then_less_often(
    kind: str, causeway: Causeway, sweep: Callable[[], list[str]]
) -> None:
    delivery_id = record_delivery(causeway, kind)

    assert sweeps_by_minute(causeway, sweep, delivery_id, 30) == [0, 1, 2, 3, 4, 8, 16]


def test_two_simultaneous_sweeps_queue_a_delivery_once(
    causeway: Causeway, sweep: Callable[[], list[str]], recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    causeway.clock.advance(FIRST)
    real, other = type(causeway.hub.store).transact, []

    def after_the_other(store: Any, operations: Any) -> None:
        monkeypatch.setattr(type(causeway.hub.store), "transact", real)
        other.extend(sweep())
        real(store, operations)

    monkeypatch.setattr(type(causeway.hub.store), "transact", after_the_other)
    assert causeway.hub.delivery.call(sweeper.sweep) == 0
    assert recorded in other


def test_a_sweep_skips_a_delivery_that_a_worker_claims_concurrently(
    causeway: Causeway, worker: Worker, sweep: Callable[[], list[str]], recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = record_delivery(causeway)
    causeway.clock.advance(FIRST)
    real = type(causeway.hub.store).transact

    def after_the_worker(store: Any, operations: Any) -> None:
        monkeypatch.setattr(type(causeway.hub.store), "transact", real)
        begin_attempt(worker, recorded)
        real(store, operations)

    monkeypatch.setattr(type(causeway.hub.store), "transact", after_the_worker)
    queued = sweep()
    assert other in queued
    assert recorded not in queued
    assert causeway.delivery(recorded).swept_at is None


def test_a_sweep_queues_a_delivery_recorded_by_an_earlier_release(
    causeway: Causeway, sweep: Callable[[], list[str]], recorded: str
) -> None:
    item = causeway.hub.store.get(*record_key(recorded))
    assert item is not None
    assert "swept_at" not in item
    causeway.clock.advance(FIRST)

    assert recorded in sweep()


def test_a_delivery_is_delivered_after_a_crash_between_commit_and_queue(
    causeway: Causeway, worker: Worker, receiver: Receiver
) -> None:
    made = unrecorded_delivery(causeway, body="a body")
    causeway.hub.store.transact(made.operations)  # and here the process dies
    causeway.clock.advance(FIRST)
    causeway.hub.delivery.call(sweeper.sweep)
    for delivery_id in causeway.queued():
        worker.attempt(delivery_id)

    assert made.delivery_ids[0] in [dispatch.delivery.delivery_id for dispatch in receiver.got]


def test_a_delivery_of_a_terminated_worker_is_queued_two_minutes_after_its_claim_expires(
    causeway: Causeway, worker: Worker, sweep: Callable[[], list[str]], recorded: str
) -> None:
    begin_attempt(worker, recorded)

    causeway.clock.advance(CLAIMED_SECONDS + FIRST - 1)
    assert recorded not in sweep()
    causeway.clock.advance(1)
    assert recorded in sweep()


@pytest.mark.usefixtures("exact")
def test_the_sweeper_queues_each_retry_two_minutes_after_its_due_time(
    causeway: Causeway, worker: Worker, receiver: Receiver, sweep: Callable[[], list[str]], recorded: str
) -> None:
    receiver.failures = [failure()] * 3
    for delay in (5, 5 * MINUTE, 30 * MINUTE):
        worker.attempt(recorded)
        causeway.clock.advance(delay + FIRST - 1)
        assert recorded not in sweep()
        causeway.clock.advance(1)
        assert recorded in sweep()
    worker.attempt(recorded)
    causeway.clock.advance(FIRST)
    assert recorded not in sweep()


def test_a_sweep_after_a_clock_advance_queues_each_due_delivery_immediately_and_once(
    causeway: Causeway, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[Sequence[str]] = []
    monkeypatch.setattr(Queue, "send_all", recording_send_all(batches))
    for _ in range(2):
        causeway.hub.delivery.call(sweeper.sweep, 0)

    assert [each for batch in batches for each in batch].count(recorded) == 1


def test_a_sweep_queues_the_oldest_due_deliveries_first(causeway: Causeway, sweep: Callable[[], list[str]]) -> None:
    ids = []
    for _ in range(12):
        ids.append(record_delivery(causeway))
        causeway.clock.advance(1)
    causeway.clock.advance(FIRST)

    assert [each for each in sweep() if each in ids] == ids


def test_a_sweep_queues_payments_before_events(
    causeway: Causeway, sweep: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep()
    for _ in range(3):
        record_delivery(causeway)
    causeway.clock.advance(FIRST)
    payment = record_delivery(causeway, "payment")
    monkeypatch.setattr(Queue, "count_messages", lambda queue: BACKLOG - 1)

    assert sweep() == [payment]


def test_a_sweep_queues_a_payment_despite_a_large_number_of_older_events(
    causeway: Causeway, sweep: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep()
    for _ in range(5):
        record_delivery(causeway)
    causeway.clock.advance(10 * MINUTE)
    payment = record_delivery(causeway, "payment")
    monkeypatch.setattr("chalicelib.delivery.sweeper.BACKLOG", 3)
    monkeypatch.setattr(Queue, "count_messages", lambda queue: 2)

    assert sweep() == [payment]


def test_a_sweep_does_not_read_the_history_of_deliveries(
    causeway: Causeway, sweep: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    record_delivery(causeway)
    causeway.clock.advance(FIRST)
    real = Store.batch_get
    read: list[Item | None] = []

    def batch_get(store: Store, *arguments: Any) -> list[Item | None]:
        found = real(store, *arguments)
        read.extend(found)
        return found

    monkeypatch.setattr(Store, "batch_get", batch_get)

    assert len(sweep()) >= 1
    assert all(item is not None and "history" not in item for item in read)


def test_a_sweep_finds_an_unqueued_delivery_that_is_newer_than_queued_deliveries(
    causeway: Causeway, sweep: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    causeway.clock.advance(FIRST)
    sweep()
    earlier = [record_delivery(causeway) for _ in range(5)]
    causeway.clock.advance(FIRST)
    assert set(earlier) <= set(sweep())
    lost = record_delivery(causeway)
    causeway.clock.advance(FIRST)
    monkeypatch.setattr(Queue, "count_messages", lambda queue: BACKLOG - 1)

    assert sweep() == [lost]


def test_a_sweep_adds_no_delivery_to_a_full_queue(
    causeway: Causeway, sweep: Callable[[], list[str]], recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    causeway.clock.advance(FIRST)
    monkeypatch.setattr(Queue, "count_messages", lambda queue: BACKLOG)

    assert sweep() == []


def test_a_sweep_with_a_full_queue_records_the_age_of_the_oldest_due_delivery(
    causeway: Causeway, recorded: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Queue, "count_messages", lambda queue: BACKLOG)
    causeway.clock.advance(MINUTE)

    assert causeway.hub.delivery.call(sweeper.sweep) == 0
    assert metric_values(capsys.readouterr().out, "OldestDueSeconds", Stage="local") == [MINUTE]


def test_a_sweep_adds_the_oldest_deliveries_to_an_almost_full_queue(
    causeway: Causeway, sweep: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    causeway.clock.advance(FIRST)
    sweep()
    ids = []
    for _ in range(6):
        ids.append(record_delivery(causeway))
        causeway.clock.advance(1)
    causeway.clock.advance(FIRST)
    monkeypatch.setattr(Queue, "count_messages", lambda queue: BACKLOG - 4)

    assert sweep() == ids[:4]


@pytest.mark.parametrize("kind", ["event", "payment"])
def test_the_next_sweep_queues_the_deliveries_rejected_by_the_queue(
    kind: str, causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery_id = record_delivery(causeway, kind)
    causeway.clock.advance(FIRST)
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "send_all", lambda queue, bodies: list(bodies))
        assert causeway.hub.delivery.call(sweeper.sweep) == 0
    causeway.hub.delivery.call(sweeper.sweep)

    assert delivery_id in causeway.queued()


@pytest.mark.parametrize("call", ["query", "batch_get", "transact"])
def test_the_next_sweep_queues_the_deliveries_of_a_sweep_with_a_storage_failure(
    call: str, causeway: Causeway, sweep: Callable[[], list[str]], recorded: str
) -> None:
    causeway.clock.advance(FIRST)
    with causeway.storage_gone(call), pytest.raises(StoreUnavailable):
        sweep()

    assert recorded in sweep()


@pytest.fixture
def taken() -> list[str]:
    return []


@pytest.fixture
def other_sweep(causeway: Causeway, taken: list[str]) -> Iterator[Callable[[], int]]:
    """Create a second sweeper with a separate queue.

    The queue records messages instead of sending them to the slow emulator.
    """
    name = f"test-{new_id()}"
    boto3.client("sqs").create_queue(QueueName=name)
    hub, queue = causeway.hub, Queue(name)

    def take(call: Call, proceed: Proceed) -> Members:
        if call.operation != "SendMessageBatch":
            return proceed(call)
        taken.extend(entry["MessageBody"] for entry in call.body["Entries"])
        return {}

    assert queue.url  # found before what is measured
    with observe(take):
        yield partial(
            hub.delivery.call, sweeper.sweep, queue=queue, outbox=Outbox(hub.delivery.bodies, queue, hub.clock, PLANS)
        )


@pytest.fixture
def many(causeway: Causeway) -> Iterator[int]:
    """Create ten thousand due deliveries, or four hundred if the tests use the slow emulator."""
    count = 10_000 if DYNAMODB_ENGINE else 400
    items = list(records(causeway.hub.delivery.outbox, count, count, causeway.clock.time()))
    batches = [items[start : start + BATCH] for start in range(0, count, BATCH)]
    write(causeway, [[{"PutRequest": {"Item": item}} for item in batch] for batch in batches])
    yield count
    write(causeway, [[{"DeleteRequest": {"Key": key_of(item)}} for item in batch] for batch in batches])


def key_of(item: Item) -> Item:
    return {"delivery_id": item["delivery_id"], "part": item["part"]}


def write(causeway: Causeway, batches: Sequence[Sequence[Item]]) -> None:
    table = f"{causeway.hub.settings.prefix}-deliveries"
    for batch in batches:
        send("dynamodb", "BatchWriteItem", {"RequestItems": {table: batch}})


def test_many_due_deliveries_are_queued_in_fewer_than_60_round_trips(
    causeway: Causeway, other_sweep: Callable[[], int], taken: list[str], many: int
) -> None:
    causeway.clock.advance(FIRST)
    with RoundTrips().counted() as trips:
        queued = other_sweep()

    assert queued == len(taken) == len(set(taken))
    assert {f"volume-{number:015}" for number in range(many)} <= set(taken)
    assert trips.made < (60 if DYNAMODB_ENGINE else 7)
    assert trips.calls > many // Queue.BATCH


def test_a_sweep_reads_queued_deliveries_in_batches_of_100_and_writes_nothing(
    causeway: Causeway, other_sweep: Callable[[], int], taken: list[str], many: int
) -> None:
    causeway.clock.advance(FIRST)
    other_sweep()
    taken.clear()
    causeway.clock.advance(MINUTE)
    with RoundTrips().counted() as trips:
        assert other_sweep() == 0

    assert taken == []
    assert trips.calls <= 1 + SHARDS + -(-many // 100)
    assert trips.made <= (6 if DYNAMODB_ENGINE else 3)


def test_a_set_of_parallel_calls_is_counted_as_one_round_trip(causeway: Causeway) -> None:
    waves: Any = outbox
    queue = causeway.hub.delivery.queue
    queue.count_messages()
    with RoundTrips().counted() as trips:
        queue.count_messages()
        DUE.rows(causeway.hub.store, until=0)
    assert (trips.made, trips.calls) == (2, 1 + SHARDS)

    with RoundTrips().counted() as trips:
        waves.together([queue.count_messages] * (WIDTH + 1))
    assert (trips.made, trips.calls) == (2, WIDTH + 1)
