"""DynamoDB's units, by its rules for the sizes of items, and as DynamoDB Local tells them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest
from botocore.client import BaseClient

from infra.capacity import counts
from infra.capacity.units import (
    IN_A_TRANSACTION,
    Index,
    index_units,
    query_units,
    read_units,
    size,
    tables,
    write_units,
)
from tests.capacity.player import PLAYS, warm
from tests.capacity.plays import Play
from tests.capacity.recorder import PREFIX
from tests.conftest import DYNAMODB_ENDPOINT
from tests.many import cases
from tests.world import World

KEYS = Index("due", ("shard", "at"), frozenset(("shard", "at", "id")))
WHOLE = Index("owner", ("owner",), None)


def text(count: int) -> dict[str, dict[str, str]]:
    """An item of so many bytes."""
    return {"id": {"S": "x" * (count - 2)}}


# -- sizes


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        ({"S": ""}, 0),
        ({"S": "Zoë"}, 4),
        ({"N": "0"}, 1),
        ({"N": "7"}, 2),
        ({"N": "1772442000"}, 5),
        ({"N": "-12.5"}, 4),
        ({"B": b"12345"}, 5),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"S": "c"}]}, 3 + 3 + 2),
        ({"M": {"ab": {"S": "c"}}}, 3 + 1 + 2 + 1),
        ({"SS": ["ab", "c"]}, 3),
        ({"NS": ["7", "1200"]}, 4),
    ],
    ids=str,
)
def test_a_value_has_the_size_that_the_developer_guide_gives_it(value: dict[str, Any], bytes_: int) -> None:
    assert size({"name": value}) == 4 + bytes_


# -- reads


@pytest.mark.parametrize(("bytes_", "units"), [(2, 1), (4096, 1), (4097, 2), (8193, 3)])
def test_a_read_is_counted_in_steps_of_four_kilobytes(bytes_: int, units: int) -> None:
    assert read_units([text(bytes_)]) == units


def test_items_of_a_batch_are_rounded_one_by_one_and_what_is_not_there_counts() -> None:
    assert read_units([text(100), text(100), None]) == 3


def test_items_of_a_page_are_counted_together_and_half_when_they_may_be_old() -> None:
    rows = [text(1000)] * 5

    assert query_units(rows, consistent=True) == 2
    assert query_units(rows, consistent=False) == 1
    assert query_units([], consistent=False) == Decimal("0.5")


# -- writes


def test_a_write_is_as_large_as_the_item_before_or_after() -> None:
    assert write_units(None, text(1024)) == 1
    assert write_units(None, text(1025)) == 2
    assert write_units(text(3000), text(10)) == 3
    assert write_units(text(3000), None) == 3
    assert write_units(None, None) == 1


def entry(at: int, **more: Any) -> dict[str, Any]:
    return {"id": {"S": "1"}, "shard": {"S": "3"}, "at": {"N": str(at)}, **more}


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, entry(1), 1),
        (entry(1), None, 1),
        (entry(1), entry(1, other={"S": "changed"}), 0),
        (entry(1), entry(2), 2),
        (text(10), text(20), 0),
        (entry(1), text(20), 1),
    ],
    ids=["comes", "goes", "unchanged", "moves", "never there", "taken out"],
)
def test_an_index_counts_what_changes_in_it(before: Any, after: Any, units: int) -> None:
    assert index_units(KEYS, before, after) == units


def test_an_index_of_whole_items_counts_every_change() -> None:
    before, after = ({"owner": {"S": "a"}, "title": {"S": title}} for title in ("one", "two"))

    assert index_units(WHOLE, before, after) == 1


# -- the same on an engine

CALL = BaseClient._make_api_call
TABLES = tables()
ALONE = {"page_of_all", "sweep", "sweep_of_due", "expire", "finish", "ingest", "prove"}
"""What finds whatever other kinds have left."""


@dataclass
class Told:
    """The units that were read, and written, by table and index; ``differing`` where the engine told others."""

    read: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    differing: list[object] = field(default_factory=list)

    def call(self, client: Any, operation: str, arguments: dict[str, Any]) -> Any:
        if client.meta.service_model.service_name != "dynamodb":
            return CALL(client, operation, arguments)
        arguments |= {"ReturnConsumedCapacity": "INDEXES"}
        if operation == "TransactWriteItems":
            return self._transact(client, arguments)
        answer = CALL(client, operation, arguments)
        units = self.read if operation in ("BatchGetItem", "Query") else self.written
        for name, count in _engines(answer.pop("ConsumedCapacity")).items():
            units[name] += count
        return answer

    def _transact(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Of several writes of a table that take the same the engine counts one only: so many units have to be told."""
        members = [next(iter(member.items())) for member in arguments["TransactItems"]]
        places = [(inner["TableName"], inner["Item"] if kind == "Put" else inner["Key"]) for kind, inner in members]
        before = [_item(client, *place) for place in places]
        answer = CALL(client, "TransactWriteItems", arguments)
        after = [_item(client, *place) for place in places]
        spent = [_spent(name, old, new) for (name, _), old, new in zip(places, before, after, strict=True)]
        told, counted = _engines(answer.pop("ConsumedCapacity")), _added({*spent})
        self.differing += [] if told == counted else [(told, counted)]
        self.written.update(_added(spent))
        return answer


def _spent(name: str, before: Any, after: Any) -> tuple[tuple[str, int], ...]:
    """What a write in a transaction takes, by table and index."""
    short = name.removeprefix(PREFIX)
    units = {short: write_units(before, after)}
    units |= {f"{short}.{index.name}": index_units(index, before, after) for index in TABLES[name].indexes}
    return tuple((where, IN_A_TRANSACTION * count) for where, count in units.items() if count)


def _added(spent: Iterable[tuple[tuple[str, int], ...]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in spent:
        found.update(dict(each))
    return dict(found)


def _engines(told: Any) -> dict[str, float]:
    """The engine's units by table and index, without those of nothing."""
    found: Counter[str] = Counter()
    for each in told if isinstance(told, list) else [told]:
        name = each["TableName"].removeprefix(PREFIX)
        found[name] += each.get("Table", {}).get("CapacityUnits", 0)
        for index, more in each.get("GlobalSecondaryIndexes", {}).items():
            found[f"{name}.{index}"] += more["CapacityUnits"]
    return {name: count for name, count in found.items() if count}


def _item(client: Any, name: str, key: dict[str, Any]) -> Any:
    """What stands in a place."""
    asked = {"TableName": name, "Key": {each: key[each] for each in TABLES[name].keys}, "ConsistentRead": True}
    return CALL(client, "GetItem", asked).get("Item")


def on_engine(first: World, play: Play) -> Told:
    """What the engine tells of one kind."""
    told = Told()

    def call(client: Any, operation: str, arguments: dict[str, Any]) -> Any:
        return told.call(client, operation, arguments)

    world = first.again()
    with world.installed(), play.within(world):
        warm(world)
        run = play.set_up(world)
        with patch.object(BaseClient, "_make_api_call", call):
            run()
    return told


@pytest.mark.dynamodb
@pytest.mark.skipif(not DYNAMODB_ENDPOINT, reason="the emulator does not tell")
def test_dynamodb_local_tells_the_same_units(shared_world: World) -> None:
    """It does not count what is not there, and a page that is empty."""
    known = counts.load()
    with cases() as case:
        for play in (play for plays in PLAYS.values() for play in plays if play.name not in ALONE):
            kind = known.of(play.name)
            with case(play.name):
                told = on_engine(shared_world, play)
                assert told.differing == []
                assert told.written == {name: units.write for name, units in kind.tables.items() if units.write}
                assert sum(told.read.values()) == kind.read - kind.absent
