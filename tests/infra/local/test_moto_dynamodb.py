"""Moto's patched tables through boto3: the cost of a call does not depend on the table size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import Item

from infra.local import moto_patches
from tests.kit import emulator

TABLE = "moto-form"
HASH, RANGE = ("owner", "HASH"), ("part", "RANGE")
TYPES = {"owner": "S", "part": "S", "shard": "S", "at": "N"}


@dataclass
class Touched:
    """The items that were read, and the number of items that were copied, since the last ``clear``."""

    visited: dict[int, Any] = field(default_factory=dict)
    copied: int = 0

    def clear(self) -> None:
        self.visited.clear()
        self.copied = 0

    @property
    def counts(self) -> tuple[int, int]:
        return len(self.visited), self.copied


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> Touched:
    moto_patches.patch_moto()
    found, real_copy = Touched(), Item.__deepcopy__

    def watched(name: str) -> property:
        def read(item: Item) -> Any:
            found.visited[id(item)] = item
            return vars(item)[name]

        return property(read, lambda item, value: vars(item).update({name: value}))

    def copied(item: Item, memo: Any) -> Item:
        found.copied += 1
        return real_copy(item, memo)

    for name in ("attrs", "hash_key", "range_key"):
        monkeypatch.setattr(Item, name, watched(name), raising=False)
    monkeypatch.setattr(Item, "__deepcopy__", copied)
    return found


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(emulator, "OPERATIONS", ())  # each call goes to moto
    moto_patches.patch_moto()
    with mock_aws():
        made = boto3.client("dynamodb", region_name="eu-west-1")
        yield made
        made.delete_table(TableName=TABLE)


def create(client: Any, *keys: tuple[str, str], **options: Any) -> None:
    schemas = [keys, *(index["KeySchema"] for index in options.get("GlobalSecondaryIndexes", ()))]
    names = {each["AttributeName"] if isinstance(each, dict) else each[0] for schema in schemas for each in schema}
    client.create_table(
        TableName=TABLE,
        KeySchema=schema(*keys),
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": TYPES[name]} for name in sorted(names)],
        BillingMode="PAY_PER_REQUEST",
        **options,
    )


def schema(*keys: tuple[str, str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in keys]


def index(projection: Any = None) -> dict[str, Any]:
    keys = schema(("shard", "HASH"), ("at", "RANGE"))
    return {"IndexName": "due", "KeySchema": keys, "Projection": projection or {"ProjectionType": "ALL"}}


def row(owner: str, part: str = "p", **numbers: int) -> dict[str, Any]:
    """Return an item in shard ``s``. The item is in the index only if the item has a time."""
    told = {name: {"N": str(number)} for name, number in numbers.items()}
    return {"owner": {"S": owner}, "part": {"S": part}, "shard": {"S": "s"}, **told}


def fill(first: int, last: int, owner: str = "") -> None:
    """Put items of one or of several owners directly into moto's table, without calls."""
    table = dynamodb_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].tables[TABLE]
    for number in range(first, last):
        table.put_item(row(owner or f"owner{number}", f"part{number:06}", at=number))


def due(client: Any, condition: str = "", **options: Any) -> dict[str, Any]:
    """Return a page of the index. The placeholders ``:n`` and ``:m`` are numbers."""
    values = {":s": {"S": "s"}}
    for name in ("n", "m"):
        if name in options:
            values[f":{name}"] = {"N": str(options.pop(name))}
    page: dict[str, Any] = client.query(
        TableName=TABLE,
        IndexName="due",
        KeyConditionExpression="shard = :s" + condition,
        ExpressionAttributeValues=values,
        **options,
    )
    return page


def times(items: Sequence[dict[str, Any]]) -> list[int]:
    return [int(item["at"]["N"]) for item in items]


@pytest.mark.parametrize("keys", [[HASH, RANGE], [HASH]], ids=["with a sort key", "without"])
def test_the_number_of_items_that_a_transaction_touches_is_independent_of_table_size(
    touched: Touched, client: Any, keys: list[tuple[str, str]]
) -> None:
    create(client, *keys, GlobalSecondaryIndexes=[index()])

    def transact(number: int) -> tuple[int, int]:
        key = {name: value for name, value in row("owner1", "part000001").items() if name in dict(keys)}
        update = {"UpdateExpression": "ADD #n :n", "ExpressionAttributeNames": {"#n": "n"}}
        touched.clear()
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": TABLE, "Item": row(f"new{number}", at=5)}},
                {"Update": {"TableName": TABLE, "Key": key, **update, "ExpressionAttributeValues": {":n": {"N": "1"}}}},
            ]
        )
        return touched.counts

    fill(0, 10)
    due(client)
    small = transact(1)
    fill(10, 1000)

    assert transact(2) == small


ASKED = {
    "the first": {},
    "the last": {"ScanIndexForward": False},
    "after a number": {"condition": " AND #at > :n", "n": 4},
    "between numbers": {"condition": " AND #at BETWEEN :n AND :m", "n": 3, "m": 8, "ScanIndexForward": False},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_an_index_query_touches_only_the_items_of_the_page(
    touched: Touched, client: Any, asked: dict[str, Any]
) -> None:
    create(client, HASH, RANGE, GlobalSecondaryIndexes=[index()])
    if "condition" in asked:
        asked = {**asked, "ExpressionAttributeNames": {"#at": "at"}}

    def pages() -> tuple[int, int]:
        touched.clear()
        first = due(client, **asked, Limit=2)
        due(client, **asked, Limit=2, ExclusiveStartKey=first["LastEvaluatedKey"])
        return touched.counts

    fill(0, 10)
    pages()
    small = pages()
    fill(10, 1000)

    assert pages() == small


@pytest.mark.parametrize("prefix", ["", "part00000"], ids=["all", "by prefix"])
def test_a_partition_query_touches_only_the_items_of_the_page(touched: Touched, client: Any, prefix: str) -> None:
    create(client, HASH, RANGE)
    values = {":owner": {"S": "one"}} | ({":prefix": {"S": prefix}} if prefix else {})

    def page() -> tuple[int, int]:
        touched.clear()
        condition = "owner = :owner" + (" AND begins_with(part, :prefix)" if prefix else "")
        found = client.query(
            TableName=TABLE, KeyConditionExpression=condition, ExpressionAttributeValues=values, Limit=3
        )
        assert [item["part"]["S"] for item in found["Items"]] == ["part000000", "part000001", "part000002"]
        return touched.counts

    fill(0, 10, "one")
    page()
    small = page()
    fill(10, 1000, "one")
    fill(0, 100)

    assert page() == small


def test_a_cancelled_transaction_leaves_items_and_indexes_unchanged(client: Any) -> None:
    create(client, HASH, RANGE, GlobalSecondaryIndexes=[index()])
    for number in (1, 2):
        client.put_item(TableName=TABLE, Item=row(f"owner{number}", at=number))

    def stored() -> Any:
        return client.scan(TableName=TABLE)["Items"], due(client)["Items"]

    def key(owner: str) -> dict[str, Any]:
        return {"TableName": TABLE, "Key": {"owner": {"S": owner}, "part": {"S": "p"}}}

    update: dict[str, Any] = {"UpdateExpression": "SET #at = :n", "ExpressionAttributeNames": {"#at": "at"}}
    update["ExpressionAttributeValues"] = {":n": {"N": "9"}}
    before = stored()
    with pytest.raises(ClientError) as refused:
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": TABLE, "Item": row("new", at=0)}},
                {"Delete": key("owner1")},
                {"Update": {**key("owner2"), **update}},
                {"Update": {**key("created"), **update}},
                {
                    "ConditionCheck": {
                        **key("absent"),
                        "ConditionExpression": "attribute_exists(part)",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
            ]
        )

    assert stored() == before
    assert [reason["Code"] for reason in refused.value.response["CancellationReasons"]] == [
        *["None"] * 4,
        "ConditionalCheckFailed",
    ]


def test_an_index_sorts_items_by_number_and_is_updated_by_every_write(client: Any) -> None:
    create(client, HASH, RANGE, GlobalSecondaryIndexes=[index({"ProjectionType": "KEYS_ONLY"})])
    for number in (10, 9, -1, 100):
        client.put_item(TableName=TABLE, Item=row(f"owner{number}", at=number, other=1))
    client.put_item(TableName=TABLE, Item=row("sparse"))
    assert times(due(client)["Items"]) == [-1, 9, 10, 100]
    assert {*due(client)["Items"][0]} == {"owner", "part", "shard", "at"}

    client.update_item(
        TableName=TABLE,
        Key={"owner": {"S": "owner9"}, "part": {"S": "p"}},
        UpdateExpression="SET #at = :n",
        ExpressionAttributeNames={"#at": "at"},
        ExpressionAttributeValues={":n": {"N": "50"}},
    )
    client.update_item(
        TableName=TABLE,
        Key={"owner": {"S": "owner10"}, "part": {"S": "p"}},
        UpdateExpression="REMOVE #at",
        ExpressionAttributeNames={"#at": "at"},
    )
    client.delete_item(TableName=TABLE, Key={"owner": {"S": "owner-1"}, "part": {"S": "p"}})
    client.batch_write_item(RequestItems={TABLE: [{"PutRequest": {"Item": row("batch", at=60)}}]})

    assert times(due(client)["Items"]) == [50, 60, 100]
    assert times(due(client, ScanIndexForward=False)["Items"]) == [100, 60, 50]


@pytest.mark.parametrize("forward", [True, False], ids=["forwards", "backwards"])
def test_pages_of_an_index_return_items_with_equal_times_exactly_once(client: Any, forward: bool) -> None:
    create(client, HASH, RANGE, GlobalSecondaryIndexes=[index()])
    for number in range(12):
        client.put_item(TableName=TABLE, Item=row(f"owner{number % 5}", f"part{number}", at=number // 4))
    found: list[dict[str, Any]] = []
    options: dict[str, Any] = {}
    while True:
        page = due(client, Limit=5, ScanIndexForward=forward, **options)
        found += page["Items"]
        if "LastEvaluatedKey" not in page:
            break
        options = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    assert times(found) == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2][:: 1 if forward else -1]
    assert len({(item["owner"]["S"], item["part"]["S"]) for item in found}) == 12


def test_a_failed_update_leaves_the_item_unchanged(client: Any) -> None:
    create(client, HASH, RANGE)
    client.put_item(TableName=TABLE, Item=row("one", n=1))
    before = client.scan(TableName=TABLE)["Items"]
    with pytest.raises(ClientError, match="maximum allowed size"):
        client.update_item(
            TableName=TABLE,
            Key={"owner": {"S": "one"}, "part": {"S": "p"}},
            UpdateExpression="SET n = :n, filling = :filling",
            ExpressionAttributeValues={":n": {"N": "2"}, ":filling": {"S": "x" * 410_000}},
        )

    assert client.scan(TableName=TABLE)["Items"] == before


def test_an_item_above_the_size_limit_is_refused(client: Any) -> None:
    create(client, HASH, RANGE)
    with pytest.raises(ClientError, match="maximum allowed size"):
        client.put_item(TableName=TABLE, Item=row("one") | {f"x{n}": {"S": "x" * 205_000} for n in range(2)})

    assert client.scan(TableName=TABLE)["Items"] == []
