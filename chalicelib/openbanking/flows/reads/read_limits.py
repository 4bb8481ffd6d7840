"""The limit of unattended reads: each is reserved before its bank is asked (RTS on SCA, Article 36(5))."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, StoreError
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Outcome
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.records.unattended_reads import ReadReservation, UnattendedReads
from chalicelib.statistics.days import midnight_after

_ROUNDS = 4
"""Attempts at a reservation that conflicts with others, each with the store's own retries."""


def reserve_read(
    reservation: ReadReservation,
    limit: int,
    *,
    call: Call,
    clock: Clock,
    unattended_reads: UnattendedReads,
    engine: Engine,
    deliveries: Deliveries = NO_DELIVERIES,
) -> None:
    """Count a read, and record what is delivered because of it.

    Raises:
        Refusal: the bank's ``limit`` is reached, and nothing was written.
        StoreError: the read is not counted, unless ``deliveries`` may have been written with it.
    """
    writes = unattended_reads.update_reserved(reservation, limit)

    def decide(facts: Facts) -> Outcome[None]:
        if not facts.permits(*writes):
            raise refuse_access(limit, midnight_after(reservation.reserved_at) - clock.time())
        return Outcome(None, writes, deliveries, is_repeatable=True)

    def release(_: StoreError) -> None:
        if not deliveries.operations:
            call(release_read, reservation)

    engine.carry_out(decide, busy_attempts=_ROUNDS, if_failed=release)


def release_read(reservation: ReadReservation, *, call: Call) -> None:
    """Give a read back that never reached its bank; if that fails, it stays counted."""
    release = partial(call, release_read_with, reservation, ())
    try_to(release, "read not released", consent_id=reservation.consent_id)


def release_read_with(
    reservation: ReadReservation, alongside: Sequence[Operation], *, unattended_reads: UnattendedReads, engine: Engine
) -> None:
    """Give a read back in one transaction with the writes ``alongside``. Raises: StoreError."""
    released: Outcome[None] = Outcome(None, unattended_reads.update_released(reservation))
    engine.carry_out(lambda _: released, alongside=alongside)


def refuse_access(limit: int, seconds: int) -> Refusal:
    """The refusal of a read above its bank's ``limit``, ``seconds`` before the end of the read's UTC day."""
    return refusals.ACCESS_EXCEEDED(limit=limit, retry_after=max(1, seconds))
