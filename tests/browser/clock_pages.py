"""The page of the clock, before time is moved: the stack of all walks stays in real time."""

from __future__ import annotations

from tests.browser import user
from tests.browser.visitor import Visitor
from tests.browser.walks import Walk, presses


def walks() -> tuple[Walk, ...]:
    """The form, and a move that is too long."""
    return (Walk("clock", (("form", _opens_the_clock), ("refused", presses("Move time", number="401")))),)


def _opens_the_clock(visitor: Visitor) -> None:
    user.register(visitor)
    visitor.follow("Clock")
