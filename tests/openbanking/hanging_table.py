"""A table that does not answer: each call of it takes as long as its client waits, on the clock of the service."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation import context
from chalicelib.foundation.aws import calls
from chalicelib.foundation.aws.errors import NoAnswer, NotSent
from tests.causeway import Causeway


class HangingTable:
    """Inside, one table of the service hangs; nothing that is sent to it is written."""

    def __init__(self, causeway: Causeway, table: str) -> None:
        self._causeway, self._store = causeway, causeway.hub.store
        self._name = f"{causeway.hub.settings.prefix}-{table}"

    def __enter__(self) -> HangingTable:
        self._send, self._pause = self._store._send, self._store._pause
        self._store._send, self._store._pause = self._hang_for_table, self._causeway.clock.advance
        return self

    def __exit__(self, *_: object) -> None:
        self._store._send, self._store._pause = self._send, self._pause

    def _hang_for_table(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("TableName") != self._name:
            return self._send(operation, request)
        left = context.seconds_left()
        if left <= 0:
            raise NotSent(operation)
        self._causeway.clock.advance(min(calls.READ_SECONDS, left))
        raise NoAnswer(operation)
