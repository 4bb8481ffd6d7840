"""The scheduled work of a sandbox: the jobs that run during a clock advance, and their due times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from chalicelib.cards.authorization import authorization_record
from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.payments import pending_index
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.reconciliation.rolling_proof import next_proof_due, prove_accounts
from chalicelib.delivery import sweeper
from chalicelib.delivery.delivery_record import DUE, Delivery
from chalicelib.delivery.sweeper import Choose
from chalicelib.demo_bank import clearing
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_circuits import BankCircuits
from chalicelib.openbanking.bank_client.bank_client import BankClient
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.records.consents import NOTIFY
from chalicelib.sandbox_clock.clock_advance import NextDue, ScheduledWork
from chalicelib.sandbox_clock.remembered_due import RememberedDue, WriteCounts
from chalicelib.statistics.days import DAY_SECONDS, INGESTED_AT
from chalicelib.statistics.ingest import ExpectedBank, Ingest
from chalicelib.statistics.measurements import Measurements

RUN_SECONDS = 40
"""The number of seconds after which a run of card work starts no further work."""


def scheduled_work(
    *, call: Call, shared: Infrastructure, store: Store, clock: Clock, writes: WriteCounts, bank_client: BankClient
) -> Sequence[ScheduledWork]:
    """Return all scheduled work, in the order in which it runs within an hour."""

    def remember(next_due: Callable[[int], int | None], *subjects: str) -> RememberedDue:
        """Return a cached query for the next due time of work. Writes to ``subjects`` invalidate the result."""
        return RememberedDue(next_due, partial(writes.of, *subjects), clock)

    def indexed(index: ShardedIndex) -> RememberedDue:
        """Return a cached query for the next due time in a sharded index."""
        return remember(partial(index.next_time, store), index.table)

    settle_due = remember(partial(clearing.next_due, shared), "demo-banks/due", "demo-banks/ends")
    reports, proof = DailyReports(shared), LedgerProof(call, clock, writes)
    sweep = DeliverySweep(store, clock, partial(call, sweeper.sweep), bank_client.breaker, indexed(DUE))
    return (
        ScheduledWork("settle", settle_due, lambda: clearing.run_due_work(shared) > 0),
        ScheduledWork("settle", reports.next_due, reports.run),
        ScheduledWork("finish", indexed(pending_index.DUE), lambda: call(finish_due_payments, _end(clock)) > 0),
        ScheduledWork("finish", indexed(authorization_record.DUE), lambda: call(expire_holds, _end(clock)) > 0),
        ScheduledWork("prove", proof.next_due, proof.run),
        ScheduledWork("expire", indexed(NOTIFY), lambda: call(record_due_events) > 0),
        ScheduledWork("sweep", sweep.next_due, sweep.run),
        ScheduledWork("ingest", next_ingest, partial(call, ingest_days)),
    )


def _end(clock: Clock) -> float:
    return clock.monotonic() + RUN_SECONDS


class LedgerProof:
    """The scheduled ledger check. No check is due if this process has not written to the ledger since its last complete
    and successful check.
    """

    def __init__(self, call: Call, clock: Clock, writes: WriteCounts) -> None:
        self._call = call
        self._clock = clock
        self._writes = writes
        self._proved: int | None = None
        """The number of writes before the last complete ledger check."""

    def run(self) -> bool:
        written = self._count_writes()
        progress = self._call(prove_accounts, _end(self._clock))
        self._proved = written if progress.is_over and not progress.broken else None
        return False

    def next_due(self, _after: int, until: int) -> int | None:
        return None if self._count_writes() == self._proved else self._call(next_proof_due, until)

    def _count_writes(self) -> int:
        return self._writes.of("ledger", "cards") - self._writes.of("ledger/proof")


class DailyReports:
    """The banks' daily reports. They are due after the end of each day, and again after a failure."""

    def __init__(self, shared: Infrastructure) -> None:
        self._shared = shared
        self._again_at: int | None = None

    def run(self) -> bool:
        self._again_at = clearing.report_days(self._shared)
        return False

    def next_due(self, after: int, until: int) -> int | None:
        due = after - after % DAY_SECONDS + DAY_SECONDS
        if self._again_at is not None:
            due = min(due, max(self._again_at, after))
        return due if due <= until else None


def ingest_days(
    *, measurements: Measurements, ingest_alone: Ingest, expected_banks: Callable[[], Sequence[ExpectedBank]]
) -> bool:
    """Ingest the completed days, including unwritten calls of the last minute."""
    measurements.write()
    ingest_alone.run(expected_banks())
    return False


def next_ingest(after: int, until: int) -> int | None:
    """Return the first time of the nightly ingest after ``after``."""
    today = after - after % DAY_SECONDS + INGESTED_AT * 60
    due = today if today > after else today + DAY_SECONDS
    return due if due <= until else None


class DeliverySweep:
    """Queues due deliveries during clock advances, except deliveries to a bank whose circuit breaker is open.

    The pause of a circuit breaker passes in real time, and a clock advance takes little real time. A delivery to a bank
    with an open circuit breaker would be postponed every simulated hour. Instead, the delivery remains due until the
    circuit breaker admits a call or the clock advance ends.

    Args:
        sweep: queues due deliveries (``sweeper.sweep``).
        next_due: returns the due time of the next delivery.
    """

    def __init__(
        self, store: Store, clock: Clock, sweep: Callable[[int, Choose], int], circuits: BankCircuits, next_due: NextDue
    ) -> None:
        self._store = store
        self._clock = clock
        self._sweep = sweep
        self._circuits = circuits
        self._next_due = next_due
        self._swept_at = 0
        self._left_out: list[Delivery] = []

    def run(self) -> bool:
        """Queue the due deliveries. Returns whether any delivery was due."""
        self._swept_at, self._left_out = self._clock.time(), []
        return self._sweep(0, self._choose) > 0

    def next_due(self, after: int, until: int) -> int | None:
        """Return the time of the next run. Deliveries that the latest run omitted are included if their bank may be
        called.
        """
        if not self._left_out or any(
            self._circuits.calls_admitted(each.concerned_bank) != 0 for each in self._left_out
        ):
            return self._next_due(after, until)
        became_due = DUE.next_time(self._store, until, since=self._swept_at + 1)
        expires_at = min(each.give_up_at for each in self._left_out) + 1
        return min((at for at in (became_due, expires_at) if at is not None and at <= until), default=None)

    def _choose(self, deliveries: Iterable[Delivery]) -> Sequence[Delivery]:
        """Return the due deliveries that each bank's circuit breaker admits, and all expired deliveries.

        An expired delivery is ended without calling the bank.
        """
        room: dict[str, int | None] = {}
        return [each for each in deliveries if each.give_up_at < self._swept_at or self._is_admitted(each, room)]

    def _is_admitted(self, delivery: Delivery, room: dict[str, int | None]) -> bool:
        """Whether the circuit of the delivery's bank admits one more call. If so, this call is reserved for the
        delivery.
        """
        if not delivery.receiver.startswith("bank#"):
            return True
        bic = delivery.concerned_bank
        left = room[bic] if bic in room else self._circuits.calls_admitted(bic)
        room[bic] = None if left is None else max(0, left - 1)
        if left == 0:
            self._left_out.append(delivery)
        return left != 0
