"""Exceptions for AWS calls without a result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SECONDS = re.compile("[0-9]{1,6}")

THROTTLED = {
    *("Throttling", "ThrottlingException", "ThrottledException", "ThrottlingError", "RequestThrottled"),
    *("RequestThrottledException", "TooManyRequestsException", "RequestLimitExceeded", "LimitExceededException"),
    *("ProvisionedThroughputExceededException", "ProvisionedThroughputExceeded", "BandwidthLimitExceeded"),
    *("PriorRequestNotComplete", "SlowDown", "EC2ThrottledException"),
}
"""AWS error codes for throttled requests."""


class AwsError(Exception):
    """An AWS call failed. The message contains no credentials, and no part of the request except the operation."""


class NotConfigured(AwsError):
    """The request was not sent: a setting is missing or invalid, or the credentials are refused."""


class NotSent(AwsError):
    """The request was not sent: no connection, no time left, or no response from the source of credentials."""


class NoAnswer(AwsError):
    """The request was sent without a complete response. AWS may have executed it."""


class ErrorResponse(AwsError):
    """AWS returned an error.

    Attributes:
        operation: AWS's name, such as ``PutItem``.
        code: AWS's error code, or the HTTP status if the response has no code.
        status: the HTTP status.
        members: the response's members, such as ``CancellationReasons``; empty if it is not a JSON object.
        headers: the response's headers, by lower-case name.
        request_id: AWS's identifier of the request, for support cases; empty if the response has none.
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
        self.request_id = self.headers.get("x-amzn-requestid", "")
        super().__init__(_sentence(f"{operation}: {code}" + (f": {message}" if message else ""), self.request_id))

    @property
    def title(self) -> str:
        """Return the error without AWS's message, which may quote the request."""
        return _sentence(f"{self.operation}: {self.code}", self.request_id)

    @property
    def retry_after(self) -> float:
        """Return the number of seconds that AWS requested to wait before the next attempt. The default is 0."""
        asked = self.headers.get("retry-after", "")
        return float(asked) if _SECONDS.fullmatch(asked) else 0.0


def _sentence(error: str, request_id: str) -> str:
    return f"{error} (request {request_id})" if request_id else error


class SecretChanged(Exception):
    """The secret was changed concurrently. The other change takes precedence."""
