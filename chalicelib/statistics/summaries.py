"""Summaries: what was measured of a bank in some time, put into the figures that people look at first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from chalicelib.statistics.call_counts import CallCounts, Latencies
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DAY_SECONDS
from chalicelib.statistics.rounding import percent


@dataclass(frozen=True, slots=True)
class Summary:
    """What was measured in some time.

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
        """Percent, with three decimal places."""
        return percent(self.seconds - self.down_seconds, self.seconds)

    @property
    def downtime(self) -> int | None:
        """Seconds."""
        return self.down_seconds if self.seconds else None

    @property
    def error_rate(self) -> Decimal | None:
        """As of a ``CallCounts``."""
        return self.total.error_rate


def summarize(records: Iterable[DayRecord]) -> Summary:
    """What was measured on several days together."""
    records = list(records)
    known = [record for record in records if record.availability is not None]
    return Summary(
        DAY_SECONDS * len(known),
        sum(record.down_seconds for record in known),
        CallCounts.total(record.total for record in records),
        Latencies.total(record.latency for record in records),
    )
