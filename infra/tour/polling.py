"""Waits for what the tour expects, and ends the tour when it does not come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

SECONDS = 60.0
"""Maximum wait; long enough for a busy machine, and for second attempts of deliveries."""
_PAUSE = 0.25

_Seen = TypeVar("_Seen")


class TourFailed(Exception):
    """The tour cannot continue; the message is one sentence."""


def wait_for(look: Callable[[], _Seen], complaint: str) -> _Seen:
    """Poll ``look`` until it returns a true value. Raises: TourFailed, with ``complaint``, after ``SECONDS``."""
    deadline = time.monotonic() + SECONDS
    while not (seen := look()):
        if time.monotonic() >= deadline:
            raise TourFailed(f"{complaint} within {SECONDS:.0f} seconds")
        time.sleep(_PAUSE)
    return seen
