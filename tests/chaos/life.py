"""A worker process's life: the service's own consumer and schedule at work, until it dies at the boundary it drew.

A boundary is the moment before a call leaves the process, or after it was carried out and before its answer is seen. At
its last one the process kills itself with ``SIGKILL``: nothing is cleaned up. Identifiers, jitter and the time come
from the run, so that the same seed leads the same way.
"""

from __future__ import annotations

import base64
import os
import random
import secrets
import signal
import socket
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

import boto3

import app
from chalicelib import bootstrap
from chalicelib.delivery.journal import Journal
from chalicelib.foundation import parallel
from chalicelib.foundation.aws import calls
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.http import deadline_connections
from chalicelib.foundation.http.deadline_connections import Exchange, _DeadlineReader
from chalicelib.foundation.http.outbound import Outbound, Reply
from chalicelib.foundation.settings import Settings
from chalicelib.statistics import measurements
from infra.local.event_runner import EventRunner, queue_name
from tests.causeway import Causeway
from tests.chaos.receivers import NO_ANSWER
from tests.chaos.traffic import Preparation, TppCall
from tests.kit.time import ManualClock

_SERVICES = {"dynamodb": "DynamoDB", "sqs": "SQS", "kms": "KMS", "secretsmanager": "Secrets"}
BEFORE, AFTER = "before", "after"
_ENDLESS = 3600.0

boto3.client("sqs", region_name="eu-west-1")  # whoever forks this process finds the services' models read


@dataclass(frozen=True)
class Death:
    """When a worker dies: the ``nth`` time that it is on ``side`` of a call ``where``, or at boundary ``latest``."""

    where: str
    side: str
    nth: int
    latest: int


@dataclass(frozen=True)
class Surroundings:
    """What all workers of a run have in common; ``alone`` says that there is one at a time, so that none waits."""

    environment: Mapping[str, str]
    log: str
    alone: bool


@dataclass(frozen=True)
class Fate:
    """What a worker process is given; ``death`` is ``None`` for one that is left alone."""

    seed: str
    surroundings: Surroundings
    now: float
    death: Death | None


@dataclass(frozen=True)
class Order:
    """What a worker is told to do, at a time, while nothing can be reached at the ports ``closed``."""

    name: str
    now: float
    closed: tuple[int, ...] = ()
    what: Any = None


class Boundaries:
    """Counts boundaries, and kills the process at its last one, after telling at which."""

    def __init__(self, connection: Connection, clock: ManualClock, death: Death | None) -> None:
        self._connection = connection
        self._clock = clock
        self._death = death
        self._seen: Counter[tuple[str, str]] = Counter()

    def pass_(self, side: str, where: str) -> None:
        self._seen[where, side] += 1
        death = self._death
        if death is None:
            return
        drawn = (where, side) == (death.where, death.side) and self._seen[where, side] == death.nth
        if drawn or self._seen.total() == death.latest:
            self._connection.send(("died", f"{side} {where}", self._clock.monotonic()))
            os.kill(os.getpid(), signal.SIGKILL)


class Life:
    """The process's hub and its runner."""

    def __init__(self, clock: ManualClock, *, alone: bool) -> None:
        self._clock = clock
        self._hub = bootstrap.Hub(Settings.from_environment(os.environ), clock)
        if alone:
            send, prefix = partial(calls.send, "dynamodb"), self._hub.settings.prefix
            self._hub.__dict__["store"] = Store(send, prefix, lambda _: None, monotonic=clock.monotonic)
        bootstrap.use(self._hub)
        self._closed: tuple[int, ...] = ()
        self._attempted: list[str] = []
        self._runner = EventRunner(app.app, timeouts={}, region="eu-west-1", sqs=boto3.client("sqs"))
        self._url = ""
        self._watch_attempts()
        self._close_ports()

    def obey(self, order: Order) -> Any:
        """Do as told; answers something that can be pickled."""
        self._clock.advance(order.now - self._clock.monotonic())
        self._closed = order.closed
        does: dict[str, Callable[[Any], Any]] = {
            "consume": self._consume,
            "sweep": self._sweep,
            "call": self._call,
            "prepare": self._prepare,
            "resend": self._resend,
        }
        return does[order.name](order.what)

    def _consume(self, _: Any) -> tuple[int, tuple[str, ...]]:
        """Take one message; answers how many were deleted, and the deliveries that were attempted."""
        (consumer,) = self._runner.consumers
        if not self._url:
            self._url = self._runner._sqs.get_queue_url(QueueName=queue_name(consumer))["QueueUrl"]
        self._attempted.clear()
        deleted = self._runner.consume_once(consumer, self._url)
        return deleted, tuple(self._attempted)

    def _sweep(self, _: Any) -> bool:
        (sweep,) = [source for source in self._runner.schedules if source.name == "sweep"]
        return self._runner.run_schedule(sweep)

    def _call(self, call: TppCall) -> tuple[int, Any]:
        outbound, causeway = self._hub.outbound, Causeway(self._hub, {})
        self._hub.__dict__["outbound"] = outbound  # that of the causeway would answer what is delivered later
        answer = causeway.tpp.call(
            call.method, call.path, call.body, bearer=call.bearer, client_id=call.client_id, headers=call.headers
        )
        return answer.status, answer.body

    def _prepare(self, preparation: Preparation) -> Any:
        return preparation.carry_out(self._hub)

    def _resend(self, _: Any) -> int:
        """What an operator does with notices that have failed."""
        journal: Journal = self._hub.delivery.make(Journal, clock=self._clock)
        return journal.resend_failed(0)

    def _watch_attempts(self) -> None:
        worker = self._hub.delivery.worker
        real = worker.attempt

        def attempt(message: str) -> None:
            self._attempted.append(message)
            real(message)

        worker.attempt = attempt  # type: ignore[method-assign]

    def _close_ports(self) -> None:
        module: Any = deadline_connections
        real = module.create_connection

        def connect(address: tuple[str, int], *arguments: Any, **options: Any) -> Any:
            if address[1] in self._closed:
                raise ConnectionRefusedError
            return real(address, *arguments, **options)

        module.create_connection = connect


def live(connection: Connection, fate: Fate) -> None:
    """The process: obeys until it dies or its connection is closed."""
    os.environ.update(fate.surroundings.environment)
    log = os.open(fate.surroundings.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    draw_from(fate.seed)
    parallel.WIDTH = 1
    clock = ManualClock(datetime.fromtimestamp(fate.now, UTC))
    simulate_time_limits(clock)
    _mark_boundaries(Boundaries(connection, clock, fate.death))
    life = Life(clock, alone=fate.surroundings.alone)
    while True:
        try:
            order = connection.recv()
        except EOFError:
            os._exit(0)
        result = life.obey(order)
        connection.send(("done", result, clock.monotonic()))


def draw_from(seed: str) -> None:
    """Have every identifier and all jitter come from ``seed``."""
    source = random.Random(seed)
    random.seed(seed)
    secrets.token_bytes = lambda nbytes=None: source.randbytes(nbytes or 32)
    secrets.token_hex = lambda nbytes=None: source.randbytes(nbytes or 32).hex()
    secrets.token_urlsafe = lambda nbytes=None: (
        base64.urlsafe_b64encode(source.randbytes(nbytes or 32)).rstrip(b"=").decode()
    )
    uuid.uuid4 = lambda: uuid.UUID(bytes=source.randbytes(16), version=4)


def simulate_time_limits(clock: ManualClock) -> None:
    """Have time limits end by ``clock``, never because this machine is slow: a seed repeats what they decide."""
    time.monotonic = clock.monotonic
    measurements._longest_delay = lambda seconds: _ENDLESS
    settimeout, readinto = socket.socket.settimeout, _DeadlineReader.readinto

    def wait_for_answer(self: _DeadlineReader, buffer: Any) -> int | None:
        read = readinto(self, buffer)
        while bytes(buffer[:read]) == NO_ANSWER:
            clock.advance(self._exchange.time_to_wait())
        return read

    socket.socket.settimeout = lambda each, seconds: settimeout(each, seconds and _ENDLESS)  # type: ignore[method-assign]
    _DeadlineReader.readinto = wait_for_answer  # type: ignore[method-assign]


def _mark_boundaries(boundaries: Boundaries) -> None:
    """Put a boundary before and after every call to AWS and to other parties."""
    real_exchange = Outbound._exchange

    def see(call: calls.Call, proceed: calls.Proceed) -> calls.Members:
        where = f"{_SERVICES[call.service]} {call.operation}"
        boundaries.pass_(BEFORE, where)
        answer = proceed(call)
        boundaries.pass_(AFTER, where)
        return answer

    def pass_boundaries(
        self: Outbound,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        exchange: Exchange,
        **how: Any,
    ) -> Reply:
        where = f"HTTP {kind_of(urlsplit(url).path)}"
        boundaries.pass_(BEFORE, where)
        try:
            return real_exchange(self, method, url, body, headers, exchange, **how)
        finally:
            boundaries.pass_(AFTER, where)

    calls.add_observer(see)
    Outbound._exchange = pass_boundaries  # type: ignore[method-assign]


def kind_of(path: str) -> str:
    """What a call at a receiver's ``path`` is."""
    kinds = {"events": "event", "revoke_token": "revocation", "payment": "payment"}
    return next((kind for part, kind in kinds.items() if part in path), "question")
