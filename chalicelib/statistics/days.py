"""Functions and constants for UTC days: hours, seconds, quarters and date formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.lazy_dataclasses import dataclass

HOUR_SECONDS = 3600
DAY_SECONDS = 24 * HOUR_SECONDS
INGESTED_AT = 70
"""The minute of the day (UTC) at which the previous days are ingested."""
Span = tuple[int, int]
"""A half-open interval, as its included start and its excluded end."""
DAILY = 92
"""The maximum number of days that are displayed individually. Longer ranges are displayed by week."""
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_QUARTER = re.compile("([12][0-9]{3})-Q([1-4])")


@dataclass(frozen=True, slots=True)
class DayRange:
    """The days from ``since`` to ``until``, inclusive."""

    since: date
    until: date

    def __len__(self) -> int:
        return max(0, (self.until - self.since).days + 1)

    def __iter__(self) -> Iterator[date]:
        return (self.since + timedelta(days=number) for number in range(len(self)))

    @property
    def quarters(self) -> list[str]:
        """The quarters of the range."""
        found: list[str] = []
        first = self.since
        while first <= self.until:
            found.append(quarter_of(first))
            first = _next_quarter(first)
        return found

    @property
    def periods(self) -> list[DayRange]:
        """Split the range into days or, if there are more than ``DAILY``, into weeks from Monday to Sunday.

        The first and last week may be shorter.
        """
        if len(self) <= DAILY:
            return [DayRange(day, day) for day in self]
        found, first = [], self.since
        while first <= self.until:
            last = min(self.until, first + timedelta(days=6 - first.weekday()))
            found.append(DayRange(first, last))
            first = last + timedelta(days=1)
        return found


def first_day(until: date, count: int) -> date:
    """Return the first of ``count`` days that end on ``until``, but no day before the first day of the calendar."""
    return date.fromordinal(max(1, until.toordinal() - count + 1))


def yesterday(clock: Clock) -> date:
    """Return the latest finished day."""
    return clock.now().date() - timedelta(days=1)


def day_of(second: int) -> date:
    return datetime.fromtimestamp(second, UTC).date()


def midnight_after(second: int) -> int:
    """Return the Unix second at which the day of ``second`` ends."""
    return second - second % DAY_SECONDS + DAY_SECONDS


def hours_of(day: date) -> range:
    """Return the Unix seconds at which the hours of a day begin."""
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    return range(midnight, midnight + DAY_SECONDS, HOUR_SECONDS)


def parse_day(text: str) -> date:
    """Parse a day such as ``2026-11-22``. Raises: ValueError."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a day: use the format 2026-11-22")


def clock_time(second: int) -> str:
    """Format a second of a day as a time: ``10:02:07``."""
    return f"{second // HOUR_SECONDS:02}:{second // 60 % 60:02}:{second % 60:02}"


def quarter_of(day: date) -> str:
    """Return the quarter of a day, such as ``2026-Q4``."""
    return f"{day.year}-Q{(day.month + 2) // 3}"


def days_of_quarter(quarter: str) -> DayRange:
    """Return the days of a quarter such as ``2026-Q4``. Raises: ValueError."""
    given = _QUARTER.fullmatch(quarter)
    if given is None:
        raise ValueError(f"{quarter!r} is not a quarter: use the format 2026-Q4")
    first = date(int(given[1]), 3 * int(given[2]) - 2, 1)
    return DayRange(first, _next_quarter(first) - timedelta(days=1))


def _next_quarter(day: date) -> date:
    month = (day.month + 2) // 3 * 3 + 1
    return date(day.year + 1, 1, 1) if month > 12 else date(day.year, month, 1)
