"""Signatures of requests (AWS Signature Version 4), by botocore's signer.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from botocore.auth import SIGV4_TIMESTAMP, SigV4Auth
from botocore.awsrequest import AWSRequest

from chalicelib.foundation.aws.environment import Credentials

_TOLERATED_SECONDS = 240
"""AWS refuses signatures that are 5 minutes old, or ahead of its time."""
_skew_seconds = 0.0
"""How far this machine's clock is behind AWS's, as far as known."""


class _Signer(SigV4Auth):  # type: ignore[misc]
    """The signer at AWS's time, for a body in memory."""

    def _modify_request_before_signing(self, request: Any) -> None:
        now = datetime.fromtimestamp(time.time() + _skew_seconds, UTC)
        request.context["timestamp"] = now.strftime(SIGV4_TIMESTAMP)
        super()._modify_request_before_signing(request)

    def payload(self, request: Any) -> str:
        return hashlib.sha256(request.data).hexdigest()


def sign(
    service: str, region: str, credentials: Credentials, url: str, headers: dict[str, str], body: bytes
) -> dict[str, str]:
    """The headers of a POST with its signature."""
    request = AWSRequest("POST", url, headers, body)
    _Signer(credentials, service, region).add_auth(request)
    return dict(request.headers.items())


def is_out_of_date(headers: Mapping[str, str], date: str) -> bool:
    """Whether AWS answered a signed request at a ``date`` far from that of its signature; then sign at AWS's time from
    now on.
    """
    global _skew_seconds
    try:
        there = parsedate_to_datetime(date)
    except ValueError:
        return False
    signed = datetime.strptime(headers["X-Amz-Date"], f"{SIGV4_TIMESTAMP[:-1]}%z")
    if abs((there - signed).total_seconds()) <= _TOLERATED_SECONDS:
        return False
    _skew_seconds = there.timestamp() - time.time()
    return True
