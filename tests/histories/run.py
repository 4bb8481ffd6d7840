"""A history: clients call the same objects at the same time, die, and lose the storage for a while."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from chalicelib.foundation.clock import Clock
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.chaos.engine import Engine
from tests.chaos.late_engine import LateAnswers
from tests.histories.checker import Operation
from tests.histories.clients import Client, Order, Surroundings, draw_death, preload
from tests.histories.models import FUNDS
from tests.kit.time import ManualClock
from tests.openbanking.payments import SCOPES

CLIENTS = 8
_OBJECTS = 8
"""Of each kind; clients are at work on one of each at the same time."""
_CODE_SECONDS = 24 * 3600
"""However slow the machine is: no code may end before a client redeems it."""


@dataclass(frozen=True)
class Plan:
    """How many ``operations`` there are, how likely a process dies in one, and how long storage stops."""

    seed: str
    engine: str
    operations: int
    deaths: float = 0.1
    frozen_seconds: float = 0.0


@dataclass
class History:
    """What clients saw, in the order of the outcomes, and how many of their processes died."""

    operations: list[Operation] = field(default_factory=list)
    deaths: int = 0

    @property
    def unknown(self) -> int:
        return sum(not operation.is_known for operation in self.operations)

    @property
    def is_conclusive(self) -> bool:
        """Whether enough outcomes are known: unknown ones fit into almost any order."""
        return self.unknown * 2 <= len(self.operations)


def record(plan: Plan) -> History:
    """The history of a plan: the same seed draws the same operations, and the machine their order."""
    preload()
    engine = Engine(ManualClock(Clock().now()), LateAnswers(plan.seed), plan.engine)
    try:
        surroundings = _prepare(engine)
        recorder = _Recorder(plan, surroundings)
        with _frozen(engine, plan.frozen_seconds, recorder.half), ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(recorder.work, range(CLIENTS)))
        return recorder.history
    finally:
        engine.stop()


class _Recorder:
    def __init__(self, plan: Plan, surroundings: Surroundings) -> None:
        self._plan = plan
        self._surroundings = surroundings
        self._bearers: dict[str, str] = {}
        self.history = History()
        self.half = threading.Event()
        """Half of the operations have come about."""

    def work(self, number: int) -> None:
        """What one client does, one operation after the other."""
        draw, client = random.Random(f"{self._plan.seed}/{number}"), Client(self._surroundings)
        share = self._plan.operations // CLIENTS
        for made in range(share):
            self._do(number, client, draw, stage=made * _OBJECTS // share)
        client.end()
        self.history.deaths += client.deaths

    def _do(self, number: int, client: Client, draw: random.Random, stage: int) -> None:
        kind, call = self._draw_call(draw, subject := str(stage))
        order = Order(kind, subject, call, draw_death(draw, self._plan.deaths))
        began = time.monotonic()
        outcome = client.carry_out(order)
        if call == ("redeem",) and isinstance(outcome, tuple):
            outcome, self._bearers[subject] = outcome
        self.history.operations.append(Operation(kind, subject, number, call, outcome, began, time.monotonic()))
        if len(self.history.operations) * 2 >= self._plan.operations:
            self.half.set()

    def _draw_call(self, draw: random.Random, subject: str) -> tuple[str, tuple[Any, ...]]:
        kind = draw.choice(("account", "code", "key"))
        if kind == "key":
            return kind, ("pay", draw.choice(("12.30", "12.30", "12.30", "45.60")))
        if kind == "code":
            bearer = self._bearers.get(subject)
            return kind, ("read", bearer) if bearer and draw.random() < 0.7 else ("redeem",)
        name = draw.choice(("read", "pay in", "purchase", "purchase"))
        return kind, (name,) if name == "read" else (name, draw.randint(1, FUNDS // 2))


def _prepare(engine: Engine) -> Surroundings:
    causeway = Causeway.first(Clock())
    made = causeway.hub.openbanking.clients.create(owner="tpp@example.com", title="Budget Friend")
    causeway.tpp.client = made.client
    causeway.hub.openbanking.consents._code_lifetime = _CODE_SECONDS
    issuer = Issuer(causeway)
    with causeway.installed():
        return Surroundings(
            environment=engine.environment,
            client=made.client.as_item(),
            banks={version: side.record.to_item() for version, side in causeway.banks.items()},
            card_secrets=causeway.card_secrets,
            accounts={str(number): _account(issuer) for number in range(_OBJECTS)},
            codes={str(number): causeway.psu.approve(1).query["code"] for number in range(_OBJECTS)},
            payer=causeway.tpp.tokens(2, scopes=SCOPES[2])["access_token"],
        )


def _account(issuer: Issuer) -> tuple[int, int, Any]:
    card = issuer.spendable(FUNDS)
    return card.card_id, card.account_id, issuer.address(card.account_id, method=2)


@contextmanager
def _frozen(engine: Engine, seconds: float, when: threading.Event) -> Iterator[None]:
    """Have the storage stand still for a while, when half of the operations are over."""

    def freeze() -> None:
        when.wait()
        engine.freeze(seconds)

    thread = threading.Thread(target=freeze, daemon=True)
    if seconds:
        thread.start()
    try:
        yield
    finally:
        when.set()  # clients that failed do not reach half of the operations
        if seconds:
            thread.join()
