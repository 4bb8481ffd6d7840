"""What two requests come to: their answers, and what banks received, without identifiers and times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from chalicelib.foundation import jsontext
from tests.interleavings.scheduler import Played
from tests.world import Answer, World

_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Za-z0-9_-]{20,}")
"""Identifiers, tokens and codes."""
_IN_PROGRESS = "is still in progress"


def outcome(world: World, played: Played) -> str:
    """The answers of the requests in their order, and the calls of banks; random values are numbered as they come."""
    called = [(version, each.path) for version, side in world.banks.items() for each in side.received]
    return _numbered([[_content(result) for result in played.results], called])


def answer(result: Any) -> str:
    """One answer, likewise."""
    return _numbered(_content(result))


def in_progress(results: Sequence[Any]) -> Sequence[int]:
    """The numbers of the requests that were asked to come again, since another one is still in progress."""
    return [
        number
        for number, result in enumerate(results)
        if isinstance(result, Answer) and result.status == 409 and _IN_PROGRESS in result.text
    ]


def _content(result: Any) -> Any:
    return [result.status, result.text] if isinstance(result, Answer) else repr(result)


def _numbered(value: Any) -> str:
    names: dict[str, str] = {}
    return _RANDOM.sub(lambda found: names.setdefault(found[0], f"#{len(names)}"), jsontext.dumps(value))
