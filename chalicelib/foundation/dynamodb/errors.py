"""The store's errors and their mapping from DynamoDB errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chalicelib.foundation.aws.errors import THROTTLED, ErrorResponse
from chalicelib.foundation.dynamodb.items import Item, unpack

_CONFLICTS = {"TransactionConflictException", "TransactionConflict"}
_FAILED = {"InternalServerError", "InternalFailure", "ServiceUnavailable"}
"""DynamoDB error codes for a failure inside DynamoDB."""
_IN_PROGRESS = "TransactionInProgressException"
_SERVER_ERROR = 500


class StoreError(Exception):
    """The base class of all store errors."""

    retry_after = 0.0
    """The number of seconds that DynamoDB requested to wait, or 0 without such a request."""


class ConditionFailed(StoreError):
    """A condition failed, so the attempt wrote no data.

    ``items`` has one entry per operation: the stored item if that operation's condition failed, otherwise ``None``.
    ``failed`` has the positions of the operations whose condition failed. ``repeated`` is true if the failed attempt
    was a retry after a lost response.
    """

    def __init__(self, items: Sequence[Item | None], failed: Sequence[int]) -> None:
        self.items = list(items)
        self.failed = list(failed)
        self.repeated = False
        super().__init__(f"condition failed at {self.failed}")

    @property
    def item(self) -> Item | None:
        """Return the stored item of the first failed operation."""
        return self.items[self.failed[0]]


class Busy(StoreError):
    """DynamoDB refused the call because of concurrent calls, even after retries. The caller may decide again later."""


class Conflict(Busy):
    """Concurrent writes blocked the call. No data was written."""


class Throttled(Busy):
    """DynamoDB currently accepts no more calls for this item or table."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        self.retry_after = retry_after
        super().__init__(reason)


class StoreUnavailable(StoreError):
    """DynamoDB was unreachable or refused the call. A write may or may not have been applied."""


class NeverSent(StoreUnavailable):
    """DynamoDB was unreachable. No data was written."""


class AnswerLost(StoreUnavailable):
    """DynamoDB returned no response, or failed internally. A retry may succeed."""


class InProgress(AnswerLost):
    """An earlier attempt at the same transaction is still in progress."""


def store_error(refusal: ErrorResponse) -> StoreError:
    """Convert a DynamoDB error to a store error."""
    code, members = refusal.code, refusal.members
    if code == "ConditionalCheckFailedException":
        item = members.get("Item")
        return ConditionFailed([unpack(item) if item else None], [0])
    if code == "TransactionCanceledException":
        return _cancellation_error(refusal, members.get("CancellationReasons", ()))
    if code in _CONFLICTS:
        return Conflict(refusal.title)
    if code in THROTTLED:
        return Throttled(refusal.title, refusal.retry_after)
    if code == _IN_PROGRESS:
        return InProgress(refusal.title)
    is_undecided = code in _FAILED or refusal.status >= _SERVER_ERROR
    return (AnswerLost if is_undecided else StoreUnavailable)(refusal.title)


def _cancellation_error(refusal: ErrorResponse, reasons: Iterable[Mapping[str, Any]]) -> StoreError:
    reasons = list(reasons)
    failed = [position for position, reason in enumerate(reasons) if reason.get("Code") == "ConditionalCheckFailed"]
    if failed:
        items = [unpack(reason["Item"]) if reason.get("Item") else None for reason in reasons]
        return ConditionFailed(items, failed)
    codes = {str(reason.get("Code")) for reason in reasons} - {"None"}
    named = f"{refusal.title}: {', '.join(sorted(codes))}"
    if codes <= _CONFLICTS:
        return Conflict(named)
    return Throttled(named, refusal.retry_after) if codes <= THROTTLED | _CONFLICTS else StoreUnavailable(named)
