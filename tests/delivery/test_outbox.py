"""The outbox: a record is never lost, and never in two hands."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from chalicelib.delivery.outbox import CLAIMED_SECONDS, KEPT, SHARDS, Delivery, Outbox
from chalicelib.foundation.store import ConditionFailed, Item
from tests.delivery.conftest import record
from tests.world import World

pytestmark = pytest.mark.dynamodb


def stored(world: World, delivery_id: str) -> Item:
    item = world.hub.store.get("deliveries", {"delivery_id": delivery_id})
    assert item is not None
    return item


def test_a_recorded_delivery_is_due_at_once(world: World, recorded: str) -> None:
    item, now = stored(world, recorded), world.clock.time()

    assert (item["state"], item["attempts"], item["due_at"], item["created_at"]) == ("due", 0, now, now)
    assert item["expires_at"] == now + KEPT
    assert 0 <= int(item["due_shard"]) < SHARDS


def test_a_delivery_is_recorded_with_its_cause_or_not_at_all(world: World, outbox: Outbox, recorded: str) -> None:
    taken = world.hub.store.get("deliveries", {"delivery_id": recorded})
    assert taken is not None
    put = outbox.record("revoke_token", "ALPHGB21", "a-consent")

    with pytest.raises(ConditionFailed):
        world.hub.store.transact([put, type(put)(put.table, {**taken, "state": "other"}, put.condition)])
    assert world.hub.store.get("deliveries", {"delivery_id": put.item["delivery_id"]}) is None


def test_the_message_carries_the_id_and_nothing_else(world: World, outbox: Outbox, recorded: str) -> None:
    outbox.dispatch(recorded)

    assert world.queued() == [recorded]


@pytest.mark.parametrize(
    "failure",
    [
        ClientError({"Error": {"Code": "AWS.SimpleQueueService.NonExistentQueue"}}, "SendMessage"),
        EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
    ],
)
def test_a_queue_that_fails_loses_nothing(
    world: World, outbox: Outbox, recorded: str, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*arguments: Any, **options: Any) -> None:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr("chalicelib.foundation.aws.Queue.send", send)
        outbox.dispatch(recorded)

    assert world.queued() == []
    assert recorded in outbox.due()


def test_a_claim_counts_the_attempt_and_keeps_others_out(world: World, outbox: Outbox, recorded: str) -> None:
    claimed = outbox.claim(recorded)

    assert claimed is not None
    assert (claimed.delivery_id, claimed.attempts, claimed.consent_id) == (recorded, 1, "a-consent")
    assert outbox.claim(recorded) is None
    assert recorded not in outbox.due()


def test_of_many_workers_one_gets_the_claim(world: World, outbox: Outbox, recorded: str) -> None:
    together, claims = threading.Barrier(8), []
    emulated = "amazonaws" in world.hub.store._client.meta.endpoint_url
    turn = threading.Lock() if emulated else contextlib.nullcontext()  # the emulator is not made for threads

    def claim() -> None:
        together.wait()
        with turn:
            claims.append(outbox.claim(recorded))

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len([claimed for claimed in claims if claimed]) == 1


def test_an_abandoned_attempt_is_due_again(world: World, outbox: Outbox, recorded: str) -> None:
    outbox.claim(recorded)

    world.clock.advance(CLAIMED_SECONDS - 1)
    assert outbox.claim(recorded) is None
    world.clock.advance(1)
    assert recorded in outbox.due()
    again = outbox.claim(recorded)
    assert again is not None
    assert again.attempts == 2


def test_every_attempt_shows_the_receiver_the_same_request_id(world: World, outbox: Outbox, recorded: str) -> None:
    first = outbox.claim(recorded)
    world.clock.advance(CLAIMED_SECONDS)
    second = outbox.claim(recorded)

    assert first is not None
    assert second is not None
    assert first.request_id == second.request_id


def test_what_was_never_recorded_cannot_be_claimed(world: World, outbox: Outbox) -> None:
    assert outbox.claim("no-such-delivery") is None
    assert world.hub.store.get("deliveries", {"delivery_id": "no-such-delivery"}) is None


@pytest.mark.parametrize("outcome", ["delivered", "failed"])
def test_a_finished_delivery_is_never_due_again(world: World, outbox: Outbox, recorded: str, outcome: str) -> None:
    claimed = claim(outbox, recorded)
    if outcome == "delivered":
        outbox.delivered(claimed)
    else:
        outbox.failed(claimed, "the bank answered with status 404")
    world.clock.advance(KEPT - 1)

    assert outbox.claim(recorded) is None
    assert recorded not in outbox.due()
    item = stored(world, recorded)
    assert item["state"] == outcome
    assert "due_at" not in item
    assert "due_shard" not in item


def test_a_retry_is_due_after_its_delay_and_remembers_why(world: World, outbox: Outbox, recorded: str) -> None:
    outbox.retry(claim(outbox, recorded), 300, "no answer came in time")

    world.clock.advance(299)
    assert outbox.claim(recorded) is None
    world.clock.advance(1)
    again = claim(outbox, recorded)
    assert (again.attempts, again.last_error) == (2, "no answer came in time")


@pytest.mark.parametrize("outcome", ["delivered", "failed", "retry"])
def test_the_outcome_of_an_overtaken_attempt_is_not_written(
    world: World, outbox: Outbox, recorded: str, outcome: str
) -> None:
    slow = claim(outbox, recorded)
    world.clock.advance(CLAIMED_SECONDS)
    claim(outbox, recorded)
    before = stored(world, recorded)

    if outcome == "delivered":
        outbox.delivered(slow)
    elif outcome == "failed":
        outbox.failed(slow, "too late")
    else:
        outbox.retry(slow, 5, "too late")
    assert stored(world, recorded) == before


def test_due_deliveries_are_found_on_every_shard_and_page_by_page(world: World, outbox: Outbox) -> None:
    recorded = {record(world, outbox) for _ in range(40)}
    later = record(world, outbox)
    outbox.retry(claim(outbox, later), 60, "not yet")

    found = list(outbox.due())
    assert recorded <= set(found)
    assert later not in found
    assert len(found) == len(set(found))
    assert len({stored(world, delivery_id)["due_shard"] for delivery_id in recorded}) > 1


def claim(outbox: Outbox, delivery_id: str) -> Delivery:
    claimed = outbox.claim(delivery_id)
    assert claimed is not None
    return claimed
