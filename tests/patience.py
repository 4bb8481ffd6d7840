"""Waits of tests for what must come, with a time-out that a busy machine does not reach."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 180
"""The time-out of every wait for something that must come; a wait ends as soon as it has come."""
_PAUSE_SECONDS = 0.02

_Seen = TypeVar("_Seen")


def wait_for(look: Callable[[], _Seen | None], complaint: str = "it did not come") -> _Seen:
    """Look again and again until there is something to see. Raises: AssertionError, with ``complaint``."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < until, complaint
        time.sleep(_PAUSE_SECONDS)
    return seen


def limit_under_test(seconds: float) -> float:
    """A time limit of the product that a test reaches on purpose: it asserts what happens then, and not how soon."""
    return seconds
