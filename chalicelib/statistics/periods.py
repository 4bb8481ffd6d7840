"""A bank's figures by period, one day or one week, combined from its day records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics.call_counts import CallCounts, Latencies, Service, round_half_up
from chalicelib.statistics.day_records import DayRecord, Summary
from chalicelib.statistics.days import DAY_SECONDS, DayRange, Span


@dataclass(frozen=True, slots=True)
class Reports:
    """The bank's own reports for some days.

    Attributes:
        expected: days for which a report was received or is missing.
        consent, payment: the means of the reported durations in milliseconds, ``None`` if none was reported.
    """

    expected: int = 0
    received: int = 0
    consent: Decimal | None = None
    payment: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Period:
    """The figures of a period.

    Attributes:
        records, made_up: the numbers of days with a record, and with a synthetic record.
        down_days: the number of days with downtime.
        down: the downtimes in seconds of the day, only for a period of one day.
        latencies: the latency histograms by service. ``summary`` combines them.
    """

    days: DayRange
    records: int = 0
    made_up: int = 0
    down_days: int = 0
    down: Sequence[Span] = ()
    summary: Summary = field(default_factory=Summary)
    latencies: Mapping[Service, Latencies] = field(default_factory=dict)
    reports: Reports = field(default_factory=Reports)

    @property
    def is_day(self) -> bool:
        return len(self.days) == 1

    @property
    def used_days(self) -> int:
        """The number of days with requests to the bank."""
        return self.summary.seconds // DAY_SECONDS


def split_into_periods(records: Sequence[DayRecord], days: DayRange) -> list[Period]:
    """Return all periods of ``days`` in order, including periods without records."""
    by_day = {record.day: record for record in records}
    return [_combine(period, [by_day[day] for day in period if day in by_day]) for period in days.periods]


def summarize_periods(periods: Iterable[Period]) -> Summary:
    """Combine the figures of several periods."""
    parts = [period.summary for period in periods if period.records]
    return Summary(
        sum(part.seconds for part in parts),
        sum(part.down_seconds for part in parts),
        CallCounts.total(part.total for part in parts),
        Latencies.total(part.latency for part in parts),
    )


def summarize_reports(records: Sequence[DayRecord]) -> Reports:
    """Summarise the reports of some days. Each day has equal weight, because reports have no number of measurements."""
    expected = [record for record in records if record.report != "not_expected"]
    return Reports(
        len(expected),
        sum(record.report == "received" for record in expected),
        _mean([record.consent_duration for record in expected if record.consent_duration is not None]),
        _mean([record.payment_duration for record in expected if record.payment_duration is not None]),
    )


def _combine(days: DayRange, records: Sequence[DayRecord]) -> Period:
    if not records:
        return Period(days)
    totals = [(record, record.total) for record in records]
    used = [record for record, total in totals if total.bank_requests]
    latencies = {
        service: Latencies.total(record.latencies[service] for record in records if service in record.latencies)
        for service in dict.fromkeys(service for record in records for service in record.latencies)
    }
    summary = Summary(
        DAY_SECONDS * len(used),
        sum(record.down_seconds for record in used),
        CallCounts.total(total for _, total in totals),
        Latencies.total(latencies.values()),
    )
    return Period(
        days,
        len(records),
        sum(record.made_up for record in records),
        sum(record.down_seconds > 0 for record in used),
        records[0].down if len(days) == 1 else (),
        summary,
        latencies,
        summarize_reports(records),
    )


def _mean(durations: Sequence[int]) -> Decimal | None:
    return round_half_up(Decimal(sum(durations)) / len(durations), 1) if durations else None
