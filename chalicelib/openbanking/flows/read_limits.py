"""The limit of unattended reads: each is reserved before its bank is asked (RTS on SCA, Article 36(5))."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import (
    Busy,
    ConditionFailed,
    Operation,
    Store,
    StoreError,
    StoreUnavailable,
    Update,
)
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.flows.relay_requests import RelayRequest
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

    store: Store
    clock: Clock
    reads: UnattendedReads

    def counted_read(self, relayed: RelayRequest, psu: PsuContext) -> CountedRead | None:
        """The read that a request makes; ``None`` if it does not count or its bank has no limit."""
        limit = relayed.read_limit(psu)
        if limit is None:
            return None
        now = self.clock.time()
        reservation = self.reads.new(relayed.consent.consent_id, relayed.call.name, relayed.request, now)
        return CountedRead(reservation, limit, midnight_after(now))

    def reserve(self, read: CountedRead, recorded: Sequence[Operation] = ()) -> None:
        """Count a read, and write ``recorded`` in the same transaction.

        Raises:
            Refusal: the limit is reached, and nothing was written.
            StoreError: the read is not counted, unless ``recorded`` may have been written with it.
        """
        writes = self.reads.update_reserved(read.reservation, read.limit)
        for number in range(1, _ROUNDS + 1):
            try:
                self._write(writes, recorded)
                return
            except ConditionFailed:
                raise refuse_access(read.limit, read.day_ends_at - self.clock.time()) from None
            except StoreError as error:
                if isinstance(error, Busy) and number < _ROUNDS:
                    continue
                if not recorded:
                    self.release(read.reservation)
                raise

    def release(self, reservation: ReadReservation) -> None:
        """Give a read back that never reached its bank; if that fails, it stays counted."""
        try:
            self.store.transact(self.reads.update_released(reservation))
        except StoreError:
            log.exception("read not released", consent_id=reservation.consent_id)

    def release_with(self, reservation: ReadReservation, operations: Sequence[Operation]) -> None:
        """Give a read back in one transaction with ``operations``. Raises: StoreError."""
        self.store.transact([*self.reads.update_released(reservation), *operations])

    def _write(self, writes: Sequence[Update], recorded: Sequence[Operation]) -> None:
        """Write a reservation. A single item is updated without a transaction, which would conflict with others."""
        (first, *others) = writes
        if others or recorded:
            self.store.transact([*recorded, *writes])
            return
        try:
            self.store.update(first.table, first.key, set=first.set, add=first.add, condition=first.condition)
        except StoreUnavailable:  # it may have been written: the repeat does not count again
            self.store.transact(writes)


def refuse_access(limit: int, seconds: int) -> Refusal:
    """The refusal of a read above its bank's ``limit``, ``seconds`` before the end of the read's UTC day."""
    return refusals.ACCESS_EXCEEDED(limit=limit, retry_after=max(1, seconds))
