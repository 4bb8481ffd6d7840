"""Pairs of requests by their titles."""

from __future__ import annotations

from collections.abc import Callable

from tests.interleavings.scheduler import Request
from tests.world import World

Pair = tuple[Request, Request]
Prepare = Callable[[World], Pair]


class Pairs(dict[str, Prepare]):
    """The pairs of a module: each is a function that prepares it in a world, and gives it its name as the title."""

    def __call__(self, prepare: Prepare) -> Prepare:
        self[prepare.__name__.replace("_", " ")] = prepare
        return prepare
