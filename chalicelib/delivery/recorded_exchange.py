"""The record of an attempt's exchange: headers, and the beginning of the receiver's response body.

The values of harmless headers are recorded. Of all other headers, only the names are recorded. The recorded size is
limited: a message takes at most 4 KB, so the 20 attempts of a record, with two messages each, take 160 KB of the
maximum item size of 400 KB.

The response is stored for the owner of the client. The response is text: invalid UTF-8 and control characters become
U+FFFD. Values of request headers that prove an identity are masked, because some receivers include these values in
responses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from chalicelib.foundation.context import CapturedHeaders

MASK = "***"
HARMLESS = frozenset(
    {
        "accept",
        "accept-encoding",
        "age",
        "allow",
        "cache-control",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "expires",
        "keep-alive",
        "pragma",
        "retry-after",
        "server",
        "transfer-encoding",
        "user-agent",
        "vary",
        "webhook-id",
        "webhook-timestamp",
        "x-request-id",
    }
)
"""The headers whose values are recorded. These headers describe the transport and contain no identity or credentials.
"""
MOST, NAME_LENGTH, VALUE_LENGTH = 32, 64, 128
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_SEPARATORS = re.compile(r"[ .,]+")
_SHORTEST = 7
"""The minimum length of a secret value to mask, which is the length of an IPv4 address. Shorter values occur by chance.
"""
_PART_LENGTH = 16
"""The minimum length of a part of a credential that is treated as secret."""


def record_headers(exchange: CapturedHeaders) -> dict[str, dict[str, str]]:
    """Return the headers ``sent`` and ``received`` in an attempt, by lower-case name, without empty members."""
    secrets = secret_values(exchange)
    messages = {"sent": exchange.sent, "received": exchange.received}
    return {name: dict(_visible_headers(headers, secrets)) for name, headers in messages.items() if headers is not None}


def _visible_headers(headers: Mapping[str, str], secrets: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the first headers of a message. Values are masked unless they are harmless, and names that contain a secret
    are omitted.
    """
    for name in [*headers][:MOST]:
        lower, value = name.lower(), headers[name]
        if not _NAME.fullmatch(lower) or _contains_secret(lower, secrets):
            continue
        harmless = (
            lower in HARMLESS and value.isascii() and value.isprintable() and not _contains_secret(value, secrets)
        )
        yield lower[:NAME_LENGTH], value[:VALUE_LENGTH] if harmless else MASK


def secret_values(exchange: CapturedHeaders) -> Collection[str]:
    """Return the values of sent headers that must be masked, whole and in parts, in lower case."""
    sent = exchange.sent or {}
    values = [value.lower() for name, value in sent.items() if name.lower() not in HARMLESS]
    parts = [part for value in values for part in _SEPARATORS.split(value) if len(part) >= _PART_LENGTH]
    return {*(value for value in values if len(value) >= _SHORTEST), *parts}


def _contains_secret(text: str, secrets: Collection[str]) -> bool:
    return any(secret in text.lower() for secret in secrets)


MAX_RECORDED_BYTES = 2048
"""The maximum number of bytes of a response body that are stored for an attempt."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def record_answer(exchange: CapturedHeaders) -> str:
    """Return the beginning of an attempt's response body, at most ``MAX_RECORDED_BYTES`` of UTF-8. It may be empty."""
    text = exchange.beginning.decode(errors="replace")
    for secret in sorted(secret_values(exchange), key=len, reverse=True):
        text = re.sub(re.escape(secret), MASK, text, flags=re.IGNORECASE)
    return _CONTROL.sub("\ufffd", text).encode()[:MAX_RECORDED_BYTES].decode(errors="ignore")
