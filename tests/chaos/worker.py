"""A worker process that runs the service's queue consumer and scheduled jobs, and is killed at a random boundary.

A boundary is the moment before a call is sent, or the moment between the execution of a call and its response. The
process kills itself with ``SIGKILL``, so no cleanup code runs. Identifiers, jitter and the time depend on a seed, so a
run can be repeated.
"""

import base64
import multiprocessing
import os
import random
import secrets
import signal
import socket
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
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
from chalicelib.foundation.http.deadline_connections import DeadlineReader
from chalicelib.foundation.http.outbound import Outbound, Reply
from chalicelib.foundation.settings import Settings
from chalicelib.statistics import measurements
from infra.local.event_runner import EventRunner, queue_name
from tests.causeway import Causeway
from tests.chaos.receivers import NO_ANSWER
from tests.chaos.traffic import Preparation, TppCall
from tests.kit.time import ManualClock

BEFORE, AFTER = "before", "after"
WITH_STACK = "with the whole stack"
_SERVICES = {"dynamodb": "DynamoDB", "sqs": "SQS", "kms": "KMS", "secretsmanager": "Secrets"}
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
"""The calls at which a worker can be killed, each with the approximate frequency of the call in a process."""
_WEIGHTS = [1 if usual == _ONCE else 3 for usual in _BOUNDARIES.values()]
_LATEST = 200
_ENDLESS = 3600
_START = multiprocessing.get_context("forkserver")

boto3.client("sqs", region_name="eu-west-1")  # forked processes need not read the models of services


@dataclass(frozen=True)
class Kill:
    """A position at which the worker process kills itself: before or after (``side``) the ``nth`` occurrence of
    ``call``. The process kills itself at boundary number ``latest`` at the latest.
    """

    call: str
    side: str
    nth: int
    latest: int


@dataclass(frozen=True)
class Plan:
    """The settings of a worker process. ``log`` is the log file. If ``kill`` is ``None``, the process is not killed."""

    seed: str
    environment: Mapping[str, str]
    log: str
    now: float
    kill: Kill | None


@dataclass(frozen=True)
class Job:
    """A job of a worker and the time of the job. Connections to the ports in ``closed`` are refused during the job."""

    name: str
    now: float
    closed: tuple[int, ...] = ()
    argument: Any = None


@dataclass(frozen=True)
class Outcome:
    """The result and the simulated time of a job, or the position at which the worker was killed during the job."""

    now: float
    result: Any = None
    killed_at: str | None = None


class Worker:
    """Runs jobs in a sequence of worker processes. ``kills`` counts the boundaries at which processes were killed.

    A longer ``lifetime`` delays the kills. Processes are killed only while ``is_mortal`` is true.
    """

    def __init__(self, name: str, environment: Mapping[str, str], log: str, lifetime: int = 1) -> None:
        self._name, self._environment, self._log = name, environment, log
        self._lifetime = lifetime
        self._draw = random.Random(name)
        self._process: BaseProcess | None = None
        self._started = 0
        self.is_mortal = False
        self.kills: Counter[str] = Counter()

    def carry_out(self, job: Job) -> Outcome:
        if self._process is None:
            self._start(job.now)
        try:
            self._connection.send(job)
            event, content, now = self._connection.recv()
        except (EOFError, ConnectionError):
            event, content, now = "killed", WITH_STACK, job.now
        if event == "done":
            return Outcome(now, content)
        self.stop()
        self.kills[content] += 1
        return Outcome(now, killed_at=content)

    def kill(self) -> None:
        """Kill the process during a job, as if the whole stack ended."""
        if self._process is not None and self._process.pid is not None:
            os.kill(self._process.pid, signal.SIGKILL)

    def stop(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.join()
            self._process = None

    def _start(self, now: float) -> None:
        self._started += 1
        plan = Plan(f"{self._name}/{self._started}", self._environment, self._log, now, self._draw_kill())
        self._connection, theirs = _START.Pipe()
        self._process = _START.Process(target=run_worker, args=(theirs, plan), daemon=True)
        self._process.start()
        theirs.close()

    def _draw_kill(self) -> Kill | None:
        if not self.is_mortal:
            return None
        (call,) = self._draw.choices(list(_BOUNDARIES), _WEIGHTS)
        usual = _BOUNDARIES[call]
        nth = self._draw.randint(1, usual * self._lifetime if usual == _OFTEN else usual)
        latest = self._draw.randint(1, _LATEST * self._lifetime)
        return Kill(call, self._draw.choice((BEFORE, AFTER)), nth, latest)


def preload() -> None:
    """Fork new workers from a process that has imported all modules, so that sets have equal order in all workers."""
    os.environ["PYTHONHASHSEED"] = "0"
    _START.set_forkserver_preload(["tests.chaos.worker"])


class Boundaries:
    """Counts the calls of a worker process, and kills the process before or after a selected call. The process first
    reports the position.
    """

    def __init__(self, connection: Connection, clock: ManualClock, kill: Kill | None) -> None:
        self._connection, self._clock, self._kill = connection, clock, kill
        self._passed: Counter[tuple[str, str]] = Counter()

    def mark(self) -> None:
        """Observe all calls to AWS and to receivers. Count a possible kill position before and after each call."""
        exchange_once = Outbound.send_once

        def observe(call: calls.Call, proceed: calls.Proceed) -> calls.Members:
            name = f"{_SERVICES[call.service]} {call.operation}"
            self._pass(BEFORE, name)
            answer = proceed(call)
            self._pass(AFTER, name)
            return answer

        def exchange(outbound: Outbound, method: str, url: str, *arguments: Any, **options: Any) -> Reply:
            name = f"HTTP {kind_of(urlsplit(url).path)}"
            self._pass(BEFORE, name)
            try:
                return exchange_once(outbound, method, url, *arguments, **options)
            finally:
                self._pass(AFTER, name)

        calls.add_observer(observe)
        Outbound.send_once = exchange  # type: ignore[assignment, method-assign]

    def _pass(self, side: str, call: str) -> None:
        self._passed[call, side] += 1
        kill = self._kill
        if kill is None:
            return
        is_drawn = (call, side) == (kill.call, kill.side) and self._passed[call, side] == kill.nth
        if is_drawn or self._passed.total() == kill.latest:
            self._connection.send(("killed", f"{side} {call}", self._clock.monotonic()))
            os.kill(os.getpid(), signal.SIGKILL)


class _Jobs:
    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._hub = bootstrap.Hub(Settings.from_environment(os.environ), clock)
        send, prefix = partial(calls.send, "dynamodb"), self._hub.settings.prefix
        self._hub.__dict__["store"] = Store(send, prefix, lambda _: None, monotonic=clock.monotonic)
        bootstrap.use(self._hub)
        self._closed: tuple[int, ...] = ()
        self._attempted: list[str] = []
        self._sqs = boto3.client("sqs")
        self._runner = EventRunner(app.app, timeouts={}, region="eu-west-1", sqs=self._sqs)
        self._url = ""
        self._watch_attempts()
        self._close_ports()

    def do(self, job: Job) -> Any:
        self._clock.advance(job.now - self._clock.monotonic())
        self._closed = job.closed
        return getattr(self, job.name)(job.argument)

    def consume(self, _: None) -> tuple[int, tuple[str, ...]]:
        """Process one message. Return the number of deleted messages and the attempted deliveries."""
        (consumer,) = self._runner.consumers
        if not self._url:
            self._url = self._sqs.get_queue_url(QueueName=queue_name(consumer))["QueueUrl"]
        self._attempted.clear()
        deleted = self._runner.consume_once(consumer, self._url)
        return deleted, tuple(self._attempted)

    def sweep(self, _: None) -> bool:
        (sweep,) = [source for source in self._runner.schedules if source.name == "sweep"]
        return self._runner.run_schedule(sweep)

    def call(self, call: TppCall) -> tuple[int, Any]:
        outbound, causeway = self._hub.outbound, Causeway(self._hub, {})
        self._hub.__dict__["outbound"] = outbound  # deliveries need the real one
        answer = causeway.tpp.call(
            call.method, call.path, call.body, bearer=call.bearer, client_id=call.client_id, headers=call.headers
        )
        return answer.status, answer.body

    def prepare(self, preparation: Preparation) -> Any:
        return preparation.carry_out(self._hub)

    def resend(self, _: None) -> int:
        journal: Journal = self._hub.delivery.make(Journal, clock=self._clock)
        return journal.resend_failed(0)

    def _watch_attempts(self) -> None:
        worker = self._hub.delivery.worker
        attempt_once = worker.attempt

        def attempt(message: str) -> None:
            self._attempted.append(message)
            attempt_once(message)

        worker.attempt = attempt  # type: ignore[method-assign]

    def _close_ports(self) -> None:
        module: Any = deadline_connections
        connect_once = module.create_connection

        def connect(address: tuple[str, int], *arguments: Any, **options: Any) -> Any:
            if address[1] in self._closed:
                raise ConnectionRefusedError
            return connect_once(address, *arguments, **options)

        module.create_connection = connect


def run_worker(connection: Connection, plan: Plan) -> None:
    os.environ.update(plan.environment)
    log = os.open(plan.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    draw_from(plan.seed)
    parallel.WIDTH = 1
    clock = ManualClock(datetime.fromtimestamp(plan.now, UTC))
    simulate_time_limits(clock)
    Boundaries(connection, clock, plan.kill).mark()
    jobs = _Jobs(clock)
    while True:
        try:
            job = connection.recv()
        except EOFError:
            os._exit(0)
        connection.send(("done", jobs.do(job), clock.monotonic()))


def draw_from(seed: str) -> None:
    """Derive every identifier and all jitter of this process from ``seed``."""
    source = random.Random(seed)
    random.seed(seed)
    secrets.token_bytes = lambda nbytes=None: source.randbytes(nbytes or 32)
    secrets.token_hex = lambda nbytes=None: source.randbytes(nbytes or 32).hex()
    secrets.token_urlsafe = lambda nbytes=None: (
        base64.urlsafe_b64encode(source.randbytes(nbytes or 32)).rstrip(b"=").decode()
    )
    uuid.uuid4 = lambda: uuid.UUID(bytes=source.randbytes(16), version=4)


def simulate_time_limits(clock: ManualClock) -> None:
    """Measure time limits with ``clock`` instead of real time, so that a seed reproduces their effects."""
    time.monotonic = clock.monotonic
    measurements.WRITE_TIMEOUT = measurements.ANSWER_TIMEOUT = _ENDLESS
    settimeout, readinto = socket.socket.settimeout, DeadlineReader.readinto

    def wait_for_answer(reader: DeadlineReader, buffer: Any) -> int | None:
        read = readinto(reader, buffer)
        while bytes(buffer[:read]) == NO_ANSWER:
            clock.advance(reader.exchange.time_to_wait())
        return read

    socket.socket.settimeout = lambda each, seconds: settimeout(each, seconds and _ENDLESS)  # type: ignore[method-assign]
    DeadlineReader.readinto = wait_for_answer  # type: ignore[assignment, method-assign]


def kind_of(path: str) -> str:
    kinds = {"events": "event", "revoke_token": "revocation", "payment": "payment"}
    return next((kind for part, kind in kinds.items() if part in path), "question")
