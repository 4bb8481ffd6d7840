"""Simulated storage with slow calls and lost responses. Each call is executed immediately, later or never.

Each call advances the issuer's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from chalicelib.foundation.aws.errors import ErrorResponse, NoAnswer
from tests.cards.issuer import Issuer

Fate = Literal["in time", "applied", "later", "never"]
"""The simulated result of a storage call. ``in time`` returns a response. The other results return no response: the
call is executed immediately (``applied``), when ``land`` is called (``later``), or not at all (``never``).
"""
Fates = Callable[[str, Mapping[str, Any]], Fate]

READS, WRITES = ("BatchGetItem", "Query"), ("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem")
DECIDING, ANSWERING = 2.1, 3.0
"""Delays in seconds that exceed the time limit of a decision and the time limit of a request."""


class SlowStorage:
    """The storage of an issuer. ``made`` lists the names of the calls in order."""

    def __init__(self, issuer: Issuer, fates: Fates, seconds: float = DECIDING) -> None:
        self._issuer, self._fates, self._seconds = issuer, fates, seconds
        self._store = issuer.hub.store
        self._waiting: list[Callable[[], Any]] = []
        self.made: list[str] = []

    def __enter__(self) -> SlowStorage:
        self._send, self._store.send = self._store.send, self._slow
        return self

    def __exit__(self, *_: object) -> None:
        self._store.send = self._send

    def _slow(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.made.append(operation)
        fate = self._fates(operation, request)
        if fate == "in time":
            return self._send(operation, request)
        if fate == "applied":
            self._send(operation, request)
        if fate == "later":
            self._waiting.append(partial(self._send, operation, request))
        self._issuer.clock.advance(self._seconds)
        raise NoAnswer(operation)

    def land(self) -> list[str]:
        """Execute the delayed calls and return the error code of each failed call."""
        waiting, self._waiting = self._waiting, []
        codes = []
        for call in waiting:
            try:
                call()
            except ErrorResponse as error:
                codes.append(error.code)
        return codes


def every(fate: Fate, *names: str) -> Fates:
    return lambda name, request: fate if not names or name in names else "in time"


def first(fate: Fate, name: str) -> Fates:
    left = [fate]
    return lambda made, request: left.pop() if made == name and left else "in time"
