"""A table that does not answer: each call of it takes as long as its client waits, on the clock of the world."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from chalicelib.foundation import aws, time_limit
from tests.world import World


class HangingTable:
    """Inside, one table of the world hangs; nothing that is sent to it is written."""

    def __init__(self, world: World, table: str) -> None:
        self._world, self._store = world, world.hub.store
        self._name = f"{world.hub.settings.prefix}-{table}"

    def __enter__(self) -> HangingTable:
        self._client, self._pause = self._store._client, self._store._pause
        self._store._client, self._store._pause = self, self._world.clock.advance
        return self

    def __exit__(self, *_: object) -> None:
        self._store._client, self._store._pause = self._client, self._pause

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)
        return self._hang_for_table(real) if callable(real) else real

    def _hang_for_table(self, real: Any) -> Any:
        def call(**request: Any) -> Any:
            if request.get("TableName") != self._name:
                return real(**request)
            left = time_limit.seconds_left()
            if left <= 0:
                raise ConnectTimeoutError(endpoint_url="http://127.0.0.1:1")
            self._world.clock.advance(min(aws.READ_SECONDS, left))
            raise ReadTimeoutError(endpoint_url="http://127.0.0.1:1")

        return call
