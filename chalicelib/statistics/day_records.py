"""Day records: figures of a bank's interface on one UTC day, kept for good by quarter; and the bank's reports.

Banks of version 2 report the average durations of consents and payments of each day (daily_performance).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from itertools import accumulate, pairwise
from typing import Literal

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Put, Store
from chalicelib.foundation.parallel import together
from chalicelib.statistics.call_counts import SERVICES, CallCounts, Latencies, Service, percent, round_half_up
from chalicelib.statistics.days import DAY_SECONDS, DayRange, Span, quarter_of

OLDEST_DAYS = 35


class DayOutOfRange(ValueError):
    """A report's day is out of range; the message says why."""


@dataclass(frozen=True, slots=True)
class DailyReport:
    """One bank's report on one day; durations in milliseconds, ``None`` if not reported.

    ``received_at`` is the Unix second that it came in; 0 until it is kept.
    """

    bic: str
    day: date
    consent_duration: int | None
    payment_duration: int | None
    received_at: int = 0


class DailyReports:
    """The reports, one per bank and day; a later one replaces an earlier one."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def put_report(self, report: DailyReport) -> Put:
        """The write of a report. Raises: DayOutOfRange, for a future day or one too long ago."""
        today = self._clock.now().date()
        if report.day > today:
            raise DayOutOfRange("date must not be in the future")
        if report.day < today - timedelta(days=OLDEST_DAYS):
            raise DayOutOfRange(f"date must not be more than {OLDEST_DAYS} days ago")
        item: Item = {
            "subject": _subject(report.bic),
            "part": report.day.isoformat(),
            "consent_duration": report.consent_duration,
            "payment_duration": report.payment_duration,
            "received_at": self._clock.time(),
        }
        return Put(TABLE, {name: value for name, value in item.items() if value is not None})

    def of_bank(self, bic: str, since: date, until: date) -> list[DailyReport]:
        """A bank's reports on the days from ``since`` to ``until``, both included, in their order: one query."""
        bounds = "part", since.isoformat(), until.isoformat()
        return [_read_report(bic, item) for item in self._store.each(TABLE, ("subject", _subject(bic)), between=bounds)]


def _read_report(bic: str, item: Item) -> DailyReport:
    day = date.fromisoformat(item["part"])
    return DailyReport(bic, day, item.get("consent_duration"), item.get("payment_duration"), item["received_at"])


def _subject(bic: str) -> str:
    return f"report#{bic}"


TABLE = "statistics"
Reported = Literal["received", "missing", "not_expected"]
"""Whether the bank reported the day (daily_performance); version 1 banks do not report."""


@dataclass(frozen=True, slots=True)
class DayRecord:
    """One bank, one day.

    Attributes:
        name: the bank's at the time.
        tallies, latencies: by service.
        down: downtimes in seconds of the day, as half-open spans.
        report: whether the bank has reported its own figures.
        consent_duration, payment_duration: as reported, in milliseconds.
        report_received_at: when, in Unix seconds.
    """

    bic: str
    name: str
    day: date
    tallies: dict[Service, CallCounts] = field(default_factory=dict)
    latencies: dict[Service, Latencies] = field(default_factory=dict)
    down: tuple[Span, ...] = ()
    report: Reported = "not_expected"
    consent_duration: int | None = None
    payment_duration: int | None = None
    report_received_at: int | None = None

    @property
    def total(self) -> CallCounts:
        """The counts of all services together."""
        return CallCounts.total(self.tallies.values())

    @property
    def latency(self) -> Latencies:
        """The latencies of all services together."""
        return Latencies.total(self.latencies.values())

    @property
    def down_seconds(self) -> int:
        return sum(until - since for since, until in self.down)

    @property
    def unavailability_minutes(self) -> Decimal:
        """Round to two decimals."""
        return round_half_up(Decimal(self.down_seconds) / 60, 2)

    @property
    def availability(self) -> Decimal | None:
        """Percent of the day that the interface was up, to three decimals; ``None`` if it was not used."""
        return percent(DAY_SECONDS - self.down_seconds, DAY_SECONDS) if self.total.bank_requests else None

    def to_item(self) -> Item:
        """The latencies are one string: nested maps of numbers take ten times as long to read."""
        latencies = {name: self.latencies[name].to_item() for name in SERVICES if name in self.latencies}
        item: Item = {
            "subject": quarter_subject(quarter_of(self.day)),
            "part": f"{self.bic}#{self.day.isoformat()}",
            "bic": self.bic,
            "name": self.name,
            "day": self.day.isoformat(),
            "tallies": {name: self.tallies[name].to_item() for name in SERVICES if name in self.tallies},
            "latencies": jsontext.dumps(latencies),
            "down": _as_lengths(self.down),
            "report": self.report,
            "consent_duration": self.consent_duration,
            "payment_duration": self.payment_duration,
            "report_received_at": self.report_received_at,
        }
        return {name: value for name, value in item.items() if value is not None}

    def put(self) -> Put:
        """The write of the record, which replaces one of the same day."""
        return Put(TABLE, self.to_item())

    @classmethod
    def from_item(cls, item: Item) -> DayRecord:
        return cls(
            item["bic"],
            item["name"],
            date.fromisoformat(item["day"]),
            {name: CallCounts.from_item(tally) for name, tally in item["tallies"].items()},
            {name: Latencies.from_item(latencies) for name, latencies in jsontext.loads(item["latencies"]).items()},
            _from_lengths(item["down"]),
            item["report"],
            item.get("consent_duration"),
            item.get("payment_duration"),
            item.get("report_received_at"),
        )


def _as_lengths(spans: Iterable[Span]) -> str:
    """Alternating seconds up and down: ``36000,120``. A day that changes every second still fits."""
    edges = [0, *(second for span in spans for second in span)]
    return ",".join(str(later - earlier) for earlier, later in pairwise(edges))


def _from_lengths(text: str) -> tuple[Span, ...]:
    edges = list(accumulate(map(int, text.split(",")))) if text else []
    return tuple(zip(edges[::2], edges[1::2], strict=True))


def quarter_subject(quarter: str) -> str:
    """The partition of all banks' records of a quarter like ``2026-Q4``."""
    return f"quarter#{quarter}"


@dataclass(frozen=True, slots=True)
class DayRecords:
    store: Store

    def store_record(self, record: DayRecord) -> None:
        self.store.put(TABLE, record.to_item())

    def of_bank(self, bic: str, since: date, until: date) -> list[DayRecord]:
        """The records of one bank, both ends included, in order: one query per quarter."""
        bounds = "part", f"{bic}#{since.isoformat()}", f"{bic}#{until.isoformat()}"
        parts = together([partial(self._rows, quarter, bounds) for quarter in DayRange(since, until).quarters])
        return [DayRecord.from_item(item) for items in parts for item in items]

    def of_all(self, since: date, until: date) -> Iterator[DayRecord]:
        """The records of all banks, both ends included, by quarter, bank and day."""
        for quarter in DayRange(since, until).quarters:
            for item in self.store.each(TABLE, ("subject", quarter_subject(quarter))):
                if since.isoformat() <= item["day"] <= until.isoformat():
                    yield DayRecord.from_item(item)

    def _rows(self, quarter: str, between: tuple[str, str, str]) -> list[Item]:
        return list(self.store.each(TABLE, ("subject", quarter_subject(quarter)), between=between))


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a period.

    Attributes:
        seconds: of the time that it is known of whether the interface was up; none when the bank was not asked.
        down_seconds: of those, when it was not.
        total: counts of all services together.
        latency: of all services together.
    """

    seconds: int = 0
    down_seconds: int = 0
    total: CallCounts = field(default_factory=CallCounts)
    latency: Latencies = field(default_factory=Latencies)

    @property
    def availability(self) -> Decimal | None:
        """Percentage to three decimals."""
        return percent(self.seconds - self.down_seconds, self.seconds)

    @property
    def downtime(self) -> int | None:
        """Seconds."""
        return self.down_seconds if self.seconds else None


def summarize(records: Iterable[DayRecord]) -> Summary:
    """The figures of several days together."""
    records = list(records)
    known = [record for record in records if record.availability is not None]
    return Summary(
        DAY_SECONDS * len(known),
        sum(record.down_seconds for record in known),
        CallCounts.total(record.total for record in records),
        Latencies.total(record.latency for record in records),
    )
