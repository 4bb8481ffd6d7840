"""Requests as the card API reads them, and the refusals of wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.cards.protocol.status_codes import Refused
from tests.cards.whole_requests import EVERY_ACTION, Members


def read(action: str, members: Members) -> Any:
    return EVERY_ACTION[action].request.read_fields(members)


def refusal(action: str, members: Members) -> tuple[int, str]:
    """The code and the message that a request is refused with."""
    with pytest.raises(Refused) as refused:
        read(action, members)
    return int(refused.value.status), refused.value.message


def refusal_if_any(action: str, members: Members) -> tuple[int | None, str]:
    """The same of a request that may be right: then there is no code."""
    try:
        read(action, members)
    except Refused as refused:
        return int(refused.status), refused.message
    return None, ""
