"""The limit of unattended reads: each is reserved before its bank is asked (RTS on SCA, Article 36(5))."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, StoreError
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Outcome
from chalicelib.openbanking.flows.reads.relay_requests import RelayRequest
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.records.unattended_reads import ReadReservation, UnattendedReads
from chalicelib.statistics.days import midnight_after

_ROUNDS = 4
"""Attempts at a reservation that conflicts with others, each with the store's own retries."""


@dataclass(frozen=True, slots=True)
class CountedRead:
    """A read that counts, its bank's limit, and the Unix second at which its UTC day ends."""

    reservation: ReadReservation
    limit: int
    day_ends_at: int


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Reserves reads, and releases those that never reached their bank."""

    engine: Engine
    clock: Clock
    unattended_reads: UnattendedReads

    def counted_read(self, relayed: RelayRequest, psu: PsuContext) -> CountedRead | None:
        """The read that a request makes; ``None`` if it does not count or its bank has no limit."""
        limit = relayed.read_limit(psu)
        if limit is None:
            return None
        now = self.clock.time()
        reservation = self.unattended_reads.new(relayed.consent.consent_id, relayed.call.name, relayed.request, now)
        return CountedRead(reservation, limit, midnight_after(now))

    def reserve(self, read: CountedRead, recorded: Deliveries = NO_DELIVERIES) -> None:
        """Count a read, and record what is delivered because of it.

        Raises:
            Refusal: the limit is reached, and nothing was written.
            StoreError: the read is not counted, unless ``recorded`` may have been written with it.
        """
        writes = self.unattended_reads.update_reserved(read.reservation, read.limit)

        def decide(facts: Facts) -> Outcome[None]:
            if not facts.permits(*writes):
                raise refuse_access(read.limit, read.day_ends_at - self.clock.time())
            return Outcome(None, writes, recorded, is_repeatable=True)

        try:
            self.engine.carry_out(decide, Facts(), busy_attempts=_ROUNDS)
        except StoreError:
            if not recorded.operations:
                self.release(read.reservation)
            raise

    def release(self, reservation: ReadReservation) -> None:
        """Give a read back that never reached its bank; if that fails, it stays counted."""
        try_to(partial(self.release_with, reservation, ()), "read not released", consent_id=reservation.consent_id)

    def release_with(self, reservation: ReadReservation, operations: Sequence[Operation]) -> None:
        """Give a read back in one transaction with ``operations``. Raises: StoreError."""
        released: Outcome[None] = Outcome(None, self.unattended_reads.update_released(reservation))
        self.engine.carry_out(lambda _: released, Facts(), alongside=operations)


def refuse_access(limit: int, seconds: int) -> Refusal:
    """The refusal of a read above its bank's ``limit``, ``seconds`` before the end of the read's UTC day."""
    return refusals.ACCESS_EXCEEDED(limit=limit, retry_after=max(1, seconds))
