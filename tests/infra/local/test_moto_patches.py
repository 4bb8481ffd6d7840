"""The patches of moto avoid repeated work and respect transaction tokens."""

import copy
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.loaders import JSONFileLoader
from moto import backends, mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.exceptions import TransactionCanceledException
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.parsing.tokens import ExpressionTokenizer

from chalicelib.foundation.identifiers import new_id
from infra.local import moto_patches
from infra.local.transaction_tokens import tokens_of
from tests.kit import emulator

KEYS = [{"AttributeName": "owner", "KeyType": "HASH"}, {"AttributeName": "part", "KeyType": "RANGE"}]


def test_the_size_of_a_copied_item_is_computed_again_after_an_update() -> None:
    moto_patches.patch_moto()
    item = Item(DynamoType({"S": "key"}), None, {"text": {"S": "short"}})
    before = item.size()
    updated = copy.deepcopy(item)
    updated.attrs["text"] = DynamoType({"S": "a longer text"})

    assert updated.size() == before + len("a longer text") - len("short")
    assert item.size() == before


def test_moto_reads_service_data_from_disk_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    moto_patches.patch_moto()
    before = [boto3.Session().get_available_regions(service) for service in ("sqs", "dynamodb")]

    def fail(*arguments: object) -> object:
        raise AssertionError("the disk is read again")

    monkeypatch.setattr(JSONFileLoader, "_load_file", fail)
    monkeypatch.setattr("os.listdir", fail)

    assert {"dynamodb", "kms", "secretsmanager", "sqs"} <= set(backends.list_of_moto_modules())
    assert [boto3.Session().get_available_regions("sqs"), before[1]] == before


@dataclass(frozen=True)
class Numbers:
    """A separate table, and a client without retries."""

    dynamodb: Any
    table: str

    def put(self, item_id: str, b: bytes = b"", **options: Any) -> dict[str, Any]:
        return {"Put": {"TableName": self.table, "Item": {"id": {"S": item_id}, "b": {"B": b}}, **options}}

    def add_one(self) -> dict[str, Any]:
        expression = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
        return {"Update": {"TableName": self.table, "Key": {"id": {"S": "count"}}, **expression}}

    def transact(self, token: str, *members: dict[str, Any]) -> None:
        self.dynamodb.transact_write_items(TransactItems=members, ClientRequestToken=f"{self.table} {token}")

    def refusal(self, token: str, *members: dict[str, Any]) -> str:
        with pytest.raises(ClientError) as refused:
            self.transact(token, *members)
        return str(refused.value.response["Error"]["Code"])

    def items(self) -> dict[str, Any]:
        return {item["id"]["S"]: item.get("n") for item in self.dynamodb.scan(TableName=self.table)["Items"]}


@pytest.fixture(params=[False, True], ids=["over HTTP", "in this process"])
def numbers(request: pytest.FixtureRequest, resources: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Numbers]:
    if not request.param:
        monkeypatch.setattr(emulator, "OPERATIONS", ())
    dynamodb, table = boto3.client("dynamodb", config=Config(retries={"total_max_attempts": 1})), new_id()[:24]
    dynamodb.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield Numbers(dynamodb, table)
    dynamodb.delete_table(TableName=table)


def test_a_transaction_is_executed_only_once_for_each_token(numbers: Numbers) -> None:
    binary = numbers.put("binary", b=bytes(range(256)))
    for token in ("one", "one", "two", "one"):
        numbers.transact(token, numbers.add_one(), binary)

    assert numbers.refusal("one", numbers.put("other")) == "IdempotentParameterMismatchException"
    assert numbers.items() == {"count": {"N": "2"}, "binary": None}


def test_a_retried_cancelled_transaction_is_evaluated_again(numbers: Numbers) -> None:
    members = [numbers.put("blocked", ConditionExpression="attribute_not_exists(id)"), numbers.add_one()]
    numbers.dynamodb.put_item(TableName=numbers.table, Item={"id": {"S": "blocked"}})

    assert numbers.refusal("one", *members) == "TransactionCanceledException"
    numbers.dynamodb.delete_item(TableName=numbers.table, Key={"id": {"S": "blocked"}})
    for _ in range(2):
        numbers.transact("one", *members)
    assert numbers.items() == {"blocked": None, "count": {"N": "1"}}


def test_a_retry_during_the_first_transaction_is_refused(numbers: Numbers) -> None:
    tokens = tokens_of(dynamodb_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"])
    with tokens.transaction(f"{numbers.table} one", [numbers.add_one()]):
        assert numbers.refusal("one", numbers.add_one()) == "TransactionInProgressException"
    numbers.transact("one", numbers.add_one())
    assert numbers.items() == {}


def test_an_update_expression_is_parsed_once_and_evaluated_for_each_update(numbers: Numbers) -> None:
    update = numbers.add_one()["Update"] | {"UpdateExpression": "ADD n :one SET another = :one"}
    with patch.object(ExpressionTokenizer, "make_list", wraps=ExpressionTokenizer.make_list) as parsing:
        for _ in range(3):
            numbers.dynamodb.update_item(**update)
        assert parsing.call_count <= 1
    assert numbers.items() == {"count": {"N": "3"}}


@pytest.fixture
def things() -> Iterator[str]:
    name = f"things-{new_id()}"
    yield name
    dynamodb_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].tables.pop(name, None)


class Untouched(defaultdict[Any, Any]):
    """The partitions of a table. The test fails if the partitions are iterated or copied."""

    def items(self) -> Any:
        raise AssertionError("the whole table is copied")

    values = keys = __iter__ = __copy__ = items


@pytest.mark.parametrize("keys", [KEYS, KEYS[:1]], ids=["with a sort key", "without"])
def test_a_transaction_does_not_copy_tables_and_changes_nothing_after_a_failure(
    things: str, keys: list[dict[str, str]]
) -> None:
    moto_patches.patch_moto()
    with mock_aws():
        backend = dynamodb_backends["123456789012"]["eu-west-1"]
        client = boto3.client("dynamodb")
        definitions = [{"AttributeName": each["AttributeName"], "AttributeType": "S"} for each in keys]
        client.create_table(
            TableName=things,
            KeySchema=keys,
            AttributeDefinitions=definitions,
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        table: Any = backend.tables[things]
        table.items = Untouched(dict)

        def key(name: str) -> dict[str, Any]:
            return {each["AttributeName"]: {"S": name} for each in keys}

        def stored() -> dict[str, Any]:
            return {name: backend.get_item(things, key(name)) for name in ("put", "updated", "deleted")}

        for name in ("updated", "deleted"):
            backend.put_item(things, key(name) | {"n": {"N": "1"}})
        before = {name: item and item.to_json() for name, item in stored().items()}
        changes = len(table.stream_shard.items)
        writes: list[dict[str, Any]] = [
            {"Put": {"TableName": things, "Item": key("put")}},
            {"Delete": {"TableName": things, "Key": key("deleted")}},
            {
                "Update": {
                    "TableName": things,
                    "Key": key("updated"),
                    "UpdateExpression": "SET n = :n",
                    "ExpressionAttributeValues": {":n": {"N": "2"}},
                }
            },
        ]
        check = {"TableName": things, "Key": key("absent"), "ConditionExpression": "attribute_exists(n)"}
        with pytest.raises(TransactionCanceledException):
            backend.transact_write_items([*writes, {"ConditionCheck": check}])
        assert {name: item and item.to_json() for name, item in stored().items()} == before
        assert len(table.stream_shard.items) == changes

        backend.transact_write_items(writes)
        after = stored()
        assert (after["put"] is not None, after["deleted"], after["updated"].attrs["n"].value) == (True, None, "2")
