"""What version 2 banks report of each day: the average durations of consents and payments (daily_performance)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.store import Item, Put

TABLE = "statistics"
OLDEST_DAYS = 35


class DayOutOfRange(ValueError):
    """A day that no report is taken for; the message says why."""


@dataclass(frozen=True, slots=True)
class DailyReport:
    """One bank's report on one day; durations in milliseconds, ``None`` when the bank did not tell."""

    bic: str
    day: date
    consent_duration: int | None
    payment_duration: int | None


class DailyReports:
    """The reports, one per bank and day; a later one replaces an earlier one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def keeping(self, report: DailyReport) -> Put:
        """The write that keeps a report. Raises: DayOutOfRange, for a day to come, or too long ago."""
        today = self._clock.now().date()
        if report.day > today:
            raise DayOutOfRange("date must not be in the future")
        if report.day < today - timedelta(days=OLDEST_DAYS):
            raise DayOutOfRange(f"date must not be more than {OLDEST_DAYS} days ago")
        item: Item = {
            "subject": f"report#{report.bic}",
            "part": report.day.isoformat(),
            "consent_duration": report.consent_duration,
            "payment_duration": report.payment_duration,
            "received_at": self._clock.time(),
        }
        return Put(TABLE, {name: value for name, value in item.items() if value is not None})
