"""A counter of round trips: sequential waits for AWS in a piece of code, measured below the store.

A single call is one round trip. Parallel calls, up to the maximum concurrency, form a wave that takes as long as one
call. If a parallel task makes several calls in sequence, the wave counts as the same number of round trips.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.parallel import WIDTH, together

_USERS = (
    "chalicelib.foundation.dynamodb.sharded_index",
    "chalicelib.delivery.outbox",
    "chalicelib.delivery.sealed_bodies",
    "chalicelib.delivery.sweeper",
)


class RoundTrips:
    def __init__(self) -> None:
        self.made = 0
        self.calls = 0
        self._lock = threading.Lock()
        self._thread = threading.local()

    @contextmanager
    def counted(self) -> Iterator[RoundTrips]:
        patches = [patch(f"{user}.together", self._together) for user in _USERS]
        with observe(self._see):
            for each in patches:
                each.start()
            try:
                yield self
            finally:
                for each in patches:
                    each.stop()

    def _see(self, call: Call, proceed: Proceed) -> Members:
        self._count()
        return proceed(call)

    def _count(self) -> None:
        with self._lock:
            self.calls += 1
            wave = getattr(self._thread, "wave", None)
            if wave is None:
                self.made += 1
            else:
                wave.append(1)

    def _together(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        waits = [0] * len(calls)

        def measured(number: int) -> Callable[[], Any]:
            def call() -> Any:
                outer, self._thread.wave = getattr(self._thread, "wave", None), []
                try:
                    return calls[number]()
                finally:
                    waits[number] = len(self._thread.wave)
                    self._thread.wave = outer

            return call

        try:
            return together([measured(number) for number in range(len(calls))])
        finally:
            self.made += sum(max(waits[start : start + WIDTH]) for start in range(0, len(calls), WIDTH))
