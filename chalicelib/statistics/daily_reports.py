"""What version 2 banks report of each day: the average durations of consents and payments (daily_performance)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Put, Store

TABLE = "statistics"
OLDEST_DAYS = 35


class DayOutOfRange(ValueError):
    """A day that no report is taken for; the message says why."""


@dataclass(frozen=True, slots=True)
class DailyReport:
    """One bank's report on one day; durations in milliseconds, ``None`` when the bank did not tell.

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
        """The write that keeps a report. Raises: DayOutOfRange, for a day to come, or too long ago."""
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
        return [
            DailyReport(
                bic,
                date.fromisoformat(item["part"]),
                item.get("consent_duration"),
                item.get("payment_duration"),
                item["received_at"],
            )
            for item in self._store.each(TABLE, ("subject", _subject(bic)), between=bounds)
        ]


def _subject(bic: str) -> str:
    return f"report#{bic}"
