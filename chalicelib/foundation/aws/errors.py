"""Why a call of AWS has no result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

THROTTLED = {
    *("Throttling", "ThrottlingException", "ThrottledException", "ThrottlingError", "RequestThrottled"),
    *("RequestThrottledException", "TooManyRequestsException", "RequestLimitExceeded", "LimitExceededException"),
    *("ProvisionedThroughputExceededException", "ProvisionedThroughputExceeded", "BandwidthLimitExceeded"),
    *("PriorRequestNotComplete", "SlowDown", "EC2ThrottledException"),
}
"""Codes of AWS for too much traffic."""


class AwsError(Exception):
    """A call without a result. The message holds no credentials, and nothing of the request but its operation."""


class NotConfigured(AwsError):
    """Nothing was sent, because there are no credentials or no region."""


class NotSent(AwsError):
    """Nothing was sent: there was no connection, no time, or no answer of who has the credentials."""


class NoAnswer(AwsError):
    """The call was sent, and no complete answer came: it may have been carried out."""


class Refused(AwsError):
    """AWS answered with an error.

    Attributes:
        operation: as AWS names it, such as ``PutItem``.
        code: AWS's name of the error, or the HTTP status if the answer has none.
        status: the HTTP status.
        members: the answer's members, such as ``CancellationReasons``; empty if it is no JSON object.
        headers: the answer's headers, by lower-case name.
    """

    def __init__(
        self,
        operation: str,
        code: str,
        message: str = "",
        *,
        status: int = 400,
        members: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.operation = operation
        self.code = code
        self.status = status
        self.members = members or {}
        self.headers = headers or {}
        super().__init__(f"{operation}: {code}" + (f": {message}" if message else ""))


class SecretChanged(Exception):
    """The secret was changed concurrently; the other change takes precedence."""
