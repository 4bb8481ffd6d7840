"""Times as an operator gives them: a timestamp, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import typer

from infra.admin.output import Refused

HELP = "A timestamp like 2026-03-02T09:00:00Z, in UTC unless it says otherwise, or how long ago: 30m, 2h, 3d."
OVERLAP = 24 * 3600
LONGEST_OVERLAP = 30 * OVERLAP
"""How long, in seconds, a new key or secret and the one before it are in use together."""
_SPAN = re.compile(r"([0-9]{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}


def moment(text: str, now: int) -> int:
    """Unix seconds. Raises: Refused, for what is no time or lies ahead."""
    span = _SPAN.fullmatch(text.strip())
    seconds = now - int(span[1]) * _SECONDS[span[2]] if span else _timestamp(text.strip())
    if seconds > now:
        raise Refused(f"{text} lies in the future")
    return max(seconds, 0)


def overlap(explained: str) -> Any:
    """The option ``--overlap SECONDS`` of a rotation; ``explained`` is its help."""
    return typer.Option(min=0, max=LONGEST_OVERLAP, metavar="SECONDS", help=explained)


def _timestamp(text: str) -> int:
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        form = "give a timestamp like 2026-03-02T09:00:00Z, or how long ago: 30m, 2h, 3d"
        raise Refused(f"{text!r} is no time: {form}") from None
    return int((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp())
