"""The DynamoDB store: strongly consistent reads, conditional writes, transactions, queries with continuation.

Tables go by their short names (``clients``); the stage's prefix is added here. Items are plain dictionaries of
strings, integers, ``Decimal``, bytes, booleans, ``None``, lists and dictionaries; a float is refused.

Two rules make repeats safe. A conditional write that was applied but whose answer was lost is recognised as its own
when it is sent again: transactions by their client request token, puts because the item that is already there equals
the one to be written. And a conflict with another transaction is tried again here, with jitter, before it is reported.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from boto3.dynamodb.conditions import Attr, ConditionBase, ConditionExpressionBuilder, Key
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.exceptions import BotoCoreError, ClientError

Item = dict[str, Any]
T = TypeVar("T")

ATTEMPTS = 6
_BATCH = 100
_TOO_BUSY = {
    "TransactionConflictException",
    "TransactionConflict",
    "ProvisionedThroughputExceededException",
    "ThrottlingError",
    "ThrottlingException",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "TransactionInProgressException",
}


class StoreError(Exception):
    """The base of what the store reports."""


class ConditionFailed(StoreError):
    """A condition did not hold; nothing was written.

    ``items`` has one entry per operation: the item that stood there when that operation's condition failed, else
    ``None``. ``failed`` has the positions of the operations whose condition failed.
    """

    def __init__(self, items: Sequence[Item | None], failed: Sequence[int]) -> None:
        self.items = list(items)
        self.failed = list(failed)
        super().__init__(f"condition failed at {self.failed}")

    @property
    def item(self) -> Item | None:
        """The item of the first operation that failed."""
        return self.items[self.failed[0]]


class Conflict(StoreError):
    """Other writers kept this one from being applied, also after repeats; nothing was written."""


class StoreUnavailable(StoreError):
    """DynamoDB could not be reached or refused the call; whether a write was applied is unknown."""


@dataclass(frozen=True, slots=True)
class Put:
    table: str
    item: Item
    condition: ConditionBase | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Set, remove and add attributes of one item; it is made when absent, unless a condition forbids it."""

    table: str
    key: Item
    set: Mapping[str, Any] = field(default_factory=dict)
    remove: Sequence[str] = ()
    add: Mapping[str, int] = field(default_factory=dict)
    condition: ConditionBase | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    table: str
    key: Item
    condition: ConditionBase | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on an item that the transaction does not write."""

    table: str
    key: Item
    condition: ConditionBase


Operation = Put | Update | Delete | Check


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a query; ``next`` is what to pass as ``after`` for the rows that follow, ``None`` at the end."""

    items: list[Item]
    next: Item | None


class _Deserializer(TypeDeserializer):  # type: ignore[misc]
    """Whole numbers come back as ``int``, binary values as ``bytes``."""

    def _deserialize_n(self, value: str) -> int | Decimal:
        return int(value) if value.lstrip("-").isdigit() else Decimal(value)

    def _deserialize_b(self, value: bytes) -> bytes:
        return value


_serialize = TypeSerializer().serialize
_deserialize = _Deserializer().deserialize


def _pack(item: Mapping[str, Any]) -> Item:
    return {name: _serialize(value) for name, value in item.items()}


def _unpack(item: Mapping[str, Any]) -> Item:
    return {name: _deserialize(value) for name, value in item.items()}


def absent(key: str) -> ConditionBase:
    """The condition that no item stands there yet; ``key`` is the table's partition key."""
    return Attr(key).not_exists()


class Store:
    """All access to DynamoDB.

    Args:
        client: a boto3 DynamoDB client.
        prefix: the prefix of the stage's table names.
        pause: how to wait between repeats, in seconds; tests hand in one that does not.
    """

    def __init__(self, client: Any, prefix: str, pause: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._prefix = prefix
        self._pause = pause

    def get(self, table: str, key: Item) -> Item | None:
        """One item, strongly consistent."""
        return self.batch_get([(table, key)])[0]

    def batch_get(self, keys: Sequence[tuple[str, Item]]) -> list[Item | None]:
        """Up to 100 items of any tables in one round trip, strongly consistent, in the order asked for."""
        if len(keys) > _BATCH:
            raise ValueError(f"at most {_BATCH} items can be read together")
        request: dict[str, Any] = {}
        for table, key in keys:
            wanted = request.setdefault(self._name(table), {"Keys": [], "ConsistentRead": True})["Keys"]
            packed = _pack(key)
            if packed not in wanted:
                wanted.append(packed)
        found: dict[str, list[Item]] = {}
        for attempt in range(ATTEMPTS):
            answer = self._call(self._client.batch_get_item, RequestItems=request)
            for name, items in answer["Responses"].items():
                found.setdefault(name, []).extend(_unpack(item) for item in items)
            request = answer.get("UnprocessedKeys") or {}
            if not request:
                return [_pick(found.get(self._name(table), ()), key) for table, key in keys]
            self._wait(attempt)
        raise StoreUnavailable("DynamoDB left keys unprocessed")

    def put(self, table: str, item: Item, condition: ConditionBase | None = None) -> None:
        """Write one item whole.

        Raises:
            ConditionFailed: unless what stands there equals ``item``, which is then this write's own earlier attempt.
        """
        try:
            self._write(self._client.put_item, self._put(Put(table, item, condition)))
        except ConditionFailed as failure:
            if failure.item != item:
                raise

    def update(
        self,
        table: str,
        key: Item,
        *,
        set: Mapping[str, Any] | None = None,
        remove: Sequence[str] = (),
        add: Mapping[str, int] | None = None,
        condition: ConditionBase | None = None,
    ) -> Item:
        """Change one item; answers the item as it stands afterwards. Raises: ConditionFailed."""
        request = self._update(Update(table, key, set or {}, remove, add or {}, condition))
        answer = self._write(self._client.update_item, {**request, "ReturnValues": "ALL_NEW"})
        return _unpack(answer["Attributes"])

    def delete(self, table: str, key: Item, condition: ConditionBase | None = None) -> None:
        """Remove one item; removing what is not there succeeds. Raises: ConditionFailed."""
        self._write(self._client.delete_item, self._delete(Delete(table, key, condition)))

    def transact(self, operations: Sequence[Operation]) -> None:
        """Apply all operations or none.

        Raises:
            ConditionFailed: with the items that stood there.
            Conflict: other transactions were in the way at every attempt.
        """
        members = [self._member(operation) for operation in operations]
        self._write(self._client.transact_write_items, {"TransactItems": members})

    def query(
        self,
        table: str,
        partition: tuple[str, Any],
        *,
        index: str | None = None,
        sort_prefix: tuple[str, str] | None = None,
        after: Item | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Page:
        """Rows of one partition in the order of the sort key; of an index when one is named."""
        condition = Key(partition[0]).eq(partition[1])
        if sort_prefix is not None:
            condition = condition & Key(sort_prefix[0]).begins_with(sort_prefix[1])
        expression, names, values = ConditionExpressionBuilder().build_expression(condition, is_key_condition=True)
        request: dict[str, Any] = {
            "TableName": self._name(table),
            "KeyConditionExpression": expression,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": _pack(values),
            "ScanIndexForward": not newest_first,
        }
        request |= {"IndexName": index} if index else {"ConsistentRead": True}
        request |= {"Limit": limit} if limit else {}
        request |= {"ExclusiveStartKey": _pack(after)} if after else {}
        answer = self._call(self._client.query, **request)
        last = answer.get("LastEvaluatedKey")
        return Page([_unpack(item) for item in answer["Items"]], _unpack(last) if last else None)

    def scan(self, table: str) -> Iterator[Item]:
        """Every item of a table: for the operator's command line, never on a request's path."""
        request: dict[str, Any] = {"TableName": self._name(table), "ConsistentRead": True}
        while True:
            answer = self._call(self._client.scan, **request)
            yield from (_unpack(item) for item in answer["Items"])
            if not answer.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _name(self, table: str) -> str:
        return f"{self._prefix}-{table}"

    def _member(self, operation: Operation) -> dict[str, Any]:
        match operation:
            case Put():
                return {"Put": self._put(operation)}
            case Update():
                return {"Update": self._update(operation)}
            case Delete():
                return {"Delete": self._delete(operation)}
            case Check():
                check = {"TableName": self._name(operation.table), "Key": _pack(operation.key)}
                return {"ConditionCheck": check | _conditional(operation.condition)}

    def _put(self, put: Put) -> dict[str, Any]:
        return {"TableName": self._name(put.table), "Item": _pack(put.item)} | _conditional(put.condition)

    def _delete(self, delete: Delete) -> dict[str, Any]:
        return {"TableName": self._name(delete.table), "Key": _pack(delete.key)} | _conditional(delete.condition)

    def _update(self, update: Update) -> dict[str, Any]:
        request = {"TableName": self._name(update.table), "Key": _pack(update.key)} | _conditional(update.condition)
        names = request.setdefault("ExpressionAttributeNames", {})
        values = request.setdefault("ExpressionAttributeValues", {})
        clauses = []
        for verb, pattern, changes in (
            ("SET", "{name} = {value}", update.set),
            ("ADD", "{name} {value}", update.add),
        ):
            parts = []
            for attribute, value in changes.items():
                name, placeholder = f"#u{len(names)}", f":u{len(values)}"
                names[name], values[placeholder] = attribute, _serialize(value)
                parts.append(pattern.format(name=name, value=placeholder))
            clauses += [f"{verb} {', '.join(parts)}"] if parts else []
        removed = []
        for attribute in update.remove:
            names[f"#u{len(names)}"] = attribute
            removed.append(f"#u{len(names) - 1}")
        clauses += [f"REMOVE {', '.join(removed)}"] if removed else []
        request["UpdateExpression"] = " ".join(clauses)
        if not values:
            del request["ExpressionAttributeValues"]
        return request

    def _write(self, call: Callable[..., Any], request: dict[str, Any]) -> Any:
        """Send a write, again while other writers are in the way."""
        if "TransactItems" in request:
            request["ClientRequestToken"] = f"{random.getrandbits(128):032x}"
        for attempt in range(ATTEMPTS):
            try:
                return self._call(call, **request)
            except Conflict:
                if attempt == ATTEMPTS - 1:
                    raise
                self._wait(attempt)
        raise AssertionError("unreachable")

    def _wait(self, attempt: int) -> None:
        self._pause(random.uniform(0, 0.025 * 2**attempt))

    def _call(self, call: Callable[..., T], **request: Any) -> T:
        try:
            return call(**request)
        except ClientError as error:
            raise _translate(error) from error
        except BotoCoreError as error:
            raise StoreUnavailable(str(error)) from error


def _conditional(condition: ConditionBase | None) -> dict[str, Any]:
    if condition is None:
        return {}
    expression, names, values = ConditionExpressionBuilder().build_expression(condition)
    request = {
        "ConditionExpression": expression,
        "ExpressionAttributeNames": names,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return request | ({"ExpressionAttributeValues": _pack(values)} if values else {})


def _translate(error: ClientError) -> StoreError:
    code = error.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        item = error.response.get("Item")
        return ConditionFailed([_unpack(item) if item else None], [0])
    if code == "TransactionCanceledException":
        return _cancelled(error.response.get("CancellationReasons", ()))
    if code in _TOO_BUSY:
        return Conflict(code)
    return StoreUnavailable(f"{error.operation_name}: {code}")


def _cancelled(reasons: Iterable[Mapping[str, Any]]) -> StoreError:
    reasons = list(reasons)
    failed = [position for position, reason in enumerate(reasons) if reason.get("Code") == "ConditionalCheckFailed"]
    if failed:
        items = [_unpack(reason["Item"]) if reason.get("Item") else None for reason in reasons]
        return ConditionFailed(items, failed)
    codes = {str(reason.get("Code")) for reason in reasons} - {"None"}
    return Conflict(", ".join(codes)) if codes <= _TOO_BUSY else StoreUnavailable(", ".join(codes))


def _pick(items: Iterable[Item], key: Item) -> Item | None:
    return next((item for item in items if all(item.get(name) == value for name, value in key.items())), None)
