"""Sorted indexes of moto's tables, so that a query visits only the items of its page.

Unpatched, moto scans and sorts all items of the table for each query.
"""

from __future__ import annotations

import copy
import inspect
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from functools import wraps
from importlib import import_module
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

Value = tuple[str, Any]
"""The type and value of an attribute, comparable with other values of the same attribute."""
Place = tuple[Any, Any]
"""The primary key of an item, in moto's types. The second member is ``None`` if the table has no sort key."""
Entry = tuple[tuple[Value, ...], Place]

_order_of = itemgetter(0)
_PREFIX_TYPES = ("S", "B")


class Keys(NamedTuple):
    """The attributes of an index or table: the attributes of the partition key and of the sort key, and the attributes
    that determine the order of a query.
    """

    partition: tuple[str, ...]
    sort: tuple[str, ...]
    order: tuple[str, ...]


class SortedIndex:
    """The items of a table that have all attributes in ``keys``, sorted in query order within each partition."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.partitions: dict[tuple[Value, ...], list[Entry]] = {}
        self._entries: dict[tuple[Value | None, ...], tuple[tuple[Value, ...], Entry]] = {}

    def put(self, place: Place, item: Any | None) -> None:
        """Index the item that is currently stored at ``place``, and remove the previous item from the index."""
        name = tuple(value and _value(value) for value in place)
        if name in self._entries:
            partition, entry = self._entries.pop(name)
            entries = self.partitions[partition]
            del entries[bisect_left(entries, entry[0], key=_order_of)]
            if not entries:
                del self.partitions[partition]
        if item is not None and {*self._keys.partition, *self._keys.sort} <= item.attrs.keys():
            partition = _values(item.attrs, self._keys.partition)
            entry = _values(item.attrs, self._keys.order), place
            insort(self.partitions.setdefault(partition, []), entry, key=_order_of)
            self._entries[name] = partition, entry

    def partition(self, values: tuple[Value, ...]) -> Sequence[Entry]:
        return self.partitions.get(values, [])


def patch_queries() -> None:
    """Patch moto so that queries search a sorted index. The first query that needs an index creates it, and writes
    update it.
    """
    tables: Any = import_module("moto.dynamodb.models.table")
    table_class, largest_page = tables.Table, tables.RESULT_SIZE_LIMIT
    real_query, real_put, real_delete = table_class.query, table_class.put_item, table_class.delete_item
    signature = inspect.signature(real_query)

    @wraps(real_query)
    def query(*arguments: Any, **options: Any) -> Any:
        asked = signature.bind(*arguments, **options)
        table = asked.arguments["self"]
        _check_operands(asked.arguments)
        found = _search(table, asked.arguments, largest_page)
        if found is not None:
            asked.arguments["self"] = searched = copy.copy(table)
            items = dict(enumerate(found))
            searched.items = {None: items} if table.has_range_key else items
        return real_query(*asked.args, **asked.kwargs)

    @wraps(real_put)
    def put_item(table: Any, *arguments: Any, **options: Any) -> Any:
        item = real_put(table, *arguments, **options)
        update_indexes(table, (item.hash_key, item.range_key))
        return item

    @wraps(real_delete)
    def delete_item(table: Any, hash_key: Any, range_key: Any) -> Any:
        item = real_delete(table, hash_key, range_key)
        update_indexes(table, (hash_key, range_key))
        return item

    table_class.query, table_class.put_item, table_class.delete_item = query, put_item, delete_item


def update_indexes(table: Any, place: Place) -> None:
    """Index an item that was written without calling the table's methods."""
    for index in _indexes_of(table).values():
        index.put(place, _find_item(table, place))


def _indexes_of(table: Any) -> dict[Keys, SortedIndex]:
    """Return the indexes of a table's items. A table restored from a backup has no indexes yet."""
    members: dict[str, Any] = vars(table)
    if members.get("indexed_items") is not table.items:
        members |= {"indexed_items": table.items, "sorted_indexes": {}}
    indexes: dict[Keys, SortedIndex] = members["sorted_indexes"]
    return indexes


def index_of(table: Any, keys: Keys) -> SortedIndex:
    """Return the index of a table's items by ``keys``. The first call creates the index."""
    indexes = _indexes_of(table)
    if keys not in indexes:
        indexes[keys] = index = SortedIndex(keys)
        for partition in table.items.values():
            for item in partition.values() if table.has_range_key else (partition,):
                index.put((item.hash_key, item.range_key), item)
    return indexes[keys]


def _check_operands(asked: Mapping[str, Any]) -> None:
    """Refuse a prefix that is neither text nor binary, as DynamoDB does. Unpatched, moto raises a different error."""
    if asked["range_comparison"] == "BEGINS_WITH":
        for operand in asked["range_objs"]:
            if operand.type not in _PREFIX_TYPES:
                raise import_module("moto.dynamodb.exceptions").MockValidationException(
                    "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
                    f"operator or function: begins_with, operand type: {operand.type}"
                )


def _search(table: Any, asked: Mapping[str, Any], largest_page: int) -> list[Any] | None:
    """Return the items of the page of a query and one more item. Return ``None`` for a query that moto refuses."""
    keys = _keys(table, asked.get("index_name"))
    if keys is None:
        return None
    if asked.get("index_name") is None:
        equal = {table.hash_key_attr: asked["hash_key"]}
    else:
        equal = dict(asked.get("hash_key_conditions") or ())
    if any(equal.get(name) is None for name in keys.partition):
        return None
    entries = index_of(table, keys).partition(_values(equal, keys.partition))
    window, is_exact = _window(entries, keys, equal, asked)
    items = (_find_item(table, entries[number][1]) for number in window)
    is_cut = is_exact and not asked.get("filter_kwargs")
    return list(_page(items, asked["limit"], largest_page) if is_cut else items)


def _keys(table: Any, index_name: str | None) -> Keys | None:
    own = tuple(table.table_key_attrs)
    if index_name is None:
        return Keys(own[:1], own[1:], own[1:])
    schemas = [index.schema for index in table.all_indexes() if index.name == index_name]
    if not schemas:
        return None
    partition, sort = (
        tuple(key["AttributeName"] for key in schemas[0] if key["KeyType"] == kind) for kind in ("HASH", "RANGE")
    )
    return Keys(partition, sort, (*(sort or own[-1:]), *own))


def _window(
    entries: Sequence[Entry], keys: Keys, equal: Mapping[str, Any], asked: Mapping[str, Any]
) -> tuple[range, bool]:
    """Return the numbers of the entries that a query visits, and whether the query can stop after a page.

    The entries match the query's key conditions. One more entry is included so that moto detects a further page.
    """
    first, last, is_exact = 0, len(entries), True
    if entries and (comparison := asked["range_comparison"]):
        found = _matching_range(entries, comparison, asked["range_objs"]) if _is_single(keys, asked) else None
        first, last = found or (first, last)
        is_exact = found is not None
    forward, start = asked["scan_index_forward"] is not False, asked["exclusive_start_key"]
    if start is not None:
        typed = {name: _dynamo_type(value) for name, value in start.items()}
        needed = {*keys.partition, *keys.order} <= typed.keys()
        if not needed or any(typed[name] != equal[name] for name in keys.partition):
            first, last, is_exact = 0, len(entries), False
        elif forward:
            first = max(first, bisect_right(entries, _values(typed, keys.order), key=_order_of))
        else:
            last = min(last, bisect_left(entries, _values(typed, keys.order), key=_order_of))
    if forward:
        return range(first, min(last + 1, len(entries))), is_exact
    return range(last - 1, max(first - 1, 0) - 1, -1), is_exact


def _is_single(keys: Keys, asked: Mapping[str, Any]) -> bool:
    conditions = asked.get("range_key_conditions") or ()
    return len(keys.sort) > 0 and [name for name, *_ in conditions] in ([], [keys.sort[0]])


def _matching_range(entries: Sequence[Entry], comparison: str, operands: Sequence[Any]) -> tuple[int, int] | None:
    """Return the range of the matching entries; ``None`` if only moto can compare the values."""
    if any(each.type != entries[0][0][0][0] for each in operands):
        return None
    low, high = _value(operands[0]), _value(operands[-1])
    first, last = (bisect_left(entries, low, key=_first_of), bisect_right(entries, high, key=_first_of))
    match comparison:
        case "=" | "EQ" | "BETWEEN":
            return first, last
        case "<" | "LT":
            return 0, first
        case "<=" | "LE":
            return 0, last
        case ">" | "GT":
            return last, len(entries)
        case ">=" | "GE":
            return first, len(entries)
        case "BEGINS_WITH":
            return first, bisect_left(
                entries, True, first, key=lambda entry: not _first_of(entry)[1].startswith(low[1])
            )
    return None


def _first_of(entry: Entry) -> Value:
    return entry[0][0]


def _page(items: Iterator[Any], limit: int | None, largest: int) -> Iterator[Any]:
    """Return the items of a page and one more item, by which moto detects a further page."""
    size = 0
    for item in islice(items, None if limit is None else limit + 1):
        yield item
        size += item.size()
        if size > largest:
            return


def _find_item(table: Any, place: Place) -> Any | None:
    if not table.has_range_key:
        return table.items.get(place[0])
    return table.items[place[0]].get(place[1]) if place[0] in table.items else None


def _values(attributes: Mapping[str, Any], names: Sequence[str]) -> tuple[Value, ...]:
    return tuple(_value(attributes[name]) for name in names)


def _value(value: Any) -> Value:
    return value.type, value.cast_value


def _dynamo_type(value: Any) -> Any:
    kind: Any = import_module("moto.dynamodb.models.dynamo_type").DynamoType
    return kind(value)
