"""Signatures of requests (AWS Signature Version 4).

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html

botocore's signer handles any request, but takes four times as long, and its imports take a tenth of a cold start. All
requests here are POSTs without a query. Tests compare the signatures with botocore's.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from urllib.parse import quote, urlsplit

from chalicelib.foundation.aws.environment import Credentials

_ALGORITHM, _REQUEST = "AWS4-HMAC-SHA256", "aws4_request"
_TIMESTAMP = "%Y%m%dT%H%M%SZ"
_UNSIGNED = ("user-agent", "x-amzn-trace-id")
"""Headers that are not signed, because proxies and tracing may change them."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TOLERATED_SECONDS = 240
"""The maximum clock difference for signatures. AWS tolerates 5 minutes, of which one minute is left for transmission.
"""
skew_seconds = 0.0
"""The number of seconds by which this machine's clock is known to be behind AWS's clock."""


def sign(
    service: str, region: str, credentials: Credentials, url: str, headers: Mapping[str, str], body: bytes
) -> dict[str, str]:
    """Return the headers of a POST request, including the signature for AWS's current time."""
    now = time.strftime(_TIMESTAMP, time.gmtime(time.time() + skew_seconds))
    sent = {**headers, "X-Amz-Date": now}
    if credentials.token:
        sent["X-Amz-Security-Token"] = credentials.token
    host, path = _host_and_path(url)
    lower = {"host": host} | {name.lower(): " ".join(value.split()) for name, value in sent.items()}
    names = sorted(lower.keys() - _UNSIGNED)
    lines = [f"{name}:{lower[name]}" for name in names]
    signed, scope = ";".join(names), f"{now[:8]}/{region}/{service}/{_REQUEST}"
    request = "\n".join(["POST", path, "", *lines, "", signed, hashlib.sha256(body).hexdigest()])
    text = "\n".join([_ALGORITHM, now, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = _key(credentials.secret_key, now[:8], region, service)
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{credentials.access_key}/{scope}"
    sent["Authorization"] = f"{_ALGORITHM} Credential={credential}, SignedHeaders={signed}, Signature={signature}"
    return sent


@lru_cache(maxsize=64)
def _host_and_path(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    host = f"[{host}]" if ":" in host else host
    is_default = port in (None, _DEFAULT_PORTS.get(parts.scheme))
    return host if is_default else f"{host}:{port}", quote(parts.path or "/", safe="/~")


@lru_cache(maxsize=8)
def _key(secret: str, date: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, _REQUEST):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def is_out_of_date(headers: Mapping[str, str], date: str) -> bool:
    """Whether the ``date`` of AWS's response differs too much from the time of the signature. If so, AWS's time is used
    from then on.
    """
    global skew_seconds
    try:
        there = parsedate_to_datetime(date)
    except ValueError:
        return False
    there = there.replace(tzinfo=there.tzinfo or UTC)
    signed = datetime.strptime(headers["X-Amz-Date"], _TIMESTAMP).replace(tzinfo=UTC)
    if abs((there - signed).total_seconds()) <= _TOLERATED_SECONDS:
        return False
    skew_seconds = there.timestamp() - time.time()
    return True
