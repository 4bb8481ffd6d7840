"""The scheduled work of a sandbox: what runs while time is moved, and when each part has something to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from chalicelib.cards.authorization import authorization_record
from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.payments import pending_index
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.reconciliation.rolling_proof import next_proof_due, prove_accounts
from chalicelib.delivery import sweeper
from chalicelib.delivery.delivery_record import DUE
from chalicelib.demo_bank import clearing
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_client import BankClient
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.records.consents import NOTIFY
from chalicelib.sandbox_clock.clock_advance import ScheduledWork
from chalicelib.sandbox_clock.delivery_sweep import DeliverySweep
from chalicelib.sandbox_clock.remembered_due import RememberedDue, WriteCounts
from chalicelib.statistics.days import DAY_SECONDS, INGESTED_AT
from chalicelib.statistics.ingest import ExpectedBank, Ingest
from chalicelib.statistics.measurements import Measurements

RUN_SECONDS = 40
"""The time, in seconds, after which one run of card work starts no further work."""


def scheduled_work(
    *, call: Call, shared: Infrastructure, store: Store, clock: Clock, writes: WriteCounts, bank_client: BankClient
) -> Sequence[ScheduledWork]:
    """All work, in the order in which it runs within an hour."""

    def remember(next_due: Callable[[int], int | None], *subjects: str) -> RememberedDue:
        """When work is due that follows from ``subjects``."""
        return RememberedDue(next_due, partial(writes.of, *subjects), clock)

    def indexed(index: ShardedIndex) -> RememberedDue:
        """When work is due that is found by its time in an index."""
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
    """Due as on its schedule, unless a whole round was proved since this process last wrote to the ledger."""

    def __init__(self, call: Call, clock: Clock, writes: WriteCounts) -> None:
        self._call = call
        self._clock = clock
        self._writes = writes
        self._proved: int | None = None
        """The number of writes before the round."""

    def run(self) -> bool:
        written = self._count_writes()
        progress = self._call(prove_accounts, _end(self._clock))
        self._proved = written if progress.is_over and not progress.broken else None
        return False

    def next_due(self, _after: int, until: int) -> int | None:
        return None if self._count_writes() == self._proved else self._call(next_proof_due, until)

    def _count_writes(self) -> int:
        """Writes that a proof looks at; not its own progress."""
        return self._writes.of("ledger", "cards") - self._writes.of("ledger/proof")


class DailyReports:
    """The banks' daily reports, due when a day is over, and again when one has failed."""

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
    """Ingest the days that are over, with the calls of the last minute, which are not written yet."""
    measurements.write()
    ingest_alone.run(expected_banks())
    return False


def next_ingest(after: int, until: int) -> int | None:
    """The first time of the nightly ingest after ``after``."""
    today = after - after % DAY_SECONDS + INGESTED_AT * 60
    due = today if today > after else today + DAY_SECONDS
    return due if due <= until else None
