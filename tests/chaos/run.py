"""A run of the kill test. The service accepts TPP calls, and a worker that is repeatedly killed delivers the messages.

The simulated time advances until no work is due.
"""

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
from tests.chaos.receivers import CallLog, Receivers, verify_in
from tests.chaos.storage import Engine, FillingDisk, LateAnswers
from tests.chaos.traffic import Preparation, TppCall, Traffic
from tests.chaos.worker import Job, Outcome, Worker, preload
from tests.kit.time import ManualClock

START = datetime(2096, 3, 5, 9, tzinfo=UTC)
"""The simulated start time, which is far in the future because DynamoDB Local removes items that expired in real time.
"""
_MINUTE = 60
_OUTAGES = {1: (0.3, 0.4), 2: (0.6, 0.7)}
"""The outage of each bank by version, as two fractions of the TPP calls between which the bank cannot be reached."""
_CALL_CHANCE = 0.1
"""The probability that the next job is a TPP call. A TPP call is made only while few messages are waiting."""
_WAITING = 40
_JOB_SECONDS = (0.05, 0.5)
"""The range of seconds between jobs. At this pace, receivers can handle all messages despite their failures."""
_RESENDS = 5
_OVER = 15 * _MINUTE
"""The seconds to wait after the last call, so that all accepted calls have ended. A bearer token is valid for an hour.
"""
_LOST = 40 * 24 * 60 * _MINUTE
"""The number of seconds after the start of the run after which an undelivered message counts as lost."""
_END_OF_TIME = 2**40


@dataclass(frozen=True)
class Size:
    deliveries: int
    engine: str = ENGINES[0]
    full_disks: int = 0
    backlog: int = 0

    @property
    def most_waiting(self) -> int:
        """Return the maximum number of waiting messages at which the run still makes a TPP call."""
        return self.backlog + _WAITING

    @property
    def lifetime(self) -> int:
        """Return the factor that extends worker lifetimes, so that a long run kills about the required number of
        workers.
        """
        return math.ceil(self.deliveries / 200)


@dataclass
class Accepted:
    """A call accepted for asynchronous processing, with the status and body that the TPP fetched at the end."""

    call: TppCall
    request_id: str
    outcome: tuple[int, Any] = (0, None)

    @property
    def fetching(self) -> TppCall:
        path, bearer = f"/tpp/requests/{self.request_id}", self.call.bearer
        return TppCall("fetch", "", "GET", path, self.call.client_id, True, bearer=bearer)


@dataclass
class Observations:
    calls: list[TppCall] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    unanswered: list[TppCall] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)
    kills: Counter[str] = field(default_factory=Counter)
    resent: int = 0
    attempts: int = 0
    longest: int = 0
    simulated: float = 0
    transcript: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.transcript).encode()).hexdigest()


class Deliveries:
    hub: Hub

    def records(self) -> list[Delivery]:
        return [Delivery.from_item(item) for item in self.items("record")]

    def items(self, kind: str) -> list[Item]:
        return [item for item in self.hub.store.scan("deliveries") if item["part"].startswith(kind)]


class Run(Deliveries):
    """A complete run of the kill test; ``log`` is the log file of the workers."""

    def __init__(self, seed: str, size: Size, log: Path) -> None:
        self._seed, self.size, self._log = seed, size, str(log)
        self._draw = random.Random(f"{seed}/run")
        self.clock = ManualClock(START)
        preload()
        state, most = log.with_name("chaos.sqlite3"), size.deliveries * 4
        self._disk = FillingDisk(f"{seed}/disk", state, size.full_disks, most, self._kill_worker, self.clock.monotonic)
        self.late = LateAnswers(f"{seed}/late")
        self._engine = Engine(self.clock, self.late, size.engine, self._disk if size.full_disks else None)
        verify_in(self.clock.now)
        self.received = CallLog(seed)
        self._banks = {version: Receivers(self.received) for version in (1, 2)}
        self._tpp = Receivers(self.received)
        self._worker = Worker(f"{seed}/0", self._engine.environment, self._log, size.lifetime)
        self.hub = Hub(Settings.from_environment(self._engine.environment), self.clock)
        self._queue = f"{self.hub.settings.prefix}-deliveries"
        self._next_sweep = self.clock.monotonic() + _MINUTE
        self._fetch_at: float | None = None
        self._transcribed = 0
        self._called = 0
        self._resends = 0
        self.observed = Observations()

    def play(self) -> None:
        traffic = self._prepare()
        self.received.events_secrets |= traffic.events_secrets
        self.observed.calls = list(traffic.calls)
        calls = deque(traffic.calls)
        self._disk.is_active = self.late.is_active = self._worker.is_mortal = True
        while self._continue(calls):
            self.clock.advance(self._draw.uniform(*_JOB_SECONDS))
        self._worker.stop()
        self.observed.kills = self._worker.kills
        self.observed.simulated = self.clock.monotonic() - START.timestamp()

    def stop(self) -> None:
        self._worker.stop()
        for server in (*self._banks.values(), self._tpp):
            server.stop()
        self._engine.stop()

    # -- inside

    def _prepare(self) -> Traffic:
        banks = {version: f"{server.url}/bank-{version}" for version, server in self._banks.items()}
        consents, payments, questions = (math.ceil(self.size.deliveries / share) for share in (3, 5, 30))
        preparation = Preparation(self._seed, banks, self._tpp.url, consents, payments, questions, self.size.backlog)
        traffic: Traffic = self._worker.carry_out(self._job("prepare", preparation)).result
        self._worker.stop()
        return traffic

    def _continue(self, calls: deque[TppCall]) -> bool:
        """Run the next job, and return whether work remains."""
        now = self.clock.monotonic()
        self.observed.longest = max(self.observed.longest, self._engine.count_receivable(self._queue))
        if not calls and self._fetch_at is None:
            self._fetch_at = now + _OVER
        if self._fetch_at is not None and now >= self._fetch_at:
            self._fetch_outcomes()
        idle = self._is_idle()
        if idle and not calls:
            return self._skip()
        job = self._choose(calls, idle=idle)
        if job is not None:
            outcome = self._worker.carry_out(job)
            self.clock.advance(max(outcome.now - self.clock.monotonic(), 0))
            self._note(job, outcome)
            if job.name == "call" and self._is_repeated(job.argument, outcome):
                calls.append(job.argument)
        self._engine.restart_if_ended()
        return True

    def _kill_worker(self) -> None:
        self._worker.kill()

    def _is_idle(self) -> bool:
        now, message = self.clock.monotonic(), self._engine.next_message(self._queue)
        return now < self._next_sweep and (message is None or message >= now)

    def _choose(self, calls: deque[TppCall], *, idle: bool) -> Job | None:
        if self.clock.monotonic() >= self._next_sweep:
            self._next_sweep = _minute_after(self.clock.monotonic())
            return self._job("sweep")
        waiting = self._engine.count_receivable(self._queue)
        if calls and self._draw.random() < _CALL_CHANCE and waiting <= self.size.most_waiting:
            self._called += 1
            return self._job("call", calls.popleft())
        return None if idle else self._job("consume")

    def _job(self, name: str, argument: Any = None) -> Job:
        called = self._called / max(len(self.observed.calls), 1)
        closed = [
            self._banks[version].server_port for version, (start, end) in _OUTAGES.items() if start < called < end
        ]
        return Job(name, self.clock.monotonic(), tuple(closed), argument)

    def _note(self, job: Job, outcome: Outcome) -> None:
        subject = job.argument.subject if job.name == "call" else ""
        result = outcome.result[0] if job.name == "call" and outcome.result else outcome.result
        self.observed.transcript.append(f"{job.now:.3f} {job.name} {subject} {result} {outcome.killed_at}")
        received = self.received.calls[self._transcribed :]
        self.observed.transcript += [f"  {call.path} {call.id} {call.response}" for call in received]
        self._transcribed += len(received)
        if job.name == "consume" and outcome.result:
            self.observed.attempts += len(outcome.result[1])

    def _is_repeated(self, call: TppCall, outcome: Outcome) -> bool:
        """Record the response to a call, and return whether the TPP retries the call."""
        if outcome.killed_at is not None:
            if not call.repeated:
                self.observed.unanswered.append(call)
            return call.repeated
        status, body = outcome.result
        if call.kind == "revoke" and status == 200:
            self.observed.revoked.add(call.subject)
        elif call.kind != "revoke" and status == 202:
            self.observed.accepted.append(Accepted(call, body["request_id"]))
        else:
            self.observed.contradictions.append(f"{call.kind} {call.subject} was answered {status}: {body}")
        return False

    def _skip(self) -> bool:
        """Advance the clock to the next possible action. Return false if no further action is possible."""
        now = self.clock.monotonic()
        message = self._engine.next_message(self._queue)
        if message is None or message > self._next_sweep:
            due = DUE.rows(self.hub.store, until=_END_OF_TIME, limit=1)
            if not due:
                return self._end()
            self._next_sweep = max(self._next_sweep, _minute_after(float(due[0][DUE.time]) - 1))
        times = (self._next_sweep, self._fetch_at, None if message is None else message + 0.001)
        self.clock.advance(max(min(time for time in times if time is not None) - now, 0))
        return self.clock.monotonic() < START.timestamp() + _LOST

    def _end(self) -> bool:
        self._fetch_outcomes()
        (resent,) = self._without_faults([self._job("resend")])
        self.observed.resent += resent
        self._resends += 1
        return resent > 0 and self._resends <= _RESENDS

    def _fetch_outcomes(self) -> None:
        if self._fetch_at == math.inf:
            return
        self._fetch_at = math.inf
        jobs = [self._job("call", each.fetching) for each in self.observed.accepted]
        for each, outcome in zip(self.observed.accepted, self._without_faults(jobs), strict=True):
            each.outcome = outcome

    def _without_faults(self, jobs: list[Job]) -> list[Any]:
        worker = Worker(f"{self._seed}/quiet/{self.clock.monotonic()}", self._engine.environment, self._log)
        self._disk.is_active = self.late.is_active = False
        try:
            return [worker.carry_out(job).result for job in jobs]
        finally:
            worker.stop()
            self._disk.is_active = self.late.is_active = True


def _minute_after(time: float) -> float:
    return math.floor(time / _MINUTE + 1) * _MINUTE
