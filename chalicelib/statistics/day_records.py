"""Day records: what a bank's interface was like on one UTC day, kept for good, by quarter."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from chalicelib.foundation.store import Item, Put
from chalicelib.statistics.tallies import SERVICES, Latencies, Service, Tally

TABLE = "statistics"
DAY_SECONDS = 86_400
Reported = Literal["received", "missing", "not_expected"]
"""Whether the bank's own report of the day (daily_performance) is there; banks of version 1 have none to make."""


@dataclass(frozen=True, slots=True)
class DayRecord:
    """One bank, one day.

    Attributes:
        name: the bank's, as it was when the record was made.
        tallies, latencies: by service.
        down: when the interface was down, as seconds of the day, from … until before ….
        report: whether the bank has reported its own figures.
        consent_duration, payment_duration: what it reported, in milliseconds.
        report_received_at: when, in Unix seconds.
    """

    bic: str
    name: str
    day: date
    tallies: dict[Service, Tally] = field(default_factory=dict)
    latencies: dict[Service, Latencies] = field(default_factory=dict)
    down: tuple[tuple[int, int], ...] = ()
    report: Reported = "not_expected"
    consent_duration: int | None = None
    payment_duration: int | None = None
    report_received_at: int | None = None

    @property
    def total(self) -> Tally:
        """The counts of all services together."""
        total = Tally()
        for tally in self.tallies.values():
            total.include(tally)
        return total

    @property
    def latency(self) -> Latencies:
        """The latencies of all services together."""
        total = Latencies()
        for latencies in self.latencies.values():
            total.include(latencies)
        return total

    @property
    def down_seconds(self) -> int:
        return sum(until - since for since, until in self.down)

    @property
    def unavailability_minutes(self) -> Decimal:
        """With two decimal places."""
        return (Decimal(self.down_seconds) / 60).quantize(Decimal("0.01"), ROUND_HALF_UP)

    @property
    def availability(self) -> Decimal | None:
        """Percent of the day that the interface was not down, with three decimal places; ``None``: it was not asked."""
        if not self.total.asked:
            return None
        return (100 - Decimal(100 * self.down_seconds) / DAY_SECONDS).quantize(Decimal("0.001"), ROUND_HALF_UP)

    @property
    def error_rate(self) -> Decimal | None:
        """Percent of the requests to the bank that failed by its fault, three decimal places; ``None`` without any."""
        total = self.total
        if not total.asked:
            return None
        return (Decimal(100 * total.bank) / total.asked).quantize(Decimal("0.001"), ROUND_HALF_UP)

    def to_item(self) -> Item:
        item: Item = {
            "subject": quarter_subject(self.day),
            "part": f"{self.bic}#{self.day.isoformat()}",
            "bic": self.bic,
            "name": self.name,
            "day": self.day.isoformat(),
            "tallies": {name: self.tallies[name].to_item() for name in SERVICES if name in self.tallies},
            "latencies": {name: self.latencies[name].to_item() for name in SERVICES if name in self.latencies},
            "down": [list(span) for span in self.down],
            "report": self.report,
            "consent_duration": self.consent_duration,
            "payment_duration": self.payment_duration,
            "report_received_at": self.report_received_at,
        }
        return {name: value for name, value in item.items() if value is not None}

    def keeping(self) -> Put:
        """The write that keeps the record, in place of one of the same day."""
        return Put(TABLE, self.to_item())

    @classmethod
    def from_item(cls, item: Item) -> DayRecord:
        return cls(
            item["bic"],
            item["name"],
            date.fromisoformat(item["day"]),
            {name: Tally.from_item(tally) for name, tally in item["tallies"].items()},
            {name: Latencies.from_item(latencies) for name, latencies in item["latencies"].items()},
            tuple((int(since), int(until)) for since, until in item["down"]),
            item["report"],
            item.get("consent_duration"),
            item.get("payment_duration"),
            item.get("report_received_at"),
        )


def quarter_of(day: date) -> str:
    """``2026-Q4``."""
    return f"{day.year}-Q{(day.month + 2) // 3}"


def quarter_subject(day: date) -> str:
    """The partition that the records of a day's quarter stand in, those of all banks."""
    return f"quarter#{quarter_of(day)}"
