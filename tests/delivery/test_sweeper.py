"""The sweeper: queues what is due and in no queue, in few round trips, and nothing that waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from chalicelib.delivery import outbox
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS, DUE
from chalicelib.delivery.journal import BACKLOG, Sweeper
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.schedule import MINUTE
from chalicelib.delivery.worker import Worker
from chalicelib.foundation.aws import Queue
from chalicelib.foundation.dynamodb.sharded_index import SHARDS
from chalicelib.foundation.dynamodb.store import Item, StoreUnavailable
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.parallel import WIDTH
from tests.conftest import DYNAMODB_ENGINE
from tests.delivery.deliveries import Receiver, begun, fail, intended, noting, record
from tests.figures import counted
from tests.volume.loading import BATCH
from tests.volume.records import records
from tests.volume.round_trips import RoundTrips
from tests.world import World

pytestmark = pytest.mark.dynamodb


@pytest.fixture
def sweep(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Sweeps; answers the ids that were queued, in their order."""
    batches: list[Sequence[str]] = []
    monkeypatch.setattr(Queue, "send_all", noting(batches))
    monkeypatch.setattr(Queue, "send", lambda queue, body, delay=0: None)

    def swept() -> list[str]:
        batches.clear()
        queued = world.hub.delivery.sweeper.sweep()
        ids = [each for batch in batches for each in batch]
        assert queued == len(ids) == len(set(ids))
        return ids

    return swept


def test_what_was_never_queued_is_queued(sweep: Callable[[], list[str]], recorded: str) -> None:
    assert recorded in sweep()


def test_what_a_crash_left_between_commit_and_queue_arrives(world: World, worker: Worker, receiver: Receiver) -> None:
    made = intended(world, body="a body")
    world.hub.store.transact(made.operations)  # and here the process dies
    world.clock.advance(MINUTE)
    world.hub.delivery.sweeper.sweep()
    for delivery_id in world.queued():
        worker.attempt(delivery_id)

    assert made.delivery_ids[0] in [dispatch.delivery.delivery_id for dispatch in receiver.got]


def test_what_a_worker_left_when_it_died_is_queued_when_its_claim_has_run_out(
    world: World, worker: Worker, sweep: Callable[[], list[str]], recorded: str
) -> None:
    begun(worker, recorded)

    world.clock.advance(CLAIMED_SECONDS - 1)
    assert recorded not in sweep()
    world.clock.advance(1)
    assert recorded in sweep()


@pytest.mark.usefixtures("exact")
def test_what_waits_for_its_time_is_queued_then_and_not_before(
    world: World, worker: Worker, receiver: Receiver, sweep: Callable[[], list[str]], recorded: str
) -> None:
    receiver.failures = [fail()] * 3
    for delay in (5, 5 * MINUTE, 30 * MINUTE):
        worker.attempt(recorded)
        world.clock.advance(delay - 1)
        assert recorded not in sweep()
        world.clock.advance(1)
        assert recorded in sweep()
    worker.attempt(recorded)
    assert recorded not in sweep()


def test_those_come_first_that_have_waited_longest(world: World, sweep: Callable[[], list[str]]) -> None:
    ids = []
    for _ in range(12):
        ids.append(record(world))
        world.clock.advance(1)

    assert [each for each in sweep() if each in ids] == ids


def test_a_queue_that_is_full_gets_no_more(
    world: World, sweep: Callable[[], list[str]], recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queue, "count_messages", lambda queue: BACKLOG)

    assert sweep() == []


def test_how_long_the_first_has_waited_is_measured_though_the_queue_be_full(
    world: World, recorded: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Queue, "count_messages", lambda queue: BACKLOG)
    world.clock.advance(MINUTE)

    assert world.hub.delivery.sweeper.sweep() == 0
    assert counted(capsys.readouterr().out, "OldestDueSeconds", Stage="local") == [MINUTE]


def test_a_queue_that_is_almost_full_gets_the_oldest(
    world: World, sweep: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):
        record(world)
        world.clock.advance(1)
    everything = sweep()
    monkeypatch.setattr(Queue, "count_messages", lambda queue: BACKLOG - 4)

    assert sweep() == everything[:4]


def test_what_the_queue_refuses_is_queued_by_the_next_sweep(
    world: World, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "send_all", lambda queue, bodies: list(bodies))
        assert world.hub.delivery.sweeper.sweep() == 0
    world.hub.delivery.sweeper.sweep()

    assert recorded in world.queued()


def test_a_sweep_that_the_storage_fails_is_made_up_for_by_the_next(
    world: World, sweep: Callable[[], list[str]], recorded: str
) -> None:
    with world.storage_gone("query"), pytest.raises(StoreUnavailable):
        sweep()

    assert recorded in sweep()


@pytest.fixture
def taken() -> list[str]:
    """What the sweeper's own queue has taken."""
    return []


@pytest.fixture
def sweeper(world: World, taken: list[str]) -> Sweeper:
    """A sweeper with a queue of its own, whose client takes messages without sending them: the emulator is slow."""
    name = f"test-{new_id()}"
    boto3.client("sqs").create_queue(QueueName=name)
    hub, queue = world.hub, Queue(name)

    def take(params: dict[str, Any], **_: object) -> tuple[SimpleNamespace, dict[str, Any]]:
        taken.extend(entry["MessageBody"] for entry in json.loads(params["body"])["Entries"])
        return SimpleNamespace(status_code=200), {}

    assert queue._url  # found before what is measured
    queue._client.meta.events.register("before-call.sqs.SendMessageBatch", take)
    return Sweeper(hub.store, hub.clock, queue, Outbox(hub.delivery.bodies, queue, hub.clock), hub.metrics)


@pytest.fixture
def many(world: World) -> Iterator[int]:
    """So many due deliveries: ten thousand; on the emulator, which is slow, four hundred."""
    count = 10_000 if DYNAMODB_ENGINE else 400
    items = list(records(world.hub.delivery.outbox, count, count, world.clock.time()))
    batches = [items[start : start + BATCH] for start in range(0, count, BATCH)]
    write(world, [[{"PutRequest": {"Item": item}} for item in batch] for batch in batches])
    yield count
    write(world, [[{"DeleteRequest": {"Key": key_of(item)}} for item in batch] for batch in batches])


def key_of(item: Item) -> Item:
    return {"delivery_id": item["delivery_id"], "part": item["part"]}


def write(world: World, batches: Sequence[Sequence[Item]]) -> None:
    client, table = world.hub.store._client, f"{world.hub.settings.prefix}-deliveries"
    for batch in batches:
        client.batch_write_item(RequestItems={table: batch})


def test_many_due_deliveries_are_queued_in_fewer_than_60_round_trips(
    sweeper: Sweeper, taken: list[str], many: int
) -> None:
    with RoundTrips().counted() as trips:
        queued = sweeper.sweep()

    assert queued == len(taken) == len(set(taken))
    assert {f"volume-{number:015}" for number in range(many)} <= set(taken)
    assert trips.made < (60 if DYNAMODB_ENGINE else 5)
    assert trips.calls > many // Queue.BATCH


def test_calls_made_together_are_as_many_round_trips_as_waves(sweeper: Sweeper) -> None:
    waves: Any = outbox
    sweeper.queue.count_messages()
    with RoundTrips().counted() as trips:
        sweeper.queue.count_messages()
        DUE.rows(sweeper.store, until=0)
    assert (trips.made, trips.calls) == (2, 1 + SHARDS)

    with RoundTrips().counted() as trips:
        waves.together([sweeper.queue.count_messages] * (WIDTH + 1))
    assert (trips.made, trips.calls) == (2, WIDTH + 1)
