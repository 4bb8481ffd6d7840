"""Tests of stored bodies: encryption, division into parts that fit into items, and reads that require every part."""

import pytest

from chalicelib.delivery.delivery_record import BODY, Delivery, part_key, record_key
from chalicelib.delivery.sealed_bodies import PART_BYTES
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.store import Item
from tests.causeway import Causeway
from tests.delivery.conftest import record_delivery, unrecorded_delivery
from tests.kit.storage import record_calls
from tests.volume.round_trips import RoundTrips

pytestmark = pytest.mark.dynamodb

LARGEST_ITEM = 400 * 1024


def parts(causeway: Causeway, delivery_id: str, count: int) -> list[Item | None]:
    return causeway.hub.store.batch_get([part_key(delivery_id, BODY, number) for number in range(count)])


def opened(causeway: Causeway, delivery_id: str) -> str:
    return causeway.hub.delivery.bodies.open(delivery_id, BODY, causeway.delivery(delivery_id).body_parts)


def test_a_body_is_stored_encrypted(causeway: Causeway) -> None:
    recorded = record_delivery(causeway, body="a body with hunter2 in it")

    (part,) = parts(causeway, recorded, 1)
    assert part is not None
    assert b"hunter2" not in part["sealed"]
    assert opened(causeway, recorded) == "a body with hunter2 in it"


def test_a_body_copied_to_another_delivery_cannot_be_decrypted(causeway: Causeway) -> None:
    first, second = record_delivery(causeway, body="the first"), record_delivery(causeway, body="the second")
    (part,) = parts(causeway, first, 1)
    assert part is not None
    causeway.hub.store.put("deliveries", {**part, "delivery_id": second})

    with pytest.raises(Unsealable):
        opened(causeway, second)


@pytest.mark.parametrize(
    ("text", "count"), [("", 1), ("a" * (PART_BYTES - 100), 1), ("a" * PART_BYTES, 2), ("ä" * PART_BYTES, 3)]
)
def test_a_body_is_split_so_that_every_part_fits_into_an_item(causeway: Causeway, text: str, count: int) -> None:
    recorded = record_delivery(causeway, body=text)

    assert causeway.delivery(recorded).body_parts == count
    assert all(part is not None and len(part["sealed"]) <= PART_BYTES for part in parts(causeway, recorded, count))
    assert parts(causeway, recorded, count + 1)[-1] is None
    assert PART_BYTES < LARGEST_ITEM - 1024
    assert opened(causeway, recorded) == text


def test_a_body_of_five_megabytes_is_read_unchanged(causeway: Causeway) -> None:
    text = "".join(f"{number:07}\n" for number in range(655_360))
    recorded = record_delivery(causeway, body=text)

    assert len(text) == 5 * 1024 * 1024
    assert opened(causeway, recorded) == text


def test_body_parts_without_a_record_expire_and_are_not_listed_as_a_delivery(causeway: Causeway) -> None:
    made = unrecorded_delivery(causeway, body="a" * 2 * PART_BYTES)
    (delivery_id,) = made.delivery_ids

    first, *ahead = parts(causeway, delivery_id, 3)
    assert first is None
    assert all(part is not None and part["expires_at"] > causeway.clock.time() for part in ahead)
    assert causeway.hub.store.get(*record_key(delivery_id)) is None
    causeway.hub.store.transact(made.operations)
    assert opened(causeway, delivery_id) == "a" * 2 * PART_BYTES


def test_body_parts_expire_at_the_same_time_as_the_delivery_record(causeway: Causeway) -> None:
    recorded = record_delivery(causeway, body="a" * PART_BYTES)

    expiries = {part["expires_at"] for part in parts(causeway, recorded, 2) if part}
    assert expiries == {causeway.delivery(recorded).expires_at}


@pytest.mark.parametrize("number", [0, 1])
def test_a_body_with_a_missing_part_raises_unsealable(causeway: Causeway, number: int) -> None:
    recorded = record_delivery(causeway, body="a" * PART_BYTES)
    causeway.hub.store.delete(*part_key(recorded, BODY, number))

    with pytest.raises(Unsealable):
        opened(causeway, recorded)


def test_a_body_part_that_was_read_with_the_record_is_not_read_again(causeway: Causeway) -> None:
    recorded = record_delivery(causeway, body="short")
    item, first = causeway.hub.store.batch_get([record_key(recorded), part_key(recorded, BODY)])
    assert item is not None

    with RoundTrips().counted() as trips:
        assert causeway.hub.delivery.bodies.open(recorded, BODY, Delivery.from_item(item).body_parts, first) == "short"
    assert trips.made == 0


def test_all_bodies_of_several_deliveries_are_read_in_one_call(causeway: Causeway) -> None:
    recorded = record_delivery(causeway, body="the body")
    bodies = causeway.hub.delivery.bodies
    for put in bodies.seal(recorded, "answer-1", "b" * (PART_BYTES + 1), 0):
        causeway.hub.store.put(put.table, put.item)
    (moved,) = bodies.seal(recorded, "answer-2", "moved", 0)
    causeway.hub.store.put(moved.table, {**moved.item, "part": "answer-3#000"})
    counts = {BODY: 1, "answer-1": 2, "answer-3": 1, "answer-4": 1}
    with record_calls(causeway) as calls:
        texts = bodies.open_stored(recorded, counts)

    assert texts == {BODY: "the body", "answer-1": "b" * (PART_BYTES + 1)}
    assert bodies.open_stored(recorded, {}) == {}
    assert calls == ["BatchGetItem"]
