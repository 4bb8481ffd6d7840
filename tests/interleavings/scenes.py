"""Scenes: objects that several requests have to do with, which are made at once or one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.causeway import Causeway
from tests.interleavings.scheduler import Request


class Requests(dict[str, Request]):
    """The requests of a scene by their names."""

    def take(self, name: str) -> Request:
        """A request that is made at the same time as others. Raises: KeyError."""
        return self[name]


@dataclass(frozen=True)
class Scene:
    """What prepares a scene in a service, and those of its pairs that are played in every order: ``redeem, revoke``."""

    prepare: Callable[[Causeway], Requests]
    pairs: Sequence[str]


class Scenes(dict[str, Scene]):
    """The scenes of a module: each is a function that prepares it, and gives it its name."""

    def __call__(self, *pairs: str) -> Callable[[Callable[[Causeway], Requests]], Callable[[Causeway], Requests]]:
        def note(prepare: Callable[[Causeway], Requests]) -> Callable[[Causeway], Requests]:
            self[prepare.__name__.replace("_", " ")] = Scene(prepare, pairs)
            return prepare

        return note
