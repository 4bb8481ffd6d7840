"""How long the tour waits for what others do, and what it says when that was in vain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

SECONDS = 15.0
"""Enough for the second attempt at a delivery, which is made after 5 seconds."""
_PAUSE = 0.25

_Seen = TypeVar("_Seen")


class TourFailed(Exception):
    """Something was not as the tour needs it to go on; the message is one sentence."""


def until(look: Callable[[], _Seen], complaint: str) -> _Seen:
    """Look again and again, until there is something to see. Raises: TourFailed, with ``complaint``."""
    deadline = time.monotonic() + SECONDS
    while not (seen := look()):
        if time.monotonic() >= deadline:
            raise TourFailed(f"{complaint} within {SECONDS:.0f} seconds")
        time.sleep(_PAUSE)
    return seen
