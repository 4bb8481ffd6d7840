"""What comes after a crash: the jobs that clean up, and then a second request.

The first request crashes at one of its calls, and the jobs, perhaps, at one of theirs; they run again. Then it is as if
the first request had been completed, or had never come. Where a rule says so, what came of it is unknown.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from chalicelib.cards.jobs import finish_payments_and_holds
from chalicelib.delivery.sweeper import sweep
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.protocol.refusals import NEVER_ENDED
from tests.causeway import Causeway
from tests.interleavings.outcomes import Outcome, difference
from tests.interleavings.playing import Findings, PlayedScene
from tests.interleavings.scheduler import Fault, FaultKind, Played, Request, play
from tests.openbanking.scenes import InMemory

LATER = "later"
"""Stands in an id in place of a schedule."""
_SECOND = 3
"""The place of the second request."""
_KINDS: Sequence[FaultKind] = ("crash before", "crash after")
_VERSION = re.compile(r'"version": \d+')
_UNKNOWN = '"outcome": "unknown"'
_READS = ("/accounts:", "/v2_accounts:")
_OF_PAYMENTS = ("payments:", "idempotency:", "/v2_payment_single:")


def clean_up(causeway: Causeway, minutes: int) -> None:
    """What scheduled jobs and workers do some minutes later; the queue has lost what it had."""
    causeway.clock.advance(minutes * 60)
    InMemory.install(causeway.hub.delivery)
    causeway.hub.delivery.call(sweep)
    for message in causeway.hub.delivery.queue.ids:  # type: ignore[attr-defined]
        causeway.hub.delivery.worker.attempt(message)
    causeway.hub.openbanking.call(record_due_events)
    finish_payments_and_holds(causeway.hub.cards)


class PlayedCrash:
    """Two requests of a scene: the second comes after a crash of the first."""

    def __init__(self, scene: PlayedScene, names: str) -> None:
        self._scene = scene
        self._first, self._second = (scene.requests.take(name) for name in names.split(", "))
        for _ in range(2):  # caches are filled, and blocks of identifiers taken
            self._never, self._completed = self.outcome(self._play(_nothing)), self.outcome(self.play())
        first, jobs, *_ = self.play()
        self.crashes, self.crashes_of_jobs = [*_crashes(0, first)], [*_crashes(1, jobs)]

    def play_all(self, chance: random.Random) -> Findings:
        """Every crash of the first request, alone and with a crash of the jobs by chance."""
        found = Findings()
        for crash in self.crashes:
            found += self._judge(crash) + self._judge(crash, chance.choice(self.crashes_of_jobs))
        return found

    def play(self, *crashes: Fault) -> Sequence[Played]:
        return self._play(self._first, *crashes)

    def outcome(self, played: Sequence[Played]) -> Outcome:
        """What the second request was answered, and what came of both, however often jobs had to try."""
        outcome = self._scene.outcome(played[_SECOND].results)
        stored = (_VERSION.sub("", line) for line in outcome.stored if not line.startswith("deliveries:"))
        return outcome._replace(stored=tuple(stored))

    def _play(self, first: Request, *crashes: Fault) -> Sequence[Played]:
        """Each request when the one before has ended, or crashed."""
        self._scene.restore()
        requests = [first, self._jobs(3), self._jobs(5), self._second, self._jobs(20)]
        struck = {crash.request: replace(crash, request=0) for crash in crashes}
        return [play([request], (), struck.get(number)) for number, request in enumerate(requests)]

    def _jobs(self, minutes: int) -> Request:
        return partial(clean_up, self._scene.causeway, minutes)

    def _judge(self, *crashes: Fault) -> Findings:
        played = self.play(*crashes)
        outcome, wrong = self.outcome(played), self._scene.ledger_mismatch()
        if not self._allows(outcome):
            wrong += difference(outcome, [self._never, self._completed])
        shared = played[0].items[0] & played[_SECOND].items[0]
        identifier = f"{LATER}:{', '.join(map(str, crashes))}"
        return Findings(1, int(bool(shared)), {identifier: wrong} if wrong else {})

    def _allows(self, outcome: Outcome) -> bool:
        """Whether it is as if the first request had come or not, or as the documents say.

        A read is counted before it is made. Of a payment that has begun and never ended, it is unknown whether the bank
        has it; a repeat is told so, and not sent.
        """
        allowed = [self._never, self._completed]
        if any(_UNKNOWN in line for line in outcome.stored):
            if {*outcome.received} - {*self._never.received, *self._completed.received}:
                return False
            if NEVER_ENDED.sentence in outcome.answers:
                allowed = [each._replace(answers=outcome.answers) for each in allowed]
            return _without(_OF_PAYMENTS, outcome) in [_without(_OF_PAYMENTS, each) for each in allowed]
        return outcome in allowed or _without(_READS, outcome) == _without(_READS, self._completed)


def _nothing() -> None:
    """The request that never came."""


def _crashes(number: int, played: Played) -> Iterator[Fault]:
    """Every crash of a request that was played alone."""
    return (Fault(number, call, kind) for call in range(len(played.schedule)) for kind in _KINDS)


def _without(beginnings: tuple[str, ...], outcome: Outcome) -> Outcome:
    """An outcome without the lines that begin so."""
    received, stored = (
        tuple(line for line in lines if not line.startswith(beginnings)) for lines in (outcome.received, outcome.stored)
    )
    return outcome._replace(received=received, stored=stored)
