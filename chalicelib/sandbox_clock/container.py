"""Wires the movable clock: the schedules of a sandbox, and when each has something to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from chalicelib.cards.authorization import authorization_record
from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.container import CardContainer
from chalicelib.cards.payments import pending_index
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.reconciliation.rolling_proof import next_proof_due, prove_accounts
from chalicelib.delivery import sweeper
from chalicelib.delivery.container import DeliveryContainer
from chalicelib.delivery.delivery_record import DUE
from chalicelib.demo_bank import clearing
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.moved_clock import ClockOffset, MovedClock
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.records.consents import NOTIFY
from chalicelib.sandbox_clock.clock_advance import ClockAdvance, ScheduledWork
from chalicelib.sandbox_clock.delivery_sweep import DeliverySweep
from chalicelib.sandbox_clock.remembered_due import RememberedDue, WriteCounts
from chalicelib.statistics.container import StatisticsContainer
from chalicelib.statistics.days import DAY_SECONDS, INGESTED_AT
from chalicelib.website.container import WebsiteContainer

RUN_SECONDS = 40
"""The time, in seconds, after which one run of card work starts no further work."""


class ClockContainer:
    """The one-machine stack's movable clock; ``shared`` has a ``MovedClock``."""

    def __init__(
        self,
        shared: Infrastructure,
        delivery: DeliveryContainer,
        statistics: StatisticsContainer,
        openbanking: OpenBankingContainer,
        cards: CardContainer,
        website: WebsiteContainer,
    ) -> None:
        self.shared = shared
        self.delivery = delivery
        self.statistics = statistics
        self.openbanking = openbanking
        self.cards = cards
        self.website = website

    @cached_property
    def advance(self) -> ClockAdvance:
        clock = self.shared.clock
        assert isinstance(clock, MovedClock), "only a clock of the one-machine stack can be moved"
        work = (self._settle, self._report, *self._card_work(), *self._hub_work(), self._ingest)
        return ClockAdvance(clock, ClockOffset(self.shared.store), work)

    @cached_property
    def _writes(self) -> WriteCounts:
        return WriteCounts(self.shared.settings.prefix)

    def _indexed(self, name: str, index: ShardedIndex, run: Callable[[], int]) -> ScheduledWork:
        """Work that is found by its time in an index."""
        return self._remembered(name, partial(index.next_time, self.shared.store), run, index.table)

    def _remembered(
        self, name: str, next_due: Callable[[int], int | None], run: Callable[[], int], *subjects: str
    ) -> ScheduledWork:
        """Work whose next due time follows from ``subjects``; ``run`` returns how much of it was done."""
        return ScheduledWork(name, self._remembered_due(next_due, *subjects), lambda: run() > 0)

    def _remembered_due(self, next_due: Callable[[int], int | None], *subjects: str) -> RememberedDue:
        return RememberedDue(next_due, partial(self._writes.of, *subjects), self.shared.clock)

    @property
    def _settle(self) -> ScheduledWork:
        shared, records = self.shared, ("demo-banks/due", "demo-banks/ends")
        return self._remembered(
            "settle", partial(clearing.next_due, shared), partial(clearing.run_due_work, shared), *records
        )

    @property
    def _report(self) -> ScheduledWork:
        """The banks' daily reports, a part of the job that is due without a look at what is stored."""
        reports = _DailyReports(self.shared)
        return ScheduledWork("settle", reports.next_due, reports.run)

    def _card_work(self) -> tuple[ScheduledWork, ...]:
        call = self.cards.call
        proof = _LedgerProof(self.cards, self._writes, self._end)
        return (
            self._indexed("finish", pending_index.DUE, lambda: call(finish_due_payments, self._end())),
            self._indexed("finish", authorization_record.DUE, lambda: call(expire_holds, self._end())),
            ScheduledWork("prove", proof.next_due, proof.run),
        )

    def _hub_work(self) -> tuple[ScheduledWork, ...]:
        from chalicelib.openbanking.flows.consent.expiry import record_due_events

        shared = self.shared
        circuits = self.openbanking.bank_client.breaker
        next_due = self._remembered_due(partial(DUE.next_time, shared.store), DUE.table)
        sweep = DeliverySweep(
            shared.store, shared.clock, partial(self.delivery.call, sweeper.sweep), circuits, next_due
        )
        return (
            self._indexed("expire", NOTIFY, partial(self.openbanking.call, record_due_events)),
            ScheduledWork("sweep", sweep.next_due, sweep.run),
        )

    @property
    def _ingest(self) -> ScheduledWork:
        return ScheduledWork("ingest", _next_ingest, self._ingest_days)

    def _ingest_days(self) -> bool:
        """Ingest the days that are over, with the calls of the last minute, which are not written yet."""
        self.statistics.measurements.write()
        self.statistics.ingest_alone.run(self.statistics.expected_banks())
        return False

    def _end(self) -> float:
        return self.shared.clock.monotonic() + RUN_SECONDS


class _LedgerProof:
    """Due as on its schedule, unless a whole round was proved since this process last wrote to the ledger."""

    def __init__(self, cards: CardContainer, writes: WriteCounts, end: Callable[[], float]) -> None:
        self._cards = cards
        self._writes = writes
        self._end = end
        self._proved: int | None = None
        """The number of writes before the round."""

    def run(self) -> bool:
        written = self._count_writes()
        progress = self._cards.call(prove_accounts, self._end())
        self._proved = written if progress.is_over and not progress.broken else None
        return False

    def next_due(self, _after: int, until: int) -> int | None:
        return None if self._count_writes() == self._proved else self._cards.call(next_proof_due, until)

    def _count_writes(self) -> int:
        """Writes that a proof looks at; not its own progress."""
        return self._writes.of("ledger", "cards") - self._writes.of("ledger/proof")


class _DailyReports:
    """Due when a day is over, and again when a report has failed."""

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


def _next_ingest(after: int, until: int) -> int | None:
    """The first time of the nightly ingest after ``after``."""
    today = after - after % DAY_SECONDS + INGESTED_AT * 60
    due = today if today > after else today + DAY_SECONDS
    return due if due <= until else None
