"""DynamoDB's units: how large an item is, and what a call that reads or writes it consumes (Developer Guide).

Items are as they are on the wire, ``{"name": {"S": "text"}}``, binary values as bytes. A read unit is a strongly
consistent read of 4 KB, a write unit a write of 1 KB. In a transaction every unit counts twice, those of indexes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from infra.deploy import template

READ_BYTES, WRITE_BYTES = 4096, 1024
IN_A_TRANSACTION = 2
EVENTUALLY = Decimal("0.5")
"""What an eventually consistent read costs of a consistent one."""

Item = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index: the attributes of its key, and those that it has; ``None`` means all of the item."""

    name: str
    keys: tuple[str, ...]
    projected: frozenset[str] | None

    def entry(self, item: Item | None) -> Item | None:
        """An item as it stands in the index; ``None`` when it does not."""
        if item is None or not item.keys() >= set(self.keys):
            return None
        return item if self.projected is None else {name: item[name] for name in item.keys() & self.projected}


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the attributes of its key, the first is that of the partition, and its indexes."""

    name: str
    keys: tuple[str, ...]
    indexes: tuple[Index, ...]


def tables(stage: str = "local") -> dict[str, Table]:
    """The tables of the template, by the names that they have in a stage."""
    return {made["TableName"]: _table(made) for made in template.for_stage(stage).tables()}


def _table(made: Mapping[str, Any]) -> Table:
    keys = _keys(made)
    indexes = [_index(index, keys) for index in made.get("GlobalSecondaryIndexes", ())]
    return Table(made["TableName"], keys, tuple(indexes))


def _index(made: Mapping[str, Any], keys_of_table: tuple[str, ...]) -> Index:
    keys, projection = _keys(made), made["Projection"]
    more = frozenset(projection.get("NonKeyAttributes", ()))
    projected = None if projection["ProjectionType"] == "ALL" else frozenset((*keys, *keys_of_table)) | more
    return Index(made["IndexName"], keys, projected)


def _keys(made: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(each["AttributeName"] for each in made["KeySchema"])


# -- sizes


def size(item: Item) -> int:
    """Bytes of an item: its names and its values."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return _number_size(content)
        case "B":
            return len(content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + _value_size(each) for name, each in content.items())
        case "L":
            return 3 + sum(1 + _value_size(each) for each in content)
        case "SS" | "NS" | "BS":
            return sum(_value_size({kind[0]: each}) for each in content)
    return 1


def _number_size(number: str) -> int:
    """A byte for two significant digits, one more, and one for a minus."""
    digits = number.lstrip("-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + number.startswith("-")


# -- units


def read_units(items: Iterable[Item | None]) -> int:
    """Units of a strongly consistent read of items one by one; what is not there costs one, too."""
    return sum(_rounded(size(item) if item else 0, READ_BYTES) for item in items)


def query_units(items: Sequence[Item], *, consistent: bool) -> Decimal:
    """Units of one page of a query, whose items are counted together."""
    units = Decimal(_rounded(sum(map(size, items)), READ_BYTES))
    return units if consistent else units * EVENTUALLY


def write_units(before: Item | None, after: Item | None) -> int:
    """Units of a write of the table itself: of the larger one of what stood there and of what stands there now."""
    return _rounded(max(size(item) if item else 0 for item in (before, after)), WRITE_BYTES)


def index_units(index: Index, before: Item | None, after: Item | None) -> int:
    """Units of what a write changes in an index: an entry that moves is removed and put."""
    old, new = index.entry(before), index.entry(after)
    if old == new:
        return 0
    if old is None or new is None or any(old[name] != new[name] for name in index.keys):
        return sum(_rounded(size(entry), WRITE_BYTES) for entry in (old, new) if entry is not None)
    return _rounded(max(size(old), size(new)), WRITE_BYTES)


def _rounded(count: int, unit: int) -> int:
    return max(-(-count // unit), 1)
