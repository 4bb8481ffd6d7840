"""The DynamoDB store: strongly consistent reads, conditional writes, transactions and paginated queries.

Callers use short table names (``clients``); this module adds the stage's prefix. Items are plain dictionaries of
strings, integers, ``Decimal``, bytes, booleans, ``None``, lists and dictionaries; floats are refused.

If the response is lost, in transport or by a DynamoDB failure, the call is retried once where this is safe:

- Reads, and puts and deletes without a condition, are idempotent. The retry overwrites any write made in between,
  as if the call had come later.
- Conditional puts: if the first attempt was applied, the retry's condition fails. A failed condition counts as
  success if the stored item equals the new one, even on the first attempt, because botocore also retries.
- Transactions: DynamoDB recognises the retry by its client request token and applies it once. Some emulators do not,
  so a condition that fails in a retry counts as success if the item of a conditional put is stored.
- Updates and conditional deletes are not retried. They have no token, and their result does not identify the
  writer: a number could be added twice, and another caller may have deleted the item. Use a transaction if the
  outcome must be known.

Conflicts with other transactions are retried, with jitter, before they are reported.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from math import inf
from typing import Any, TypedDict, TypeVar, Unpack

from boto3.dynamodb.conditions import Attr, ConditionBase, Key
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.foundation.dynamodb.conditions import condition_members, query_members
from chalicelib.foundation.dynamodb.errors import (
    FAILED_ON_THE_WAY,
    AnswerLost,
    ConditionFailed,
    Conflict,
    StoreError,
    StoreUnavailable,
    store_error,
)
from chalicelib.foundation.dynamodb.items import Item, find_item, pack, serialize, unpack
from chalicelib.foundation.lazy_dataclasses import dataclass

__all__ = [
    "ATTEMPTS",
    "Check",
    "ConditionFailed",
    "Conflict",
    "Delete",
    "Item",
    "Operation",
    "Page",
    "Put",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "Update",
    "Which",
    "absent",
]

T = TypeVar("T")

ATTEMPTS = 6
_BATCH = 100


@dataclass(frozen=True, slots=True)
class Put:
    table: str
    item: Item
    condition: ConditionBase | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Set, remove or add to attributes of one item, creating the item unless a condition forbids it.

    ``add`` increments a number, or adds members to a set of numbers or strings; ``delete`` removes members of a set.
    """

    table: str
    key: Item
    set: Mapping[str, Any] = field(default_factory=dict)
    remove: Sequence[str] = ()
    add: Mapping[str, int | frozenset[int] | frozenset[str]] = field(default_factory=dict)
    condition: ConditionBase | None = None
    delete: Mapping[str, frozenset[int] | frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delete:
    table: str
    key: Item
    condition: ConditionBase | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on an item that the transaction does not modify."""

    table: str
    key: Item
    condition: ConditionBase


Operation = Put | Update | Delete | Check


@dataclass(frozen=True, slots=True)
class Page:
    """One page of rows; pass ``next`` as ``after`` to get the following page. ``next`` is ``None`` on the last page."""

    items: list[Item]
    next: Item | None


class Which(TypedDict, total=False):
    """The options of ``Store.query``: filters, order and paging.

    ``limit`` counts the rows that are read; ``filter`` drops rows that were read, before they are sent.
    """

    index: str | None
    sort_prefix: tuple[str, str] | None
    between: tuple[str, int, int] | tuple[str, str, str] | None
    after: Item | None
    filter: ConditionBase | None
    limit: int | None
    newest_first: bool


def absent(key: str) -> ConditionBase:
    """A condition that the item does not exist; ``key`` is the table's partition key."""
    return Attr(key).not_exists()


class Store:
    """All access to DynamoDB.

    Args:
        client: a boto3 DynamoDB client.
        prefix: the prefix of the stage's table names.
        pause: sleeps between retries, in seconds; tests pass a function that returns at once.
    """

    def __init__(self, client: Any, prefix: str, pause: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self.prefix = prefix
        self._pause = pause
        self.read_sendings = 2
        """Attempts at a read before its response counts as lost; raised for work that takes minutes."""

    @property
    def events(self) -> Any:
        """The client's events, as botocore names them (``after-call.dynamodb.PutItem``)."""
        return self._client.meta.events

    def get(self, table: str, key: Item) -> Item | None:
        """One item, strongly consistent."""
        return self.batch_get([(table, key)])[0]

    def batch_get(self, keys: Sequence[tuple[str, Item]]) -> list[Item | None]:
        """Read up to 100 items of any tables, strongly consistent; returned in the order of ``keys``, ``None`` if
        missing.
        """
        if len(keys) > _BATCH:
            raise ValueError(f"at most {_BATCH} items can be read in one call")
        request: dict[str, Any] = {}
        for table, key in keys:
            wanted = request.setdefault(self._name(table), {"Keys": [], "ConsistentRead": True})["Keys"]
            packed = pack(key)
            if packed not in wanted:
                wanted.append(packed)
        found: dict[str, list[Item]] = {}
        for attempt in range(ATTEMPTS):
            answer = self._read(self._client.batch_get_item, RequestItems=request)
            for name, items in answer["Responses"].items():
                found.setdefault(name, []).extend(unpack(item) for item in items)
            request = answer.get("UnprocessedKeys") or {}
            if not request:
                return [find_item(found.get(self._name(table), ()), key) for table, key in keys]
            self.wait(attempt)
        raise StoreUnavailable("DynamoDB left keys unprocessed")

    def put(self, table: str, item: Item, condition: ConditionBase | None = None) -> None:
        """Write a whole item.

        Raises:
            ConditionFailed: the condition failed and the stored item is not already ``item``.
        """
        try:
            request = self._put(Put(table, item, condition))
            self._call_again_if_lost(lambda: self._call_with_repeats(self._client.put_item, request))
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
        add: Mapping[str, int | frozenset[int] | frozenset[str]] | None = None,
        condition: ConditionBase | None = None,
    ) -> Item:
        """Update one item and return its new attributes. Not retried after a lost response.

        Raises: ConditionFailed.
        """
        request = self._update(Update(table, key, set or {}, remove, add or {}, condition))
        answer = self._call_with_repeats(self._client.update_item, {**request, "ReturnValues": "ALL_NEW"})
        return unpack(answer["Attributes"])

    def delete(self, table: str, key: Item, condition: ConditionBase | None = None) -> None:
        """Delete one item, if it exists. A conditional delete is not retried after a lost response.

        Raises: ConditionFailed.
        """
        request = self._delete(Delete(table, key, condition))
        if condition is None:
            self._call_again_if_lost(lambda: self._call_with_repeats(self._client.delete_item, request))
        else:
            self._call_with_repeats(self._client.delete_item, request)

    def transact(self, operations: Sequence[Operation]) -> None:
        """Apply all operations or none.

        Raises:
            ConditionFailed: with the stored items.
            Conflict: every attempt conflicted with other transactions.
        """
        members = [self._member(operation) for operation in operations]
        request = {"TransactItems": members, "ClientRequestToken": secrets.token_hex(16)}
        try:
            self._call_again_if_lost(lambda: self._call_with_repeats(self._client.transact_write_items, request))
        except ConditionFailed as failure:
            if not (failure.repeated and _was_written(operations, failure)):
                raise

    def query(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Page:
        """Query one partition of the table, or of ``index``, in sort key order.

        ``sort_prefix`` and ``between`` (inclusive) name the sort key and restrict the rows.
        """
        condition = Key(partition[0]).eq(partition[1])
        if prefix := which.get("sort_prefix"):
            condition = condition & Key(prefix[0]).begins_with(prefix[1])
        if between := which.get("between"):
            condition = condition & Key(between[0]).between(between[1], between[2])
        request: dict[str, Any] = {
            "TableName": self._name(table),
            **query_members(condition, which.get("filter")),
            "ScanIndexForward": not which.get("newest_first"),
        }
        request |= {"IndexName": index} if (index := which.get("index")) else {"ConsistentRead": True}
        request |= {"Limit": limit} if (limit := which.get("limit")) else {}
        request |= {"ExclusiveStartKey": pack(after)} if (after := which.get("after")) else {}
        answer = self._read(self._client.query, **request)
        last = answer.get("LastEvaluatedKey")
        return Page([unpack(item) for item in answer["Items"]], unpack(last) if last else None)

    def pages(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Iterator[Page]:
        """All pages of a ``query``; ``limit`` applies to each page."""
        while True:
            page = self.query(table, partition, **which)
            yield page
            if page.next is None:
                return
            which["after"] = page.next

    def each(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Iterator[Item]:
        """All rows of a ``query``, with pages read on demand."""
        for page in self.pages(table, partition, **which):
            yield from page.items

    def rows(self, table: str, partition: tuple[str, Any], *, sort_prefix: tuple[str, str] | None = None) -> list[Item]:
        """All rows of one partition in sort key order; for small collections only."""
        return list(self.each(table, partition, sort_prefix=sort_prefix))

    def scan(self, table: str) -> Iterator[Item]:
        """Every item of a table; for the operator's command line, never in a request."""
        request: dict[str, Any] = {"TableName": self._name(table), "ConsistentRead": True}
        while True:
            answer = self._read(self._client.scan, **request)
            yield from (unpack(item) for item in answer["Items"])
            if not answer.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _name(self, table: str) -> str:
        return f"{self.prefix}-{table}"

    def _member(self, operation: Operation) -> dict[str, Any]:
        match operation:
            case Put():
                return {"Put": self._put(operation)}
            case Update():
                return {"Update": self._update(operation)}
            case Delete():
                return {"Delete": self._delete(operation)}
            case Check():
                check = {"TableName": self._name(operation.table), "Key": pack(operation.key)}
                return {"ConditionCheck": check | condition_members(operation.condition)}

    def _put(self, put: Put) -> dict[str, Any]:
        return {"TableName": self._name(put.table), "Item": pack(put.item)} | condition_members(put.condition)

    def _delete(self, delete: Delete) -> dict[str, Any]:
        return {"TableName": self._name(delete.table), "Key": pack(delete.key)} | condition_members(delete.condition)

    def _update(self, update: Update) -> dict[str, Any]:
        request = {"TableName": self._name(update.table), "Key": pack(update.key)} | condition_members(update.condition)
        names = request.setdefault("ExpressionAttributeNames", {})
        values = request.setdefault("ExpressionAttributeValues", {})
        clauses = []
        verbs = {"SET": (" = ", update.set), "ADD": (" ", update.add), "DELETE": (" ", update.delete)}
        for verb, (between, changes) in verbs.items():
            parts = []
            for attribute, value in changes.items():
                name, placeholder = f"#u{len(names)}", f":u{len(values)}"
                names[name], values[placeholder] = attribute, serialize(value)
                parts.append(f"{name}{between}{placeholder}")
            clauses += [f"{verb} {', '.join(parts)}"] if parts else []
        removed = {f"#u{number}": attribute for number, attribute in enumerate(update.remove, len(names))}
        names |= removed
        clauses += [f"REMOVE {', '.join(removed)}"] if removed else []
        request["UpdateExpression"] = " ".join(clauses)
        if not values:
            del request["ExpressionAttributeValues"]
        return request

    def _read(self, call: Callable[..., T], **request: Any) -> T:
        for attempt in range(self.read_sendings - 2):
            try:
                return self._call_with_repeats(call, request)
            except AnswerLost:
                self.wait(attempt)
        return self._call_again_if_lost(lambda: self._call_with_repeats(call, request))

    def _call_with_repeats(self, call: Callable[..., T], request: dict[str, Any]) -> T:
        """Send a request and retry it after conflicts and throttling."""
        for attempt in range(ATTEMPTS):
            try:
                return self._call(call, **request)
            except Conflict:
                if attempt == ATTEMPTS - 1:
                    raise
                self.wait(attempt)
        raise AssertionError("unreachable")

    def _call_again_if_lost(self, send: Callable[[], T]) -> T:
        """Retry a request once after a lost response."""
        try:
            return send()
        except AnswerLost as failure:
            lost = failure
        self.wait(0)
        try:
            return send()
        except Conflict:
            raise lost from lost.__cause__  # the first attempt may have been applied
        except ConditionFailed as failure:
            failure.repeated = True
            raise

    def wait(self, attempt: int, at_most: float = inf) -> None:
        """Sleep with jitter, at most ``at_most`` seconds, before retry number ``attempt``."""
        self._pause(min(random.uniform(0, 0.025 * 2**attempt), at_most))

    def _call(self, call: Callable[..., T], **request: Any) -> T:
        try:
            return call(**request)
        except ClientError as error:
            raise store_error(error) from error
        except FAILED_ON_THE_WAY as error:
            raise AnswerLost(str(error)) from error
        except BotoCoreError as error:
            raise StoreUnavailable(str(error)) from error


def _was_written(operations: Sequence[Operation], failure: ConditionFailed) -> bool:
    """Whether a put failed because its own item is already stored."""
    failed = [(operations[position], failure.items[position]) for position in failure.failed]
    return any(isinstance(put, Put) and put.item == item for put, item in failed)
