"""Waits for what other processes and threads do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

SECONDS = 15.0
"""Maximum wait; long enough for the second attempt of a delivery, which follows after 5 seconds."""
_PAUSE = 0.25

_Seen = TypeVar("_Seen")


def wait_for(look: Callable[[], _Seen], complaint: str) -> _Seen:
    """Poll ``look`` until it returns a true value; fails with ``complaint`` after ``SECONDS``."""
    deadline = time.monotonic() + SECONDS
    while not (seen := look()):
        assert time.monotonic() < deadline, f"{complaint} within {SECONDS:.0f} seconds"
        time.sleep(_PAUSE)
    return seen
