"""The DynamoDB store: strongly consistent reads, conditional writes, transactions and paginated queries.

Callers use short table names (``clients``); this module adds the stage's prefix. Items are plain dictionaries of
strings, integers, ``Decimal``, bytes, booleans, ``None``, lists and dictionaries; floats are refused.

Only the store retries DynamoDB calls, except a call whose signature was refused. If a response is lost because of a
network error or a DynamoDB failure, the store retries the call for up to ``PATIENCE`` seconds if a retry is safe:

- Reads, and puts and deletes without a condition, are idempotent. The retry overwrites any write made in between,
  as if the call had been later.
- Conditional puts: if an earlier attempt was applied, the retry's condition fails. A failed condition counts as
  success if the stored item equals the new item.
- Transactions are sent up to 20 times with their token. DynamoDB recognises the token, completes a transaction
  that is still in progress, and applies it once. Some emulators do not recognise the token, so a condition that
  fails in a retry counts as success if the item of a conditional put is stored.
- Updates and conditional deletes are not retried after a lost response. They have no token, and their result does
  not identify the writer: a number could be added twice, and another caller may have deleted the item. Use a
  transaction if the outcome must be known.

Conflicts with other transactions, and throttled calls within the process's budget, are retried with jitter before they
are reported. The deadline of a request ends all retries (``foundation.context``).
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from math import inf
from typing import Any, TypedDict, Unpack

from chalicelib.foundation import context
from chalicelib.foundation.aws.calls import REPEATS, RepeatBudget
from chalicelib.foundation.aws.errors import AwsError, ErrorResponse, NoAnswer, NotSent
from chalicelib.foundation.dynamodb.conditions import Attr, Condition, projection_members, query_members
from chalicelib.foundation.dynamodb.errors import (
    AnswerLost,
    Busy,
    ConditionFailed,
    Conflict,
    NeverSent,
    StoreError,
    StoreUnavailable,
    Throttled,
    store_error,
)
from chalicelib.foundation.dynamodb.items import Item, pack, unpack
from chalicelib.foundation.dynamodb.operations import (
    Check,
    Delete,
    Operation,
    Put,
    Update,
    delete_members,
    put_members,
    transaction_member,
    update_members,
)
from chalicelib.foundation.lazy_dataclasses import dataclass

__all__ = [
    "ATTEMPTS",
    "PATIENCE",
    "SENDINGS",
    "AnswerLost",
    "Busy",
    "Check",
    "ConditionFailed",
    "Conflict",
    "Delete",
    "Item",
    "NeverSent",
    "Operation",
    "Page",
    "Put",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "Throttled",
    "Update",
    "Which",
    "absent",
]

Send = Callable[[str, dict[str, Any]], dict[str, Any]]

ATTEMPTS = 6
"""The maximum number of attempts at a call that conflicts with other calls or is throttled."""
SENDINGS = 3
"""The maximum number of attempts at a read, a put or an unconditional delete. After the last attempt, the response
counts as lost.
"""
PATIENCE = 12.0
"""The number of seconds after the first attempt within which a call may be sent again."""
_TRANSACTION_SENDINGS = 20
_LONGEST_WAIT = 2.0
_BATCH = 100


@dataclass(frozen=True, slots=True)
class Page:
    """One page of rows. Pass ``next`` as ``after`` to get the following page. ``next`` is ``None`` on the last page."""

    items: list[Item]
    next: Item | None


class Which(TypedDict, total=False):
    """The options of ``Store.query``: filters, order and paging.

    ``limit`` counts the rows before ``filter``, which drops rows on the server.
    """

    index: str | None
    sort_prefix: tuple[str, str] | None
    between: tuple[str, int, int] | tuple[str, str, str] | None
    after: Item | None
    filter: Condition | None
    limit: int | None
    newest_first: bool


def absent(key: str) -> Condition:
    """Create the condition that the item does not exist. ``key`` is the table's partition key."""
    return Attr(key).not_exists()


class Store:
    """All access to DynamoDB.

    Args:
        send: sends a DynamoDB call once, given the call's name and members; raises ``AwsError``.
        prefix: the prefix of the stage's table names.
        pause: sleeps between retries, in seconds; tests pass a function that returns immediately.
        patience: the number of seconds after the first attempt within which a call may be sent again.
        monotonic: the clock for ``patience``, in seconds.
        budget: the retry budget for throttled calls, shared by all stores of a process.
    """

    def __init__(
        self,
        send: Send,
        prefix: str,
        pause: Callable[[float], None] = time.sleep,
        *,
        patience: float = PATIENCE,
        monotonic: Callable[[], float] = time.monotonic,
        budget: RepeatBudget = REPEATS,
    ) -> None:
        self.send = send
        self.prefix = prefix
        self.pause = pause
        self.patience = patience
        self._monotonic = monotonic
        self._budget = budget
        self.read_sendings = SENDINGS
        """The maximum number of attempts at a read before its response counts as lost. Tasks that take minutes increase
        it.
        """

    def get(self, table: str, key: Item) -> Item | None:
        """Read one item with strong consistency."""
        return self.batch_get([(table, key)])[0]

    def batch_get(self, keys: Sequence[tuple[str, Item]], attributes: Sequence[str] = ()) -> list[Item | None]:
        """Read up to 100 items of any tables with strong consistency. Return the items in the order of ``keys``, and
        ``None`` for each missing item.

        ``attributes``, which must include the keys, limit the attributes that are read.
        """
        if len(keys) > _BATCH:
            raise ValueError(f"at most {_BATCH} items can be read in one call")
        request: dict[str, Any] = {}
        shown = projection_members(attributes) if attributes else {}
        for table, key in keys:
            wanted = request.setdefault(self._name(table), {"Keys": [], "ConsistentRead": True, **shown})["Keys"]
            packed = pack(key)
            if packed not in wanted:
                wanted.append(packed)
        found: dict[str, list[Item]] = {}
        for attempt in range(ATTEMPTS):
            answer = self._repeat("BatchGetItem", {"RequestItems": request}, self.read_sendings)
            for name, items in answer["Responses"].items():
                found.setdefault(name, []).extend(unpack(item) for item in items)
            request = answer.get("UnprocessedKeys") or {}
            if not request:
                self._budget.give_back(attempt)
                in_order = [(found.get(self._name(table), ()), key.items()) for table, key in keys]
                return [next((item for item in items if item.items() >= key), None) for items, key in in_order]
            if attempt + 1 == ATTEMPTS or not self._budget.take():
                break
            self.wait(attempt)
        raise Throttled("DynamoDB left keys unprocessed")

    def put(self, table: str, item: Item, condition: Condition | None = None) -> None:
        """Replace or create an item.

        Raises:
            ConditionFailed: the condition failed and the stored item is not already ``item``.
        """
        try:
            self._repeat("PutItem", put_members(Put(table, item, condition), self._name(table)), SENDINGS)
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
        condition: Condition | None = None,
    ) -> Item:
        """Update one item and return its new attributes. Not retried after a lost response.

        Raises: ConditionFailed.
        """
        request = update_members(Update(table, key, set or {}, remove, add or {}, condition), self._name(table))
        answer = self._repeat("UpdateItem", {**request, "ReturnValues": "ALL_NEW"}, 1)
        return unpack(answer["Attributes"])

    def delete(self, table: str, key: Item, condition: Condition | None = None) -> None:
        """Delete one item, if it exists. A conditional delete is not retried after a lost response.

        Raises: ConditionFailed.
        """
        request = delete_members(Delete(table, key, condition), self._name(table))
        self._repeat("DeleteItem", request, SENDINGS if condition is None else 1)

    def transact(self, operations: Sequence[Operation]) -> None:
        """Apply either all operations or none.

        Raises:
            ConditionFailed: a condition failed. The error contains the stored items.
            Busy: every attempt conflicted with other transactions, or was throttled.
            AnswerLost: DynamoDB did not report in time whether the operations were applied. They may still be applied.
        """
        members = [transaction_member(operation, self._name(operation.table)) for operation in operations]
        request = {"TransactItems": members, "ClientRequestToken": secrets.token_hex(16)}
        try:
            self._repeat("TransactWriteItems", request, _TRANSACTION_SENDINGS)
        except ConditionFailed as failure:
            if not (failure.repeated and _was_written(operations, failure)):
                raise

    def query(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Page:
        """Query one partition of the table, or of ``index``, in sort key order.

        ``sort_prefix`` and ``between`` (inclusive) name the sort key and restrict the rows.
        """
        condition = Attr(partition[0]).eq(partition[1])
        if prefix := which.get("sort_prefix"):
            condition = condition & Attr(prefix[0]).begins_with(prefix[1])
        if between := which.get("between"):
            condition = condition & Attr(between[0]).between(between[1], between[2])
        request: dict[str, Any] = {
            "TableName": self._name(table),
            **query_members(condition, which.get("filter")),
            "ScanIndexForward": not which.get("newest_first"),
        }
        request |= {"IndexName": index} if (index := which.get("index")) else {"ConsistentRead": True}
        request |= {"Limit": limit} if (limit := which.get("limit")) else {}
        request |= {"ExclusiveStartKey": pack(after)} if (after := which.get("after")) else {}
        return _page(self._repeat("Query", request, self.read_sendings))

    def pages(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Iterator[Page]:
        """Yield all pages of a ``query``. ``limit`` applies to each page."""
        while True:
            page = self.query(table, partition, **which)
            yield page
            if page.next is None:
                return
            which["after"] = page.next

    def each(self, table: str, partition: tuple[str, Any], **which: Unpack[Which]) -> Iterator[Item]:
        """Yield all rows of a ``query``, reading pages on demand."""
        for page in self.pages(table, partition, **which):
            yield from page.items

    def rows(self, table: str, partition: tuple[str, Any], *, sort_prefix: tuple[str, str] | None = None) -> list[Item]:
        """Return all rows of one partition in sort key order. Use it only for small collections."""
        return list(self.each(table, partition, sort_prefix=sort_prefix))

    def scan(self, table: str) -> Iterator[Item]:
        """Yield every item of a table. Use it only in the operator's commands, never in a request."""
        page = self.scan_page(table)
        yield from page.items
        while page.next is not None:
            page = self.scan_page(table, page.next)
            yield from page.items

    def scan_page(self, table: str, after: Item | None = None, limit: int | None = None) -> Page:
        """Read a page of a table, in no particular order. Use it only for tasks on whole tables, never in a request."""
        request: dict[str, Any] = {"TableName": self._name(table), "ConsistentRead": True}
        request |= {"Limit": limit} if limit else {}
        request |= {"ExclusiveStartKey": pack(after)} if after else {}
        return _page(self._repeat("Scan", request, self.read_sendings))

    def _name(self, table: str) -> str:
        return f"{self.prefix}-{table}"

    def _repeat(self, operation: str, request: Item, sendings: int) -> Item:
        """Send a request, up to ``sendings`` times after lost responses.

        Requests that conflicted, were throttled or were not sent are always retried, because DynamoDB did not apply
        them.
        """
        until = self._monotonic() + self.patience
        lost: AnswerLost | None = None
        losses = blocked = unsent = throttled = 0
        for attempt in count():
            if context.is_over():
                raise lost or NeverSent("the time limit of the request is over")
            try:
                answer = self.call_once(operation, request)
                self._budget.give_back(throttled)
                return answer
            except ConditionFailed as failure:
                failure.repeated = lost is not None
                raise
            except AnswerLost as failure:
                error: StoreError = failure
                lost, losses = failure, losses + 1
            except Conflict as failure:
                error, blocked = failure, blocked + 1
            except Throttled as failure:
                error, throttled = failure, throttled + 1
            except NeverSent as failure:
                error, unsent = failure, unsent + 1
            except StoreUnavailable as failure:  # of a repeat, it says nothing of the call whose response was lost
                refused = lost or failure
                raise refused from refused.__cause__
            is_last = losses >= sendings or blocked + throttled >= ATTEMPTS or unsent >= SENDINGS
            is_last = is_last or self._monotonic() >= until
            if is_last or (isinstance(error, Throttled) and not self._budget.take()):
                outcome = lost or error  # after a lost response, an earlier attempt may have been applied
                raise outcome from outcome.__cause__
            self.wait(attempt, at_least=error.retry_after)
        raise AssertionError("unreachable")

    def wait(self, attempt: int, at_most: float = inf, *, at_least: float = 0.0) -> None:
        """Sleep with jitter, at most ``at_most`` seconds, before retry number ``attempt``."""
        at_most = max(0.0, min(at_most, context.seconds_left()))
        jitter = random.uniform(0, min(0.025 * 2**attempt, _LONGEST_WAIT))
        self.pause(min(min(at_least, _LONGEST_WAIT) + jitter, at_most))

    def call_once(self, operation: str, request: Item) -> Item:
        try:
            return self.send(operation, request)
        except ErrorResponse as error:
            raise store_error(error) from error
        except NotSent as error:
            raise NeverSent(str(error)) from error
        except NoAnswer as error:
            raise AnswerLost(str(error)) from error
        except AwsError as error:
            raise StoreUnavailable(str(error)) from error


def _page(answer: Mapping[str, Any]) -> Page:
    last = answer.get("LastEvaluatedKey")
    return Page([unpack(item) for item in answer["Items"]], unpack(last) if last else None)


def _was_written(operations: Sequence[Operation], failure: ConditionFailed) -> bool:
    """Whether a put failed only because an earlier attempt had already stored the item."""
    failed = [(operations[position], failure.items[position]) for position in failure.failed]
    return any(isinstance(put, Put) and put.item == item for put, item in failed)
