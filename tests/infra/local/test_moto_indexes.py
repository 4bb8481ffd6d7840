"""Queries by sorted indexes return the same items as moto's search of the whole table."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto.dynamodb.exceptions import MockValidationException
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

from infra.local import moto_patches
from infra.local.moto_indexes import Keys, index_of, update_indexes

TYPES = {"owner": "S", "part": "S", "shard": "S", "at": "N"}
OPERANDS = {"=": 1, "<": 1, "<=": 1, ">": 1, ">=": 1, "BETWEEN": 2}

owners, parts, shards = st.sampled_from(["a", "b"]), st.sampled_from(["", "1", "10", "2", "21"]), st.sampled_from("xy")
numbers = st.integers(-12, 12)
kinds, times = st.sampled_from(["put", "put", "put", "delete"]), st.none() | numbers
writes = st.tuples(kinds, owners, parts.filter(bool), st.none() | shards, times)


def table(range_key: bool) -> Any:
    """Return an empty table with two indexes: ``due`` with a time as sort key, and ``shard`` without a sort key."""
    moto_patches.patch_moto()
    own = [("owner", "HASH"), ("part", "RANGE")][: 2 if range_key else 1]
    indexes = {"due": [("shard", "HASH"), ("at", "RANGE")], "shard": [("shard", "HASH")]}
    table_class: Any = Table
    return table_class(
        "made",
        "123456789012",
        "eu-west-1",
        schema=schema(own),
        attr=[{"AttributeName": name, "AttributeType": kind} for name, kind in TYPES.items()],
        global_indexes=[
            {"IndexName": name, "KeySchema": schema(keys), "Projection": {"ProjectionType": "KEYS_ONLY"}}
            for name, keys in indexes.items()
        ],
    )


def schema(keys: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in keys]


def write(made: Any, kind: str, owner: str, part: str, shard: str | None, at: int | None) -> None:
    if kind == "delete":
        made.delete_item(DynamoType({"S": owner}), DynamoType({"S": part}) if made.has_range_key else None)
        return
    item: dict[str, Any] = {"owner": {"S": owner}, "part": {"S": part}}
    item |= {"shard": {"S": shard}} if shard else {}
    made.put_item(item | ({"at": {"N": str(at)}} if at is not None else {}))


@st.composite
def queries(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from([None, "due", "shard"]))
    partition, value = ("owner", draw(owners)) if name is None else ("shard", draw(shards))
    compared: dict[str, Any] = {"range_comparison": None, "range_objs": []}
    if name != "shard" and draw(st.booleans()):
        sort, comparisons = ("at", [*OPERANDS]) if name else ("part", [*OPERANDS, "BEGINS_WITH"])
        comparison = draw(st.sampled_from(comparisons))
        operands = [
            DynamoType({"N": str(draw(numbers))} if name else {"S": draw(parts)})
            for _ in range(OPERANDS.get(comparison, 1))
        ]
        compared = {"range_comparison": comparison, "range_objs": operands}
        compared["range_key_conditions"] = [(sort, comparison, operands)]
    return {
        "hash_key": DynamoType({"S": value}),
        "limit": draw(st.none() | st.integers(1, 4)),
        "scan_index_forward": draw(st.booleans()),
        "projection_expressions": None,
        "index_name": name,
        "hash_key_conditions": [(partition, DynamoType({"S": value}))],
        **compared,
    }


def pages(query: Any, made: Any, asked: dict[str, Any]) -> list[Any]:
    found, start = [], None
    while True:
        items, count, last = query(made, **asked, exclusive_start_key=start)
        found.append(([item.to_json() for item in items], count, last))
        if last is None:
            return found
        start = {name: {value.type: value.value} for name, value in last.items()}


@given(st.booleans(), st.lists(st.lists(writes, max_size=20), min_size=1, max_size=3), st.lists(queries(), min_size=1))
def test_a_query_by_sorted_index_returns_the_same_pages_as_a_full_search(
    range_key: bool, batches: list[list[Any]], asked: list[dict[str, Any]]
) -> None:
    made = table(range_key)
    for batch in batches:
        for each in batch:
            write(made, *each)
        for query in asked:
            if query["index_name"] is None and not range_key and query["range_comparison"]:
                continue
            assert pages(Table.query, made, query) == pages(Table.query.__wrapped__, made, query)  # type: ignore[attr-defined]


def test_a_table_with_replaced_items_is_indexed_again() -> None:
    made, other = table(True), table(True)
    write(made, "put", "a", "1", "x", 1)
    write(other, "put", "b", "2", "x", 2)
    asked: dict[str, Any] = {"range_comparison": None, "range_objs": [], "limit": None, "exclusive_start_key": None}
    asked |= {"scan_index_forward": True, "projection_expressions": None, "index_name": "due", "hash_key": None}
    asked["hash_key_conditions"] = [("shard", DynamoType({"S": "x"}))]

    def owners_found() -> list[str]:
        return [item.attrs["owner"].value for item in made.query(**asked)[0]]

    assert owners_found() == ["a"]
    made.items = other.items
    assert owners_found() == ["b"]
    made.items[DynamoType({"S": "b"})].clear()
    update_indexes(made, (DynamoType({"S": "b"}), DynamoType({"S": "2"})))
    assert owners_found() == []


def test_an_index_deletes_partitions_that_have_no_items_left() -> None:
    made = table(True)
    index = index_of(made, Keys(("shard",), ("at",), ("at", "owner", "part")))
    for number in range(300):
        write(made, "put", "a", str(number), f"shard-{number}", 1)
    assert len(index.partitions) == 300

    for number in range(300):
        write(made, "delete", "a", str(number), None, None)

    assert len(index.partitions) == 0


@pytest.mark.parametrize("has_items", [True, False])
def test_a_begins_with_condition_on_a_number_is_refused(has_items: bool) -> None:
    made = table(True)
    if has_items:
        write(made, "put", "a", "1", "x", 1)
    operands = [DynamoType({"N": "1"})]
    asked: dict[str, Any] = {"range_comparison": "BEGINS_WITH", "range_objs": operands, "limit": None}
    asked |= {"exclusive_start_key": None, "scan_index_forward": True, "projection_expressions": None}
    asked |= {"index_name": "due", "hash_key": None, "hash_key_conditions": [("shard", DynamoType({"S": "x"}))]}
    asked["range_key_conditions"] = [("at", "BEGINS_WITH", operands)]

    with pytest.raises(MockValidationException, match="operator or function: begins_with, operand type: N"):
        made.query(**asked)
