"""A store in memory that counts calls: for simulations of thousands of attempts, too many for an emulator."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Unpack

from chalicelib.foundation.dynamodb.conditions import Condition
from chalicelib.foundation.dynamodb.store import (
    Check,
    ConditionFailed,
    Delete,
    Item,
    Operation,
    Page,
    Put,
    Store,
    Update,
    Which,
)


class MemoryStore(Store):
    """The deliveries table, as far as attempts and the sweeper need it."""

    def __init__(self) -> None:
        self.calls = 0
        self._items: dict[tuple[Any, ...], Item] = {}

    def wait(self, attempt: int, at_most: float = inf, *, at_least: float = 0.0) -> None:
        """Simulated workers do not wait inside of an attempt."""

    def batch_get(self, keys: Sequence[tuple[str, Item]], attributes: Sequence[str] = ()) -> list[Item | None]:
        self.calls += 1
        return [self._items.get(_place(key)) for _, key in keys]

    def query(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Page:
        """The rows of an index between two times, on one page."""
        self.calls += 1
        between = which.get("between")
        assert between is not None
        time, since, until = between
        rows = [item for item in self._items.values() if item.get(partition[0]) == partition[1]]
        found = sorted((row for row in rows if since <= row[time] <= until), key=lambda row: int(row[time]))
        return Page(found[: which.get("limit")], None)

    def transact(self, operations: Sequence[Operation]) -> None:
        self.calls += 1
        places = [_place(each.item if isinstance(each, Put) else each.key) for each in operations]
        found = [self._items.get(place) for place in places]
        failed = [number for number, each in enumerate(operations) if not _holds(each.condition, found[number] or {})]
        if failed:
            raise ConditionFailed([found[number] if number in failed else None for number in range(len(found))], failed)
        for place, before, operation in zip(places, found, operations, strict=True):
            match operation:
                case Put():
                    self._items[place] = operation.item
                case Update():
                    changed = {**(before or operation.key), **operation.set}
                    self._items[place] = {name: changed[name] for name in changed if name not in operation.remove}
                case Delete():
                    self._items.pop(place, None)
                case Check():
                    pass


def _place(item: Item) -> tuple[Any, ...]:
    return item["delivery_id"], item["part"]


def _holds(condition: Condition | None, item: Item) -> bool:
    """Whether a condition holds for an item; one that is not there has no attributes."""
    if condition is None:
        return True
    first, *rest = condition.operands
    match condition.operator:
        case "AND":
            return _holds(first, item) and _holds(rest[0], item)
        case "OR":
            return _holds(first, item) or _holds(rest[0], item)
        case "attribute_exists":
            return first.name in item
        case "attribute_not_exists":
            return first.name not in item
        case "=":
            return first.name in item and bool(item[first.name] == rest[0])
        case "<=":
            return first.name in item and bool(item[first.name] <= rest[0])
        case other:
            raise NotImplementedError(other)
