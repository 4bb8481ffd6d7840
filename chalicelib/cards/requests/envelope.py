"""The response envelope as text; repeats get the stored bytes except for ``duplicated``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol.card_records import EMPTY_LATER, KEPT_SHORTLY
from chalicelib.cards.protocol.status_codes import Refused
from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass

_FIRST, _REPEAT = '"duplicated":0', '"duplicated":1'


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: the envelope as text, and the seconds of its header ``Retry-After``, if it has one."""

    text: str
    retry_after: int | None = None


def success(data: Any, beside: Mapping[str, Any]) -> str:
    """A success envelope; ``beside`` are members next to ``data``, which is ``[]`` if there is none."""
    members = "".join(f"{jsontext.dumps(name)}:{jsontext.dumps(value)}," for name, value in beside.items())
    return f'{{"status":"success",{_FIRST},{members}"data":{jsontext.dumps(() if data is None else data)}}}'


def error(refusal: Refused) -> str:
    message = jsontext.dumps(refusal.message)
    return f'{{"status":"error",{_FIRST},"status_code":{int(refusal.status)},"message":{message}}}'


def mark_as_repeat(answer: str) -> str:
    """The stored response, marked as duplicated."""
    return answer.replace(_FIRST, _REPEAT, 1)


def remove_card_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Response data without the card data that is stored only briefly; mandatory members are emptied."""
    found = ((name, EMPTY_LATER.get(name, value)) for name, value in data.items())
    return {name: value for name, value in found if name not in KEPT_SHORTLY or name in EMPTY_LATER}


def remove_expiry(answer: str) -> str:
    """A stored response without the expiry, for a credential whose disclosure modes have changed."""
    members = jsontext.loads(answer)
    if isinstance(members.get("data"), dict):
        members["data"].pop("expiration", None)
    return jsontext.dumps(members)
