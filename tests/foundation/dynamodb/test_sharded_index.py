"""Sharded indexes return each row of all shards once, in chronological order."""

import pytest

from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe, send
from chalicelib.foundation.dynamodb.sharded_index import SHARDS, ShardedIndex, rows_of_shard
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.identifiers import new_id
from tests.causeway import Causeway
from tests.volume.round_trips import RoundTrips

pytestmark = pytest.mark.dynamodb

INDEX = ShardedIndex("deliveries", "bank", "bank_shard", "created_at")
COUNT = 40


@pytest.fixture
def owner(causeway: Causeway) -> str:
    """Store ``COUNT`` rows of an owner with the times 0, 1, …, and a row of a second owner. Return the first owner."""
    name, ids = new_id(), [new_id() for _ in range(COUNT)]
    table = f"{causeway.hub.settings.prefix}-{INDEX.table}"
    items = [{"id": each, "owner": name, "time": number} for number, each in enumerate(ids)]
    items.append({"id": new_id(), "owner": new_id(), "time": 5})
    puts = [{"PutRequest": {"Item": row(item)}} for item in items]
    for start in range(0, len(puts), 25):
        send("dynamodb", "BatchWriteItem", {"RequestItems": {table: puts[start : start + 25]}})
    return name


def row(item: Item) -> Item:
    members = {"delivery_id": item["id"], "part": "record"} | INDEX.entry(item["id"], item["owner"])
    return {name: {"S": value} for name, value in members.items()} | {INDEX.time: {"N": str(item["time"])}}


def times(rows: list[Item]) -> list[int]:
    return [found[INDEX.time] for found in rows]


def test_an_identifier_maps_to_one_index_shard_and_all_shards_are_used() -> None:
    ids = [new_id() for _ in range(500)]
    shards = [INDEX.entry(each)["bank_shard"] for each in ids]

    assert shards == [INDEX.entry(each)["bank_shard"] for each in ids]
    assert set(shards) == {str(shard) for shard in range(SHARDS)}
    assert max(shards.count(shard) for shard in set(shards)) < 2.5 * len(ids) / SHARDS


def test_index_shards_are_separate_for_each_owner() -> None:
    one, other = (INDEX.entry("an-id", owner)["bank_shard"] for owner in ("one", "other"))

    assert (one.partition("#")[0], other.partition("#")[0]) == ("one", "other")
    assert one.partition("#")[2] == other.partition("#")[2] == INDEX.entry("an-id")["bank_shard"]


def test_index_rows_of_all_shards_are_returned_in_order_of_time(causeway: Causeway, owner: str) -> None:
    rows = INDEX.rows(causeway.hub.store, owner=owner, until=COUNT)

    assert times(rows) == list(range(COUNT))
    assert len({found["delivery_id"] for found in rows}) == COUNT


def test_stored_rows_are_found_in_each_of_the_eight_shards(causeway: Causeway) -> None:
    """Stored items contain shard numbers. With fewer shards than stored numbers, some items would not be found."""
    owner, table = new_id(), f"{causeway.hub.settings.prefix}-{INDEX.table}"
    for shard in range(8):
        stored = row({"id": new_id(), "owner": owner, "time": shard}) | {INDEX.partition: {"S": f"{owner}#{shard}"}}
        send("dynamodb", "PutItem", {"TableName": table, "Item": stored})

    assert times(INDEX.rows(causeway.hub.store, owner=owner, until=COUNT)) == list(range(8))


def test_the_time_range_of_an_index_query_includes_the_first_and_the_last_time(causeway: Causeway, owner: str) -> None:
    assert times(INDEX.rows(causeway.hub.store, owner=owner, since=3, until=7)) == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("limit", [1, 7, COUNT, COUNT + 5])
def test_an_index_query_with_a_limit_returns_the_oldest_rows_or_on_request_the_newest_rows(
    causeway: Causeway, owner: str, limit: int
) -> None:
    oldest = INDEX.rows(causeway.hub.store, owner=owner, until=COUNT, limit=limit)
    newest = INDEX.rows(causeway.hub.store, owner=owner, until=COUNT, limit=limit, newest_first=True)

    assert times(oldest) == list(range(COUNT))[:limit]
    assert times(newest) == list(reversed(range(COUNT)))[:limit]


def test_all_pages_of_an_index_shard_are_read(causeway: Causeway, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = causeway.hub.store.query
    monkeypatch.setattr(causeway.hub.store, "query", lambda *given, **options: real(*given, **options | {"limit": 2}))

    assert times(INDEX.rows(causeway.hub.store, owner=owner, until=COUNT)) == list(range(COUNT))
    assert times(INDEX.rows(causeway.hub.store, owner=owner, until=COUNT, limit=9)) == list(range(9))


def test_an_index_query_with_a_limit_reads_few_additional_rows(causeway: Causeway, owner: str) -> None:
    read: list[int] = []

    def count_rows(call: Call, proceed: Proceed) -> Members:
        answer = proceed(call)
        read.append(len(answer["Items"]))
        return answer

    with observe(count_rows):
        INDEX.rows(causeway.hub.store, owner=owner, until=COUNT, limit=8)

    assert rows_of_shard(8, SHARDS) == 5
    assert len(read) >= SHARDS
    assert max(read) <= 5


def test_index_rows_are_found_if_all_rows_are_in_one_shard(causeway: Causeway) -> None:
    name, store = new_id(), causeway.hub.store
    for time in range(30):
        store.put(
            INDEX.table, {"delivery_id": new_id(), "part": "record", "bank_shard": f"{name}#3", "created_at": time}
        )

    assert times(INDEX.rows(store, owner=name, until=COUNT, limit=12)) == list(range(12))
    newest = INDEX.rows(store, owner=name, until=COUNT, limit=12, newest_first=True)
    assert times(newest) == list(range(29, 17, -1))


def test_all_index_shards_are_read_in_one_round_trip(causeway: Causeway, owner: str) -> None:
    with RoundTrips().counted() as trips:
        INDEX.rows(causeway.hub.store, owner=owner, until=COUNT)

    assert (trips.made, trips.calls) == (1, SHARDS)


def test_the_next_time_function_returns_the_earliest_time_of_all_index_shards(causeway: Causeway) -> None:
    index, store = ShardedIndex("deliveries", "due", "due_shard", "due_at"), causeway.hub.store
    for due_at in (70, 50, 60):
        delivery_id = new_id()
        store.put(
            "deliveries", {"delivery_id": delivery_id, "part": "record", "due_at": due_at, **index.entry(delivery_id)}
        )

    assert index.next_time(store, 100) == 50
    assert index.next_time(store, 50) == 50
    assert index.next_time(store, 49) is None
