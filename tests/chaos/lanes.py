"""Lanes: in each of them one worker process is at work, and when it dies, the next one begins."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any

from tests.chaos.life import AFTER, BEFORE, Death, Fate, Order, Surroundings, live

_ONCE, _SELDOM, _OFTEN = 1, 4, 16
_BOUNDARIES = {
    "DynamoDB BatchGetItem": _OFTEN,
    "DynamoDB TransactWriteItems": _OFTEN,
    "DynamoDB Query": _SELDOM,
    "SQS ReceiveMessage": _OFTEN,
    "SQS DeleteMessage": _OFTEN,
    "SQS SendMessage": _SELDOM,
    "SQS SendMessageBatch": _SELDOM,
    "SQS GetQueueUrl": _ONCE,
    "SQS GetQueueAttributes": _ONCE,
    "Secrets GetSecretValue": _ONCE,
    "KMS Decrypt": _ONCE,
    "HTTP event": _OFTEN,
    "HTTP revocation": _SELDOM,
    "HTTP payment": _SELDOM,
    "HTTP question": _ONCE,
}
"""Where a worker may die, and how often it comes there, roughly, in an ordinary life."""
_WEIGHTS = [1 if usual == _ONCE else 3 for usual in _BOUNDARIES.values()]
_LATEST = 200
WITH_STACK = "with the whole stack"
_START = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Outcome:
    """What came of an order, and when: its result, or the boundary at which the worker died."""

    now: float
    result: Any = None
    died_at: str | None = None


class Lane:
    """Gives orders to its worker.

    Workers live the longer the more ``patience`` there is; while the lane is not ``mortal``, until they are buried.
    ``deaths`` counts where they died.
    """

    def __init__(self, name: str, surroundings: Surroundings, patience: int = 1) -> None:
        self._name = name
        self._patience = patience
        self._surroundings = surroundings
        self._draw = random.Random(name)
        self._process: BaseProcess | None = None
        self._born = 0
        self._given = 0.0
        self.mortal = False
        self.deaths: Counter[str] = Counter()

    def begin(self, order: Order) -> Callable[[], Outcome]:
        """Give an order; what is answered waits for its outcome."""
        self._given = order.now
        if self._process is None:
            self._process, self._connection = self._birth(order.now)
        self._connection.send(order)
        return self._outcome

    def carry_out(self, order: Order) -> Any:
        """The result of an order that nobody dies of."""
        return self.begin(order)().result

    def kill(self) -> None:
        """End the worker in the middle of its order, as when the whole stack ends."""
        if self._process is not None and self._process.pid is not None:
            os.kill(self._process.pid, signal.SIGKILL)

    def bury(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._connection.close()
            self._process.join()
            self._process = None

    def _outcome(self) -> Outcome:
        try:
            said, what, now = self._connection.recv()
        except EOFError:
            said, what, now = "died", WITH_STACK, self._given
        if said == "done":
            return Outcome(now, what)
        assert self._process is not None
        with contextlib.suppress(EOFError, ConnectionResetError):
            self._connection.recv()
            raise AssertionError("a worker that has died does not speak")
        self._process.join()
        self.bury()
        self.deaths[what] += 1
        return Outcome(now, died_at=what)

    def _birth(self, now: float) -> tuple[BaseProcess, Any]:
        self._born += 1
        fate = Fate(f"{self._name}/{self._born}", self._surroundings, now, self._death())
        ours, theirs = _START.Pipe()
        process = _START.Process(target=live, args=(theirs, fate), daemon=True)
        process.start()
        theirs.close()
        return process, ours

    def _death(self) -> Death | None:
        if not self.mortal:
            return None
        (where,) = self._draw.choices(list(_BOUNDARIES), _WEIGHTS)
        usual = _BOUNDARIES[where]
        nth = self._draw.randint(1, usual * self._patience if usual == _OFTEN else usual)
        latest = self._draw.randint(1, _LATEST * self._patience)
        return Death(where, self._draw.choice((BEFORE, AFTER)), nth, latest)


def preload() -> None:
    """Have new workers be forked from a process that has read all modules; sets iterate alike in all of them."""
    os.environ["PYTHONHASHSEED"] = "0"
    _START.set_forkserver_preload(["tests.chaos.life"])
