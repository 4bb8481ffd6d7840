"""Errors of the store, and their mapping from DynamoDB's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ChecksumError, ClientError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as NotConnectedError
from botocore.parsers import ResponseParserError

from chalicelib.foundation.dynamodb.items import Item, unpack

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
_FAILED_INSIDE = {"InternalServerError", "InternalFailure", "ServiceUnavailable"}
FAILED_ON_THE_WAY = (NotConnectedError, HTTPClientError, IncompleteReadError, ChecksumError, ResponseParserError)
"""Errors of botocore for a missing or incomplete answer."""


class StoreError(Exception):
    """The base of the store's errors."""


class ConditionFailed(StoreError):
    """A condition did not hold; nothing was written.

    ``items`` has one entry per operation: the stored item if that operation's condition failed, else ``None``.
    ``failed`` has the positions of the operations whose condition failed. ``repeated`` is set when the answer to an
    earlier sending was lost.
    """

    def __init__(self, items: Sequence[Item | None], failed: Sequence[int]) -> None:
        self.items = list(items)
        self.failed = list(failed)
        self.repeated = False
        super().__init__(f"condition failed at {self.failed}")

    @property
    def item(self) -> Item | None:
        """The item of the first operation that failed."""
        return self.items[self.failed[0]]


class Conflict(StoreError):
    """Concurrent writes prevented this one, also after retries; nothing was written."""


class StoreUnavailable(StoreError):
    """DynamoDB could not be reached or refused the call; whether a write was applied is unknown."""


class AnswerLost(StoreUnavailable):
    """No answer, or a temporary failure: a repeat may help."""


def store_error(error: ClientError) -> StoreError:
    """The store's error for one of DynamoDB's."""
    code = error.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        item = error.response.get("Item")
        return ConditionFailed([unpack(item) if item else None], [0])
    if code == "TransactionCanceledException":
        return _cancellation_error(error.response.get("CancellationReasons", ()))
    if code in _TOO_BUSY:
        return Conflict(code)
    inside = code in _FAILED_INSIDE or error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500
    return (AnswerLost if inside else StoreUnavailable)(f"{error.operation_name}: {code}")


def _cancellation_error(reasons: Iterable[Mapping[str, Any]]) -> StoreError:
    reasons = list(reasons)
    failed = [position for position, reason in enumerate(reasons) if reason.get("Code") == "ConditionalCheckFailed"]
    if failed:
        items = [unpack(reason["Item"]) if reason.get("Item") else None for reason in reasons]
        return ConditionFailed(items, failed)
    codes = {str(reason.get("Code")) for reason in reasons} - {"None"}
    return Conflict(", ".join(codes)) if codes <= _TOO_BUSY else StoreUnavailable(", ".join(codes))
