"""Ingestion: a bank's counters and reports become one record per UTC day.

A record depends only on the day's counters (and earlier counters as far back as a series of unanswered requests may
reach) and the bank's report. A recomputation gives the same record. The bank's name, and whether it had to report, do
not change after the record's creation. A synthetic record is replaced as if it were missing, but only by counters, or
by a report on a day since the bank's registration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import partial
from random import Random

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.statistics import day_overviews, day_records, hourly_counters
from chalicelib.statistics.call_counts import RETENTION_DAYS, HourlyCounters
from chalicelib.statistics.day_records import OLDEST_DAYS, DailyReport, DailyReports, DayRecord, Reported
from chalicelib.statistics.days import DayRange, hours_of, yesterday
from chalicelib.statistics.hourly_counters import REACH_DAYS, HourlyCounterReader, StoredCounters, sum_by_service

AGAIN_DAYS = 2
"""The number of latest days that are always ingested again, because frozen instances write counters late."""
WATCHED_DAYS = OLDEST_DAYS + 1
"""The number of days that the scheduled job checks for late reports and failed runs."""
OLDEST_INGESTED = RETENTION_DAYS - REACH_DAYS - 1  # of a day so long ago all counters are there that its record needs
OVERVIEW_DAYS = 366
"""The number of most recent days for which missing overviews are built."""
RUN_SECONDS = 840  # the schedule begins no other bank after so long


class DayRefused(ValueError):
    """A day cannot be ingested. The message gives the reason."""

    def __init__(self, day: date, why: str) -> None:
        self.day = day
        super().__init__(f"{day} {why}")


class IngestIncomplete(Exception):
    """The days of these banks could not be ingested. The days of all other banks were ingested."""

    def __init__(self, bics: Sequence[str]) -> None:
        self.bics = tuple(bics)
        super().__init__(f"not ingested: {', '.join(bics)}")


@dataclass(frozen=True, slots=True)
class ExpectedBank:
    """A bank whose days are ingested.

    Attributes:
        is_active: whether a record is created even for a day without requests.
        reports: whether the bank has to report each day.
        since: the day of its registration. Its first report is due for the following day.
    """

    bic: str
    name: str
    is_active: bool = False
    reports: bool = False
    since: date = date.min


@dataclass(frozen=True, slots=True)
class Ingested:
    """A record, and whether it is new or changed."""

    record: DayRecord
    is_new: bool


def compute_day(
    bank: ExpectedBank,
    day: date,
    counters: Iterable[HourlyCounters],
    report: DailyReport | None,
    before: DayRecord | None = None,
) -> DayRecord:
    """Compute the record of a day.

    Args:
        counters: the counters of the day, and of the earlier days that ``downtime_spans`` needs, in any order.
        before: the previous record, if any.
    """
    counters, hours = list(counters), hours_of(day)
    return DayRecord(
        bank.bic,
        before.name if before else bank.name,
        day,
        *sum_by_service(hourly for hourly in counters if hourly.hour in hours),
        hourly_counters.downtime_spans(counters, day),
        "received" if report else _missing_report_state(bank, day, before),
        report.consent_duration if report else None,
        report.payment_duration if report else None,
        report.received_at if report else None,
    )


def _missing_report_state(bank: ExpectedBank, day: date, before: DayRecord | None) -> Reported:
    if before:
        return "not_expected" if before.report == "not_expected" else "missing"
    return "missing" if bank.is_active and bank.reports and bank.since < day else "not_expected"


@dataclass(frozen=True, slots=True)
class _StoredDays:
    records: dict[date, DayRecord]
    reports: dict[date, DailyReport]

    def needs(self, bank: ExpectedBank, day: date) -> bool:
        record, report = self.records.get(day), self.reports.get(day)
        if record is None:
            return bank.since <= day and (bank.is_active or report is not None)
        if record.made_up:
            return bank.since <= day and report is not None
        return report is not None and record.report_received_at != report.received_at


class Ingest:
    """Creates the banks' day records from counters and reports.

    If ``is_alone`` is true, no other process counts requests or ingests days. Each run then caches its records, and a
    run on the following day examines only the latest days.
    """

    def __init__(
        self,
        clock: Clock,
        counters: StoredCounters,
        reports: DailyReports,
        store: Store,
        metrics: Metrics,
        *,
        is_alone: bool = False,
    ) -> None:
        self._clock = clock
        self._counters = counters
        self._reports = reports
        self._store = store
        self._metrics = metrics
        self._is_alone = is_alone
        self._previous: dict[str, dict[date, DayRecord]] = {}
        """The records of the previous run's latest days, by BIC."""
        self._overviews_until = date.min

    def run(self, banks: Sequence[ExpectedBank]) -> None:
        """Ingest the due days of all ``banks``, log missing reports, and build the overviews of the days.

        Raises: IngestIncomplete, if some banks could not be ingested. The error is raised at the end of the run.
        """
        done: list[Ingested] = []
        failed: list[str] = []
        started = self._clock.monotonic()
        # random order: if time runs out, it is not always the same banks that are skipped
        for bank in Random(self._clock.time()).sample(banks, len(banks)):
            has_time = self._clock.monotonic() - started < RUN_SECONDS
            made = self._try_bank(bank) if has_time else None
            if made is None:
                failed.append(bank.bic)
            else:
                done += made
        self._report_run(done)
        self.build_overviews(banks)
        if failed:
            raise IngestIncomplete(failed)

    def ingest_due(self, bank: ExpectedBank) -> list[Ingested]:
        """Ingest a bank's due days: the latest days, days without a record, and days with a newer report."""
        latest, previous = yesterday(self._clock), self._previous.pop(bank.bic, {})
        follows_on = latest - timedelta(days=1) in previous
        days = list(DayRange(latest - timedelta(days=(AGAIN_DAYS if follows_on else WATCHED_DAYS) - 1), latest))
        known = self._load_days(bank.bic, days, previous if follows_on else None)
        due = [day for day in days if day > latest - timedelta(days=AGAIN_DAYS) or known.needs(bank, day)]
        done = self._ingest(bank, due, known)
        if self._is_alone:
            self._previous[bank.bic] = {each.record.day: each.record for each in done}
        return done

    def ingest_days(self, bank: ExpectedBank, days: Sequence[date]) -> list[Ingested]:
        """Ingest specific days of a bank. A day without counters and report gets no record.

        Raises: DayRefused, in which case no day is ingested.
        """
        for day in days:
            self._check(day)
        return self._ingest(bank, days, self._load_days(bank.bic, days))

    def build_overviews(self, banks: Sequence[ExpectedBank], days: Sequence[date] = ()) -> None:
        """Build the overviews of ``days``. Without days, build overviews that are missing or may have changed."""
        bics = [bank.bic for bank in banks]
        if days:
            day_overviews.build_overviews(self._store, days, bics)
        else:
            self._build_due_overviews(bics, min((bank.since for bank in banks), default=date.max))

    def _build_due_overviews(self, bics: Sequence[str], first: date) -> None:
        latest = yesterday(self._clock)
        follows_on = self._is_alone and self._overviews_until == latest - timedelta(days=1)
        changed = latest - timedelta(days=(AGAIN_DAYS if follows_on else WATCHED_DAYS) - 1)
        if not follows_on:
            oldest = max(first, latest - timedelta(days=OVERVIEW_DAYS - 1))
            day_overviews.build_missing_overviews(self._store, DayRange(oldest, changed - timedelta(days=1)), bics)
        day_overviews.build_overviews(self._store, DayRange(max(first, changed), latest), bics)
        self._overviews_until = latest

    def _try_bank(self, bank: ExpectedBank) -> list[Ingested] | None:
        try:
            return self.ingest_due(bank)
        except Exception:
            log.exception("days not ingested", bic=bank.bic)
            return None

    def _check(self, day: date) -> None:
        today = self._clock.now().date()
        if day >= today:
            raise DayRefused(day, "is not over yet: a day can be ingested after midnight (UTC)")
        if day < today - timedelta(days=OLDEST_INGESTED):
            raise DayRefused(day, f"is more than {OLDEST_INGESTED} days ago: its counters have expired")

    def _load_days(self, bic: str, days: Sequence[date], records: dict[date, DayRecord] | None = None) -> _StoredDays:
        span = min(days), max(days)
        if records is None:
            records = {record.day: record for record in day_records.records_of_bank(self._store, bic, *span)}
        return _StoredDays(records, {report.day: report for report in self._reports.of_bank(bic, *span)})

    def _ingest(self, bank: ExpectedBank, days: Sequence[date], known: _StoredDays) -> list[Ingested]:
        counters = HourlyCounterReader(partial(self._counters.of_hour, bank.bic))
        done: list[Ingested] = []
        for day in days:
            before, of_day = known.records.get(day), counters.read_day(day)
            if before and before.made_up:
                if not (known.needs(bank, day) or any(hourly.hour in hours_of(day) for hourly in of_day)):
                    continue  # nothing is known that could replace it
                before = None
            if before or of_day or known.needs(bank, day):
                done.append(self._store_record(compute_day(bank, day, of_day, known.reports.get(day), before), before))
        return done

    def _store_record(self, record: DayRecord, before: DayRecord | None) -> Ingested:
        is_new = before is None or before.to_item() != record.to_item()
        if is_new:
            day_records.store_record(self._store, record)
        return Ingested(record, is_new)

    def _report_run(self, done: Sequence[Ingested]) -> None:
        for record in [each.record for each in done if each.record.report == "missing"]:
            is_overdue = record.day < yesterday(self._clock)
            log.warning("report missing", bic=record.bic, day=record.day.isoformat())
            self._metrics.write({"MissingReports": 1, "OverdueReports": int(is_overdue)}, Bank=record.bic)
        self._metrics.write({"IngestedDays": len(done), "MissingReports": 0, "OverdueReports": 0})
        log.info("days ingested", records=len(done), changed=sum(each.is_new for each in done))
