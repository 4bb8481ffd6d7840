"""DynamoDB operations on the emulator's tables, for calls within this process.

The emulator creates and describes tables. This module stores items in wire format. A stored item never changes: a write
replaces the item. Operations that the service does not use raise an error. The same tests run on the emulator as a
process and on DynamoDB Local.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from threading import RLock
from typing import Any

from tests.kit.expressions import Invalid, Row, Terms, Value, condition, plain, updated, words

_MOST_IN_AN_ITEM = 400 * 1024
_MOST_IN_A_PAGE = 1_000_000
_MOST_TOGETHER = 100
_lock = RLock()


class Refused(Exception):
    """An error response of DynamoDB: code, message, and further members."""

    def __init__(self, code: str, message: str, **members: Any) -> None:
        super().__init__(message)
        self.code = code
        self.members = members


@dataclass(frozen=True)
class Change:
    """The result of a write: the item before and after the write. A missing item is ``None``."""

    table: Any
    place: tuple[Any, ...]
    before: Row | None
    after: Row | None

    def apply(self) -> None:
        items, first = self.table.items, self.place[0]
        if len(self.place) > 1:
            items, first = items[first], self.place[1]
        if self.after is None:
            items.pop(first, None)
        else:
            items[first] = self.after


def carried_out(operation: str, request: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    with _lock:
        try:
            return OPERATIONS[operation](request, tables)
        except Invalid as problem:
            raise Refused("ValidationException", str(problem)) from None


def rows(table: Any) -> list[Row]:
    """Return every item of a table, sorted by key."""
    return sorted(_all_rows(table), key=lambda row: _order(row, table.table_key_attrs))


def _all_rows(table: Any) -> Iterable[Row]:
    return chain.from_iterable(map(dict.values, table.items.values())) if table.range_key_attr else table.items.values()


# -- reading


def _get(request: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    _only(request, "TableName", "Key", "ConsistentRead")
    found = _found(*_placed(request, tables))
    return {"Item": dict(found)} if found is not None else {}


def _batch_get(request: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    _only(request, "RequestItems")
    answer: dict[str, Any] = {}
    for name, wanted in request["RequestItems"].items():
        _only(wanted, "Keys", "ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames")
        places = [_placed({"TableName": name, "Key": key}, tables) for key in wanted["Keys"]]
        if len({place for _, place in places}) < len(places):
            raise Invalid("Provided list of item keys contains duplicates")
        found = (_found(table, place) for table, place in places)
        shown = set(wanted.get("ExpressionAttributeNames", {}).values())
        rows_found = [dict(row) for row in found if row is not None]
        answer[name] = [{each: row[each] for each in row if not shown or each in shown} for row in rows_found]
    if sum(len(wanted["Keys"]) for wanted in request["RequestItems"].values()) > _MOST_TOGETHER:
        raise Invalid("Too many items requested for the BatchGetItem call")
    return {"Responses": answer, "UnprocessedKeys": {}}


def _query(request: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    names, values, expression = "ExpressionAttributeNames", "ExpressionAttributeValues", "KeyConditionExpression"
    paging = ("TableName", "IndexName", "ConsistentRead", "ScanIndexForward", "Limit", "ExclusiveStartKey")
    _only(request, expression, "FilterExpression", names, values, *paging)
    table, index = _table(request, tables), request.get("IndexName")
    terms = _terms(request, expression, "FilterExpression")
    holds = condition(request[expression])
    if index is None:
        first, *more = table.table_key_attrs
        partition = _partition(request[expression], first, terms)
        inside = table.items.get(partition, {}) if more else {}
        found: Iterable[Row] = inside.values() if more else filter(None, [table.items.get(partition)])
        keys = table.table_key_attrs
    else:
        if request.get("ConsistentRead"):
            raise Invalid("Consistent reads are not supported on global secondary indexes")
        schema = [key["AttributeName"] for key in table.get_index(index, error_if_not=True).schema]
        partition, needed = _partition(request[expression], schema[0], terms), set(schema)
        found = (row for row in _all_rows(table) if row.keys() >= needed and plain(row[schema[0]]) == partition)
        keys = [*schema, *(name for name in table.table_key_attrs if name not in schema)]
    page = _page([row for row in found if holds(row, terms)], keys, request)
    if index is not None:
        page["Items"] = [_projected(row, table.get_index(index).projection, keys) for row in page["Items"]]
    if "FilterExpression" in request:
        passes = condition(request["FilterExpression"])
        page["Items"] = [row for row in page["Items"] if passes(row, terms)]
    return page


def _partition(expression: str, name: str, terms: Terms) -> tuple[str, Any]:
    placeholders = words(expression)
    for position, word in enumerate(placeholders[:-2]):
        if terms.name(word) == name and placeholders[position + 1] == "=":
            value = terms.operand({}, placeholders[position + 2])
            assert value is not None
            return plain(value)
    raise Invalid(f"Query condition missed key schema element: {name}")


def _projected(row: Row, projection: Mapping[str, Any], keys: list[str]) -> Row:
    if projection["ProjectionType"] == "ALL":
        return row
    projected = {*keys, *projection.get("NonKeyAttributes", ())}
    return {name: value for name, value in row.items() if name in projected}


def _scan(request: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    _only(request, "TableName", "ConsistentRead", "Limit", "ExclusiveStartKey")
    table = _table(request, tables)
    return _page(rows(table), table.table_key_attrs, request)


def _page(found: list[Row], keys: list[str], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return one page of the items in key order, and the start of the next page."""
    forward = request.get("ScanIndexForward", True)
    found.sort(key=lambda row: _order(row, keys), reverse=not forward)
    if start := request.get("ExclusiveStartKey"):
        last = _order(start, keys)
        found = [row for row in found if (_order(row, keys) > last if forward else _order(row, keys) < last)]
    page: list[Row] = []
    size, is_measured = 0, _is_over(_MOST_IN_A_PAGE, found)
    for row in found:
        size += item_size(row) if is_measured else 0
        if len(page) == request.get("Limit") or size > _MOST_IN_A_PAGE:
            break
        page.append(dict(row))
    answer = {"Items": page, "Count": len(page), "ScannedCount": len(page)}
    return answer | ({"LastEvaluatedKey": {name: page[-1][name] for name in keys}} if len(page) < len(found) else {})


def _order(row: Row, keys: Iterable[str]) -> tuple[Any, ...]:
    return tuple(plain(row[name]) for name in keys)


# -- writing


def _write(kind: str) -> Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]]:
    def write(request: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
        wanted = request.pop("ReturnValues", "NONE")
        change = _decided(kind, request, tables)
        change.apply()
        shown = {"NONE": None, "ALL_OLD": change.before, "ALL_NEW": change.after}[wanted]
        return {"Attributes": dict(shown)} if shown else {}

    return write


def _batch_write(request: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    _only(request, "RequestItems")
    for name, members in request["RequestItems"].items():
        for member in members:
            ((kind, inner),) = member.items()
            _decided(kind.removesuffix("Request"), inner | {"TableName": name}, tables).apply()
    return {"UnprocessedItems": {}}


def _transact(request: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    _only(request, "TransactItems", "ClientRequestToken")
    members = [next(iter(member.items())) for member in request["TransactItems"]]
    if len(members) > _MOST_TOGETHER:
        raise Invalid("Member must have length less than or equal to 100")
    changes, reasons = [], []
    for kind, inner in members:
        try:
            changes.append(_decided(kind, inner, tables))
            reasons.append({"Code": "None"})
        except Refused as refusal:
            if refusal.code != "ConditionalCheckFailedException":
                raise
            reasons.append({"Code": "ConditionalCheckFailed", "Message": str(refusal), **refusal.members})
    places = {(change.table.name, change.place) for change in changes}
    if len(places) < len(changes):
        raise Invalid("Transaction request cannot include multiple operations on one item")
    if len(changes) < len(members):
        codes = ", ".join(reason["Code"] for reason in reasons)
        message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
        raise Refused("TransactionCanceledException", message, CancellationReasons=reasons)
    for change in changes:
        change.apply()
    return {}


def _decided(kind: str, request: dict[str, Any], tables: Mapping[str, Any]) -> Change:
    """Return the result of a write. Raises: Refused, if the condition is not met; Invalid."""
    content = {"Put": ("Item",), "Update": ("Key", "UpdateExpression")}.get(kind, ("Key",))
    shared = ("TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues")
    _only(request, *content, *shared, "ReturnValuesOnConditionCheckFailure")
    if kind == "Put":
        request = request | {"Key": request["Item"]}
    table, place = _placed(request, tables, kind)
    before = _found(table, place)
    terms = _terms(request, "ConditionExpression", "UpdateExpression")
    if (wanted := request.get("ConditionExpression")) and not condition(wanted)(before or {}, terms):
        shown = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" and before
        members = {"Item": dict(shown)} if shown else {}
        raise Refused("ConditionalCheckFailedException", "The conditional request failed", **members)
    match kind:
        case "Put":
            after: Row | None = request["Item"]
        case "Update":
            after = request["Key"] if before is None else before
            if expression := request.get("UpdateExpression"):
                after, named = updated(expression, after, terms)
                if named & set(table.table_key_attrs):
                    raise Invalid("This attribute is part of the key")
        case "Delete":
            after = None
        case _:
            after = before
    if after is not None and after is not before:
        _check(table, after)
    return Change(table, place, before, after)


def _check(table: Any, row: Row) -> None:
    if _is_over(_MOST_IN_AN_ITEM, [row]) and item_size(row) > _MOST_IN_AN_ITEM:
        raise Invalid("Item size has exceeded the maximum allowed size")
    types = {each["AttributeName"]: each["AttributeType"] for each in table.attr}
    for name in row.keys() & types.keys():
        if list(row[name]) != [types[name]]:
            raise Invalid(f"Type mismatch for key {name}")
        if row[name][types[name]] in ("", b""):
            raise Invalid(f"The AttributeValue for a key attribute cannot contain an empty string value. Key: {name}")


# -- requests


def _only(request: Mapping[str, Any], *names: str) -> None:
    """Check that a request has only these members. Raises: NotImplementedError: if a request has other members."""
    if more := request.keys() - set(names):
        raise NotImplementedError(sorted(more))


def _table(request: Mapping[str, Any], tables: Mapping[str, Any]) -> Any:
    try:
        return tables[request["TableName"]]
    except KeyError:
        raise Refused("ResourceNotFoundException", "Requested resource not found") from None


def _placed(request: Mapping[str, Any], tables: Mapping[str, Any], kind: str = "") -> tuple[Any, tuple[Any, ...]]:
    table, key = _table(request, tables), request["Key"]
    names = table.table_key_attrs
    if not key.keys() >= set(names) or (kind != "Put" and len(key) > len(names)):
        raise Invalid("The provided key element does not match the schema")
    key = {name: key[name] for name in names}
    _check(table, key)
    return table, tuple(plain(value) for value in key.values())


def _found(table: Any, place: tuple[Any, ...]) -> Row | None:
    found: Row | None = table.items.get(place[0])
    return found.get(place[1]) if found is not None and len(place) > 1 else found


def _terms(request: Mapping[str, Any], *expressions: str) -> Terms:
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})
    return Terms(names, values, [request[name] for name in expressions if name in request])


def _is_over(limit: int, rows: list[Row]) -> bool:
    """Return whether the total size of items may exceed a number of bytes. A character has at most four bytes."""
    return 4 * sum(len(repr(row)) for row in rows) > limit


def item_size(row: Row) -> int:
    """Return the size of an item in bytes. DynamoDB charges writes by this size.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return sum([_text_size(name) + _value_size(value) for name, value in row.items()])


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _value_size(value: Value) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return _text_size(content)
        case "N":
            digits = str(content).lstrip("-").replace(".", "").strip("0")
            return (len(digits) + 1) // 2 + 1 + str(content).startswith("-")
        case "B":
            return int(len(content) * 3 // 4 - content.count("="))
        case "M":
            return 3 + len(content) + item_size(content)
        case "L":
            return 3 + len(content) + sum(map(_value_size, content))
        case "SS" | "NS" | "BS":
            return sum(map(len, content))
    return 1


KILOBYTE = 1024
"""The number of bytes in one unit of write capacity. An item with one more byte needs two units."""

OPERATIONS = {
    "BatchGetItem": _batch_get,
    "BatchWriteItem": _batch_write,
    "DeleteItem": _write("Delete"),
    "GetItem": _get,
    "PutItem": _write("Put"),
    "Query": _query,
    "Scan": _scan,
    "TransactWriteItems": _transact,
    "UpdateItem": _write("Update"),
}
"""The functions for DynamoDB operations by name. Each function takes a request in wire format, and all tables by name.
"""
