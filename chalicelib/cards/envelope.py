"""The response envelope, as text: what is kept for repeats is handed out byte for byte, but for ``duplicated``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol.actions import Action
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.foundation import jsontext

_FIRST, _REPEAT = '"duplicated":0', '"duplicated":1'
_CARD_DATA = ("pan", "pin", "cvc2", "acs_password")


def success(action: Action, data: Any, number: int | None) -> str:
    """A success; ``number`` is the ``id`` that stands beside the data."""
    shown = jsontext.dumps({} if action.shape == "empty object" else data or [] if action.shape != "object" else data)
    beside = "" if number is None else f'"id":{number},'
    return f'{{"status":"success",{_FIRST},{beside}"data":{shown}}}'


def error(refusal: Refused) -> str:
    message = jsontext.dumps(refusal.message)
    return f'{{"status":"error",{_FIRST},"status_code":{int(refusal.status)},"message":{message}}}'


def as_repeat(answer: str) -> str:
    """The same answer to a repeated request."""
    return answer.replace(_FIRST, _REPEAT, 1)


def without_card_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of an answer for long."""
    return {name: value for name, value in data.items() if name not in _CARD_DATA}
