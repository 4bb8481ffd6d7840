"""Storage whose calls take long: their answers are lost, and they are carried out at once, later, or never.

Time goes by with each of them, on the clock of the scene.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from botocore.exceptions import ClientError, ReadTimeoutError

from tests.cards.scenes import Scene

Fate = Literal["in time", "applied", "later", "never"]
"""Whether a call is answered, or carried out without an answer: at once, when ``land`` is called, or not at all."""
Fates = Callable[[str, Mapping[str, Any]], Fate]
"""The fate of a call, by its name in boto3 and its request."""

READS, WRITES = ("batch_get_item", "query"), ("transact_write_items", "put_item", "update_item", "delete_item")
DECIDING, ANSWERING = 2.1, 3.0
"""So many seconds are too long for a decision, and for all that a request does."""


class SlowStorage:
    """The storage of a scene; ``made`` has the names of the calls that were sent inside, in their order."""

    def __init__(self, scene: Scene, fates: Fates, seconds: float = DECIDING) -> None:
        self._scene, self._fates, self._seconds = scene, fates, seconds
        self._store = scene.hub.store
        self._waiting: list[Callable[[], Any]] = []
        self.made: list[str] = []

    def __enter__(self) -> SlowStorage:
        self._client, self._store._client = self._store._client, self
        return self

    def __exit__(self, *_: object) -> None:
        self._store._client = self._client

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)
        if name not in (*READS, *WRITES):
            return real

        def call(**request: Any) -> Any:
            self.made.append(name)
            fate = self._fates(name, request)
            if fate == "in time":
                return real(**request)
            if fate == "applied":
                real(**request)
            if fate == "later":
                self._waiting.append(lambda: real(**request))
            self._scene.clock.advance(self._seconds)
            raise ReadTimeoutError(endpoint_url="http://127.0.0.1:1")

        return call

    def land(self) -> list[str]:
        """Carry out what was to be carried out later; answers the code of each error."""
        waiting, self._waiting = self._waiting, []
        codes = []
        for call in waiting:
            try:
                call()
            except ClientError as error:
                codes.append(error.response["Error"]["Code"])
        return codes


def every(fate: Fate, *names: str) -> Fates:
    """This fate for all calls, or those with these names."""
    return lambda name, request: fate if not names or name in names else "in time"


def first(fate: Fate, name: str) -> Fates:
    """This fate for the first call with a name."""
    left = [fate]
    return lambda made, request: left.pop() if made == name and left else "in time"
