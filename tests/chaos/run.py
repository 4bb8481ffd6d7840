"""A run: calls are accepted, workers deliver and die, time passes, until nothing is due any more."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chalicelib.bootstrap import Hub
from chalicelib.delivery.delivery_record import DUE, Delivery
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.settings import Settings
from infra.local.engines import ENGINES
from tests.chaos.engine import Engine
from tests.chaos.filling_disk import FillingDisk
from tests.chaos.lanes import Lane, Outcome, preload
from tests.chaos.late_engine import LateAnswers
from tests.chaos.life import Order, Surroundings
from tests.chaos.receivers import Ledger, Receivers, verify_in
from tests.chaos.traffic import Preparation, Scene, TppCall
from tests.kit.time import ManualClock

START = datetime(2096, 3, 5, 9, tzinfo=UTC)
"""Far ahead: DynamoDB Local removes what has expired by the clock of the machine."""
_MINUTE = 60
_ACCEPTED = 202
_OUTAGES = {1: (0.3, 0.4), 2: (0.6, 0.7)}
"""When a bank cannot be reached at all, by version: while so many of the TPPs' calls have been made."""
_CALLED = 0.1
"""How likely the next thing to happen is a call of a TPP; none is made while more than ``_BACKLOG`` messages wait, and
the events that waited at the beginning."""
_BACKLOG = 40
_STEP = (0.05, 0.5)
"""How long a thing takes, in seconds. With ``_CALLED`` that is a pace at which receivers that fail so often keep up."""
_RESENDS = 5
_OVER = 15 * _MINUTE
"""So long after the last call all accepted ones are over; a bearer lasts an hour."""
_GIVEN_UP = 40 * 24 * 60 * _MINUTE
"""What is still due then, in seconds from the start, is lost: no delivery is attempted for so long."""
_END_OF_TIME = 2**40


@dataclass(frozen=True)
class Size:
    """How much happens, and on what: ``deliveries`` are notices; asynchronous calls come on top of them.

    ``full_disks`` is how often the emulator's disk is full, and ``backlog`` how many events of one client wait at the
    beginning.
    """

    deliveries: int
    lanes: int = 1
    engine: str = ENGINES[0]
    full_disks: int = 0
    backlog: int = 0

    @property
    def most_waiting(self) -> int:
        """How many messages wait when no further call is made."""
        return self.backlog + _BACKLOG

    @property
    def consents(self) -> int:
        return math.ceil(self.deliveries / 3)

    @property
    def payments(self) -> int:
        return math.ceil(self.deliveries / 5)

    @property
    def questions(self) -> int:
        return math.ceil(self.deliveries / 30)

    @property
    def patience(self) -> int:
        """So that about as many workers die in a long run as are asked for, and some in a short one."""
        return math.ceil(self.deliveries / 200)


@dataclass
class Accepted:
    """A call that was accepted for later, and what its TPP was told in the end."""

    call: TppCall
    request_id: str
    told: tuple[int, Any] = (0, None)

    @property
    def fetching(self) -> TppCall:
        """The call by which its TPP learns that."""
        path, bearer = f"/tpp/requests/{self.request_id}", self.call.bearer
        return TppCall("fetch", "", "GET", path, self.call.client_id, True, bearer=bearer)


@dataclass
class Story:
    """All that a run leaves to be judged."""

    calls: list[TppCall] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    unanswered: list[TppCall] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)
    deaths: Counter[str] = field(default_factory=Counter)
    resent: int = 0
    attempts: int = 0
    longest: int = 0
    simulated: float = 0
    transcript: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """What two runs have in common that went the same way."""
        return hashlib.sha256("\n".join(self.transcript).encode()).hexdigest()


class Deliveries:
    """The deliveries of a hub."""

    hub: Hub

    def records(self) -> list[Delivery]:
        """All deliveries as they stand."""
        return [Delivery.from_item(item) for item in self.items("record")]

    def items(self, kind: str) -> list[Item]:
        """The items of the deliveries' table whose part begins with ``kind``."""
        return [item for item in self.hub.store.scan("deliveries") if item["part"].startswith(kind)]


class Run(Deliveries):
    """Everything of one run; ``log`` is the file that the workers log to."""

    def __init__(self, seed: str, size: Size, log: Path) -> None:
        self._seed = seed
        self.size = size
        self._draw = random.Random(f"{seed}/run")
        self.clock = ManualClock(START)
        preload()
        file = log.with_name("chaos.sqlite3")
        self._disk = FillingDisk(
            f"{seed}/disk", file, size.full_disks, size.deliveries * 4, self._end_workers, self.clock.monotonic
        )
        self.late = LateAnswers(f"{seed}/late")
        self._engine = Engine(self.clock, self.late, size.engine, self._disk if size.full_disks else None)
        verify_in(self.clock.now)
        self.ledger = Ledger(seed)
        self._banks = {version: Receivers(self.ledger) for version in (1, 2)}
        self._tpp = Receivers(self.ledger)
        self._surroundings = Surroundings(self._engine.environment, str(log), alone=size.lanes == 1)
        self._lanes = [Lane(f"{seed}/{number}", self._surroundings, size.patience) for number in range(size.lanes)]
        self.hub = Hub(Settings.from_environment(self._engine.environment), self.clock)
        self._queue = f"{self.hub.settings.prefix}-deliveries"
        self._next_sweep = self.clock.monotonic() + _MINUTE
        self._look_up_at: float | None = None
        self._heard = 0
        self._made = 0
        self._resends = 0
        self.story = Story()

    def play(self) -> Story:
        """The whole run."""
        scene = self._prepare()
        self.ledger.events_secrets |= scene.events_secrets
        self.story.calls = list(scene.calls)
        calls = deque(scene.calls)
        self._disk.is_filling = self.late.is_late = True
        for lane in self._lanes:
            lane.mortal = True
        while self._round(calls):
            self.clock.advance(self._draw.uniform(*_STEP))
        self._bury()
        self.story.deaths = sum((lane.deaths for lane in self._lanes), Counter())
        self.story.simulated = self.clock.monotonic() - START.timestamp()
        return self.story

    def stop(self) -> None:
        self._bury()
        for server in (*self._banks.values(), self._tpp):
            server.stop()
        self._engine.stop()

    # -- inside

    def _prepare(self) -> Scene:
        banks = {version: f"{server.url}/bank-{version}" for version, server in self._banks.items()}
        size = self.size
        preparation = Preparation(
            self._seed, banks, self._tpp.url, size.consents, size.payments, size.questions, size.backlog
        )
        scene: Scene = self._lanes[0].carry_out(self._order("prepare", preparation))
        self._lanes[0].bury()
        return scene

    def _round(self, calls: deque[TppCall]) -> bool:
        """One order for every lane; answers whether there is anything left to do."""
        self.story.longest = max(self.story.longest, self._engine.backlog(self._queue))
        if not calls and self._look_up_at is None:
            self._look_up_at = self.clock.monotonic() + _OVER
        if self._look_up_at is not None and self.clock.monotonic() >= self._look_up_at:
            self._look_up()
        idle = self._is_idle()
        if idle and not calls:
            return self._skip()
        chosen = [(lane, order) for lane in self._lanes if (order := self._choose(calls, idle=idle)) is not None]
        waiting = [(order, lane.begin(order)) for lane, order in chosen]
        for order, outcome in [(order, wait()) for order, wait in waiting]:
            self.clock.advance(max(outcome.now - self.clock.monotonic(), 0))
            self._note(order, outcome)
            if order.name == "call" and self._answered(order.what, outcome):
                calls.append(order.what)
        self._engine.restart_if_ended()
        return True

    def _end_workers(self) -> None:
        for lane in self._lanes:
            lane.kill()

    def _is_idle(self) -> bool:
        """Whether no message can be received now, and it is not yet time to sweep."""
        now, message = self.clock.monotonic(), self._engine.next_message(self._queue)
        return now < self._next_sweep and (message is None or message >= now)

    def _choose(self, calls: deque[TppCall], *, idle: bool) -> Order | None:
        if self.clock.monotonic() >= self._next_sweep:
            self._next_sweep = _minute_after(self.clock.monotonic())
            return self._order("sweep")
        if calls and self._draw.random() < _CALLED and self._engine.backlog(self._queue) <= self.size.most_waiting:
            self._made += 1
            return self._order("call", calls.popleft())
        return None if idle else self._order("consume")

    def _order(self, name: str, what: Any = None) -> Order:
        passed = self._made / max(len(self.story.calls), 1)
        out = [version for version, (start, end) in _OUTAGES.items() if start < passed < end]
        return Order(name, self.clock.monotonic(), tuple(self._banks[version].server_port for version in out), what)

    def _note(self, order: Order, outcome: Outcome) -> None:
        subject = order.what.subject if order.name == "call" else ""
        result = outcome.result[0] if order.name == "call" and outcome.result else outcome.result
        self.story.transcript.append(f"{order.now:.3f} {order.name} {subject} {result} {outcome.died_at}")
        heard = self.ledger.calls[self._heard :]
        self.story.transcript += [f"  {call.path} {call.id} {call.said}" for call in heard]
        self._heard += len(heard)
        if order.name == "consume" and outcome.result:
            self.story.attempts += len(outcome.result[1])

    def _answered(self, call: TppCall, outcome: Outcome) -> bool:
        """Keep what a call was answered; answers whether its TPP makes it again."""
        if outcome.died_at is not None:
            if not call.repeated:
                self.story.unanswered.append(call)
            return call.repeated
        status, body = outcome.result
        if call.kind == "revoke" and status == 200:
            self.story.revoked.add(call.subject)
        elif call.kind != "revoke" and status == _ACCEPTED:
            self.story.accepted.append(Accepted(call, body["request_id"]))
        else:
            self.story.contradictions.append(f"{call.kind} {call.subject} was answered {status}: {body}")
        return False

    def _skip(self) -> bool:
        """Go to the next moment at which something can be done; answers whether there is one."""
        now = self.clock.monotonic()
        message = self._engine.next_message(self._queue)
        if message is None or message > self._next_sweep:
            due = DUE.rows(self.hub.store, until=_END_OF_TIME, limit=1)
            if not due:
                return self._end()
            self._next_sweep = max(self._next_sweep, _minute_after(float(due[0][DUE.time]) - 1))
        times = (self._next_sweep, self._look_up_at, None if message is None else message + 0.001)
        moment = min(time for time in times if time is not None)
        self.clock.advance(max(moment - now, 0))
        return self.clock.monotonic() < START.timestamp() + _GIVEN_UP

    def _end(self) -> bool:
        """What is done when nothing is due any more; answers whether something has become due by that."""
        self._look_up()
        (resent,) = self._quietly([self._order("resend")])
        self.story.resent += resent
        self._resends += 1
        return resent > 0 and self._resends <= _RESENDS

    def _look_up(self) -> None:
        """The TPPs fetch what came of their accepted calls."""
        if self._look_up_at == math.inf:
            return
        self._look_up_at = math.inf
        orders = [self._order("call", each.fetching) for each in self.story.accepted]
        for each, told in zip(self.story.accepted, self._quietly(orders), strict=True):
            each.told = told

    def _quietly(self, orders: list[Order]) -> list[Any]:
        """The results of orders that nobody dies of."""
        lane = Lane(f"{self._seed}/quiet/{self.clock.monotonic()}", self._surroundings)
        self._disk.is_filling = self.late.is_late = False
        try:
            return [lane.carry_out(order) for order in orders]
        finally:
            lane.bury()
            self._disk.is_filling = self.late.is_late = True

    def _bury(self) -> None:
        for lane in self._lanes:
            lane.bury()


def _minute_after(moment: float) -> float:
    return math.floor(moment / _MINUTE + 1) * _MINUTE
