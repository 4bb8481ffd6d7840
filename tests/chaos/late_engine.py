"""An engine that answers late at times: DynamoDB carries a call out, and the client has given up by then."""

from __future__ import annotations

import random

from infra.local.emulator import Emulator, Environ
from infra.local.sqs import Answer, Sqs

_SHARE = 0.02
"""How many of DynamoDB's answers come too late."""


class LateAnswers:
    """Draws the calls from a seed; ``count`` says how many answers came too late, while ``is_late`` was set."""

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed)
        self.is_late = False
        self.count = 0

    def of(self, emulator: Emulator) -> LateEmulator:
        return LateEmulator(emulator, self)

    def has_given_up(self, target: str) -> bool:
        """Whether the client of this call does not wait for its answer."""
        if not self.is_late or not target.startswith("DynamoDB") or self._draw.random() >= _SHARE:
            return False
        self.count += 1
        return True


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
        if self._late.has_given_up(environ.get("HTTP_X_AMZ_TARGET", "")):
            raise ConnectionAbortedError("the client has given up")
        return answer
