"""A simulation of workers, receivers and a queue in simulated time: what happens when is an event on one clock.

The worker, its outbox and all records are the real ones, on a store in memory. Between the beginning of an attempt and
its outcome as much time passes as the receiver needs, and for every storage call ``STORAGE_SECONDS`` more; a worker
takes no other message before that is over. The queue hands out the oldest message that may be received. The sweeper
runs every minute.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from chalicelib.bootstrap import PLANS
from chalicelib.delivery.delivery_plan import MINUTE
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.outcomes import Delivered, Dispatch, Sender, Undeliverable
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.delivery.sweeper import sweep
from chalicelib.delivery.tasks import Tasks
from chalicelib.delivery.worker import Attempt, Worker
from chalicelib.foundation.aws.queues import Queue
from tests.causeway import START
from tests.delivery.memory import MemoryStore
from tests.kit.time import ManualClock

STORAGE_SECONDS = 0.01
DEAD = "dead"
"""Receivers whose names begin so answer nothing."""


class SimulatedQueue(Queue):
    """Messages that can be received when their time has come; those that can are in ``visible``."""

    def __init__(self, arrive: Callable[[str, float], None], visible: deque[str]) -> None:
        super().__init__("simulated")
        self._arrive = arrive
        self._visible = visible

    def count_messages(self) -> int:
        return len(self._visible)

    def send(self, body: str, delay: int = 0) -> None:
        self._arrive(body, delay)

    def send_all(self, bodies: Sequence[str]) -> list[str]:
        for body in bodies:
            self._arrive(body, 0)
        return []


class Simulation:
    """``workers`` that serve the receivers of ``seconds``, which need so long for every delivery.

    Attributes:
        arrived: how many deliveries each receiver took, by receiver and whole second since the beginning.
        most: how many each receiver had at the same time, at most.
        longest: how many messages could be received at the same time, at most.
        received: how many messages were received.
        swept: how many messages the sweeper has queued.
    """

    def __init__(self, seconds: Mapping[str, float], workers: int) -> None:
        self.arrived: dict[str, Counter[int]] = {name: Counter() for name in seconds}
        self.most: Counter[str] = Counter()
        self.longest = self.received = self.swept = 0
        self._seconds = seconds
        self._free = workers
        self._clock = ManualClock(START)
        self._store = MemoryStore()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._messages: deque[str] = deque()
        self._under_way: Counter[str] = Counter()
        queue, bodies = SimulatedQueue(self._message, self._messages), SealedBodies(self._store, _NO_VAULT)
        self._outbox = Outbox(bodies, queue, self._clock, PLANS)
        self._sweep_once = partial(
            sweep,
            store=self._store,
            clock=self._clock,
            queue=queue,
            outbox=self._outbox,
            metrics=_NO_METRICS,
            plans=PLANS,
        )
        self._after(MINUTE, self._sweep)
        sender: dict[str, Sender] = {"event": Sender(self._send)}
        tasks = Tasks(_NO_VAULT, queue, dict)
        self._worker = Worker(self._store, self._clock, bodies, self._outbox, queue, sender, tasks, PLANS)

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self._clock.monotonic() - START.timestamp()

    def record(self, count: int, *names: str) -> None:
        """Record ``count`` deliveries to every receiver, or to those named, one to each in turn, and queue them."""
        for name in list(names or self._seconds) * count:
            made = self._outbox.record("event", "", receiver=name)
            self._store.transact(made.operations)
            self._outbox.queue(made.delivery_ids)

    def run(self, seconds: float) -> None:
        """Have everything happen that happens in the first ``seconds``."""
        while self._events and self._events[0][0] <= seconds:
            moment, _, event = heapq.heappop(self._events)
            self._clock.advance(moment - self.now)
            event()

    def taken(self, name: str) -> int:
        return self.arrived[name].total()

    def pace(self, name: str) -> list[int]:
        """What a receiver took in every second until its last."""
        return [self.arrived[name][second] for second in range(max(self.arrived[name], default=-1) + 1)]

    # -- inside

    def _after(self, seconds: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), event))

    def _message(self, delivery_id: str, delay: float) -> None:
        def arrive() -> None:
            self._messages.append(delivery_id)
            self.longest = max(self.longest, len(self._messages))
            self._receive()

        self._after(delay, arrive)

    def _receive(self) -> None:
        while self._free and self._messages:
            self._free -= 1
            self.received += 1
            attempt, seconds = self._timed(self._worker.begin, self._messages.popleft())
            if attempt is None:
                self._after(seconds, self._release)
            else:
                self._sending(attempt, seconds)

    def _sending(self, attempt: Attempt, seconds: float) -> None:
        name = attempt.delivery.receiver
        self._under_way[name] += 1
        self.most[name] = max(self.most[name], self._under_way[name])

        def answered() -> None:
            self._under_way[name] -= 1
            _, after = self._timed(self._worker.carry_out, attempt)
            self._after(after, self._release)

        self._after(seconds + self._seconds[name], answered)

    def _sweep(self) -> None:
        self.swept += self._sweep_once()
        self._after(MINUTE, self._sweep)

    def _release(self) -> None:
        self._free += 1
        self._receive()

    def _timed(self, call: Callable[[Any], Any], argument: Any) -> tuple[Any, float]:
        before = self._store.calls
        answer = call(argument)
        return answer, (self._store.calls - before) * STORAGE_SECONDS

    def _send(self, dispatch: Dispatch) -> Delivered:
        name = dispatch.delivery.receiver
        if name.startswith(DEAD):
            raise Undeliverable("no answer came in time")
        self.arrived[name][int(self.now)] += 1
        return Delivered(204)


class _NoMetrics:
    def write(self, values: Mapping[str, int]) -> None:
        """Keep nothing."""


_NO_METRICS: Any = _NoMetrics()
_NO_VAULT: Any = None
"""Nothing that is simulated has a body."""
