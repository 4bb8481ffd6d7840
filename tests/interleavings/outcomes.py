"""What two requests come to: their answers, and what banks received, without identifiers and times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from chalicelib.foundation import jsontext
from tests.cards.scenes import Envelope
from tests.interleavings.scheduler import Played
from tests.world import Answer, World

_NAMES = r"\w*id|\w*reference|trans_link|auth_code|pan|pin|cvc2|acs_password|account_number"
_NUMBERS = rf'(?:{_NAMES})\\*":\s*(?:\d+|\\*"\w*)'
_RANDOM = re.compile(rf"{_NUMBERS}|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}|[A-Za-z0-9_-]{{20,}}")
"""Identifiers, tokens and codes."""
_IN_PROGRESS = "is still in progress"
_TRY_AGAIN = (8001, 8003)
"""Codes of the card API: in progress, and in conflict with others."""


def outcome(world: World, played: Played) -> str:
    """The answers of the requests in their order, and the calls of banks; random values are numbered as they come."""
    called = [(version, each.path) for version, side in world.banks.items() for each in side.received]
    return _numbered([[_content(result) for result in played.results], called])


def answer(result: Any) -> str:
    """One answer, likewise."""
    return _numbered(_content(result))


def in_progress(results: Sequence[Any]) -> Sequence[int]:
    """The numbers of the requests that were asked to come again, since another one is still in progress."""
    return [number for number, result in enumerate(results) if _is_in_progress(result)]


def _is_in_progress(result: Any) -> bool:
    match result:
        case Answer(409, _, text):
            return _IN_PROGRESS in text
        case Envelope():
            return result.status_code in _TRY_AGAIN or (result.data or {}).get("response_code") == "91"
        case _:
            return False


def _content(result: Any) -> Any:
    match result:
        case Answer(status, _, text):
            return [status, text]
        case Envelope(raw):
            return raw
        case _:
            return repr(result)


def _numbered(value: Any) -> str:
    names: dict[str, str] = {}
    return _RANDOM.sub(lambda found: names.setdefault(found[0], f"#{len(names)}"), jsontext.dumps(value))
