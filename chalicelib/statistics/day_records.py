"""Day records: figures of a bank's interface for one UTC day, stored permanently by quarter, and banks' own reports.

Version 2 banks report each day's average durations of consents and payments (daily_performance).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from itertools import accumulate, pairwise
from typing import Literal

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Put, Store, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import together
from chalicelib.statistics.call_counts import SERVICES, CallCounts, Latencies, Service, percent, round_half_up
from chalicelib.statistics.days import DAY_SECONDS, DayRange, Span, quarter_of

OLDEST_DAYS = 35


class DayOutOfRange(ValueError):
    """The day of a report is out of range. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class DailyReport:
    """A bank's report for one day, with durations in milliseconds, ``None`` if not reported.

    ``received_at`` is the Unix second of its arrival, 0 until the report is stored.
    """

    bic: str
    day: date
    consent_duration: int | None
    payment_duration: int | None
    received_at: int = 0


class DailyReports:
    """Stored reports, one per bank and day. A later report replaces an earlier report."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def put_report(self, report: DailyReport) -> Put:
        """Return the write operation that stores a report. Raises: DayOutOfRange, for a day in the future or too long
        ago.
        """
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
        """Return a bank's reports from ``since`` to ``until``, inclusive, in order, with one query."""
        bounds = "part", since.isoformat(), until.isoformat()
        return [_read_report(bic, item) for item in self._store.each(TABLE, ("subject", _subject(bic)), between=bounds)]


def _read_report(bic: str, item: Item) -> DailyReport:
    day = date.fromisoformat(item["part"])
    return DailyReport(bic, day, item.get("consent_duration"), item.get("payment_duration"), item["received_at"])


def _subject(bic: str) -> str:
    return f"report#{bic}"


TABLE = "statistics"
Reported = Literal["received", "missing", "not_expected"]
"""Whether the bank reported its figures for the day (daily_performance). Version 1 banks do not report."""


@dataclass(frozen=True, slots=True)
class DayRecord:
    """The figures of one bank for one day.

    Attributes:
        name: the bank's name on that day.
        tallies, latencies: the counts and latencies by service.
        down: the downtimes as half-open spans, in seconds of the day.
        report: whether the bank reported its own figures.
        consent_duration, payment_duration: the durations that the bank reported, in milliseconds.
        report_received_at: the time at which the report arrived, in Unix seconds.
        made_up: whether the figures are synthetic, to fill a new local stack. Stored only if true.
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
    made_up: bool = False

    @property
    def total(self) -> CallCounts:
        """The total counts of all services."""
        return CallCounts.total(self.tallies.values())

    @property
    def latency(self) -> Latencies:
        """The combined latencies of all services."""
        return Latencies.total(self.latencies.values())

    @property
    def down_seconds(self) -> int:
        return sum(until - since for since, until in self.down)

    @property
    def unavailability_minutes(self) -> Decimal:
        """The downtime in minutes, rounded to two decimals."""
        return round_half_up(Decimal(self.down_seconds) / 60, 2)

    @property
    def availability(self) -> Decimal | None:
        """The percentage of the day that the interface was available, to three decimals, or ``None`` without use."""
        return percent(DAY_SECONDS - self.down_seconds, DAY_SECONDS) if self.total.bank_requests else None

    def to_item(self) -> Item:
        """Return the record as an item. Latencies are one string, because nested maps take ten times as long."""
        latencies = {name: self.latencies[name].to_item() for name in SERVICES if name in self.latencies}
        _, key = record_key(self.bic, self.day)
        item: Item = {
            **key,
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
            "made_up": self.made_up or None,
        }
        return {name: value for name, value in item.items() if value is not None}

    def put(self) -> Put:
        """Return the write operation that stores the record, replacing any record of the same day."""
        return Put(TABLE, self.to_item())

    def put_new(self) -> Put:
        """Return the write operation that stores the record. It fails if the day has a record."""
        return Put(TABLE, self.to_item(), absent("subject"))

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
            item.get("made_up", False),
        )


def _as_lengths(spans: Iterable[Span]) -> str:
    """Return alternating uptimes and downtimes in seconds: ``36000,120``. The text of a day with a change every second
    fits into an item.
    """
    edges = [0, *(second for span in spans for second in span)]
    return ",".join(str(later - earlier) for earlier, later in pairwise(edges))


def _from_lengths(text: str) -> tuple[Span, ...]:
    edges = list(accumulate(map(int, text.split(",")))) if text else []
    return tuple(zip(edges[::2], edges[1::2], strict=True))


def record_key(bic: str, day: date) -> tuple[str, Item]:
    """Return the table and key of a bank's record for a day."""
    return TABLE, {"subject": quarter_subject(quarter_of(day)), "part": f"{bic}#{day.isoformat()}"}


def quarter_subject(quarter: str) -> str:
    """Return the partition of all banks' records in a quarter such as ``2026-Q4``."""
    return f"quarter#{quarter}"


def store_record(store: Store, record: DayRecord) -> None:
    store.put(TABLE, record.to_item())


def records_of_bank(store: Store, bic: str, since: date, until: date) -> list[DayRecord]:
    """Return one bank's records in a range of days, inclusive, in order, with one query per quarter."""
    bounds = "part", f"{bic}#{since.isoformat()}", f"{bic}#{until.isoformat()}"
    parts = together([partial(_read_quarter, store, each, bounds) for each in DayRange(since, until).quarters])
    return [DayRecord.from_item(item) for items in parts for item in items]


def records_of_all(store: Store, since: date, until: date) -> Iterator[DayRecord]:
    """Return all banks' records in a range of days, inclusive, by quarter, bank and day."""
    for quarter in DayRange(since, until).quarters:
        for item in store.each(TABLE, ("subject", quarter_subject(quarter))):
            if since.isoformat() <= item["day"] <= until.isoformat():
                yield DayRecord.from_item(item)


def _read_quarter(store: Store, quarter: str, between: tuple[str, str, str]) -> list[Item]:
    return list(store.each(TABLE, ("subject", quarter_subject(quarter)), between=between))


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a period.

    Attributes:
        seconds: the seconds for which availability is known; zero if the bank received no requests.
        down_seconds: the part of ``seconds`` during which the interface was down.
        total: total counts of all services.
        latency: combined latencies of all services.
    """

    seconds: int = 0
    down_seconds: int = 0
    total: CallCounts = field(default_factory=CallCounts)
    latency: Latencies = field(default_factory=Latencies)

    @property
    def availability(self) -> Decimal | None:
        """The availability as a percentage to three decimals."""
        return percent(self.seconds - self.down_seconds, self.seconds)

    @property
    def downtime(self) -> int | None:
        """The downtime in seconds."""
        return self.down_seconds if self.seconds else None


def measured(records: Iterable[DayRecord]) -> list[DayRecord]:
    """Return the records except those with synthetic figures."""
    return [record for record in records if not record.made_up]
