"""Compresses responses like API Gateway with ``minimum_compression_size``."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from typing import Any

_LEVEL = 6
_ENTRY = re.compile(r"\s*(gzip|x-gzip|\*)\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?)\s*)?", re.IGNORECASE)


def compress(content: bytes, headers: dict[str, Any], accepted: Sequence[str] | None, smallest: int | None) -> bytes:
    """Compress a body of at least ``smallest`` bytes if the client accepts gzip. Returns the body to send.

    Adds ``Content-Encoding`` and ``Vary`` to ``headers``. A strong entity tag becomes weak (RFC 9110 §8.8.1), because
    the bytes differ. A body with an encoding and an empty body are unchanged.
    """
    if smallest is None or not content or len(content) < smallest or _value(headers, "Content-Encoding"):
        return content
    _vary(headers)
    if not accepts_gzip(",".join(accepted or ())):
        return content
    headers["Content-Encoding"] = "gzip"
    tag = _value(headers, "ETag")
    if tag and not tag.startswith("W/"):
        headers[_name(headers, "ETag")] = f"W/{tag}"
    return gzip.compress(content, _LEVEL, mtime=0)


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an ``Accept-Encoding`` header allows gzip (RFC 9110 §12.5.3), either by name or with ``*``."""
    weights = {
        found[1].lower().removeprefix("x-"): float(found[2] or 1)
        for entry in accept_encoding.split(",")
        if (found := _ENTRY.fullmatch(entry))
    }
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def _vary(headers: dict[str, Any]) -> None:
    known = [entry.strip() for entry in _value(headers, "Vary").split(",") if entry.strip()]
    if not {"*", "accept-encoding"} & {entry.lower() for entry in known}:
        headers[_name(headers, "Vary")] = ", ".join([*known, "Accept-Encoding"])


def _name(headers: Mapping[str, Any], name: str) -> str:
    return next((given for given in headers if given.lower() == name.lower()), name)


def _value(headers: Mapping[str, Any], name: str) -> str:
    value = headers.get(_name(headers, name)) or ""
    return value if isinstance(value, str) else ", ".join(value)
