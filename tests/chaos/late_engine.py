"""An engine that answers late at times: DynamoDB carries a write out, and the client has given up by then.

Only writes are drawn, for each table by itself: reads, and writes of measurements, are made beside others, in another
order in each run.
"""

from __future__ import annotations

import random
import re
from collections import Counter

from infra.local.emulator import Emulator, Environ
from infra.local.sqs import Answer, Sqs

_SHARE = 0.05
"""How many answers to writes come too late."""
_TABLE = re.compile('"TableName": ?"([^"]+)"')
_WRITES = ("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem")


class LateAnswers:
    """Draws the writes from a seed; ``count`` says how many answers came too late, while ``is_late`` was set."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._writes: Counter[str] = Counter()
        self.is_late = False
        self.count = 0

    def of(self, emulator: Emulator) -> LateEmulator:
        return LateEmulator(emulator, self)

    def has_given_up(self, target: str, body: bytes) -> bool:
        """Whether the client of this call does not wait for its answer."""
        if not self.is_late or not target.endswith(_WRITES):
            return False
        tables = " ".join(sorted(set(_TABLE.findall(body.decode()))))
        self._writes[tables] += 1
        is_drawn = random.Random(f"{self._seed}/{tables}/{self._writes[tables]}").random() < _SHARE
        self.count += is_drawn
        return is_drawn


class LateEmulator:
    """An emulator that closes the connection in place of a late answer."""

    def __init__(self, emulator: Emulator, late: LateAnswers) -> None:
        self._emulator = emulator
        self._late = late

    @property
    def sqs(self) -> Sqs:
        return self._emulator.sqs

    def __call__(self, environ: Environ, body: bytes) -> Answer:
        answer = self._emulator(environ, body)
        if self._late.has_given_up(environ.get("HTTP_X_AMZ_TARGET", ""), body):
            raise ConnectionAbortedError("the client has given up")
        return answer
