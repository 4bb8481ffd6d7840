"""EventBridge schedule expressions: when ``rate(5 minutes)`` and ``cron(0 6 ? * MON-FRI *)`` are due."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_YEARS_AHEAD = 5


class InvalidSchedule(ValueError):
    """An expression that EventBridge would refuse, or that uses ``L``, ``W`` or ``#``, which are not known here."""


class Schedule(Protocol):
    """Something that is due again and again."""

    def after(self, moment: datetime) -> datetime:
        """The first time later than ``moment`` (UTC)."""


@dataclass(frozen=True, slots=True)
class RateSchedule:
    """Due at even distances; the first time one period after the start."""

    period: timedelta

    def after(self, moment: datetime) -> datetime:
        return moment + self.period


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """Due at the minutes that all six fields allow; ``None`` stands for every value."""

    minutes: frozenset[int] | None
    hours: frozenset[int] | None
    days: frozenset[int] | None
    months: frozenset[int] | None
    weekdays: frozenset[int] | None
    years: frozenset[int] | None

    def after(self, moment: datetime) -> datetime:
        """Raises InvalidSchedule when it is not due within five years."""
        when = moment.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        last = when.year + _YEARS_AHEAD
        while when.year <= last:
            if not self._day_fits(when):
                when = when.replace(hour=0, minute=0) + timedelta(days=1)
            elif self.hours is not None and when.hour not in self.hours:
                when = when.replace(minute=0) + timedelta(hours=1)
            elif self.minutes is not None and when.minute not in self.minutes:
                when += timedelta(minutes=1)
            else:
                return when
        raise InvalidSchedule(f"not due in the next {_YEARS_AHEAD} years")

    def _day_fits(self, when: datetime) -> bool:
        weekday = when.isoweekday() % 7 + 1  # Sunday is 1
        return (
            (self.years is None or when.year in self.years)
            and (self.months is None or when.month in self.months)
            and (self.days is None or when.day in self.days)
            and (self.weekdays is None or weekday in self.weekdays)
        )


def parse(expression: str) -> Schedule:
    """Read a schedule expression. Raises: InvalidSchedule."""
    if match := re.fullmatch(r"rate\(([1-9][0-9]*) (minute|hour|day)(s?)\)", expression):
        number = int(match[1])
        if (number == 1) == bool(match[3]):
            raise InvalidSchedule(f"{expression}: the unit's number does not fit the value")
        return RateSchedule(timedelta(seconds=number * _UNITS[match[2]]))
    match = re.fullmatch(r"cron\((.+)\)", expression)
    fields = match[1].split() if match else []
    if len(fields) != 6:
        raise InvalidSchedule(f"{expression}: neither a rate nor a cron expression of six fields")
    if (fields[2] == "?") == (fields[4] == "?"):
        raise InvalidSchedule(f"{expression}: exactly one of day-of-month and day-of-week must be ?")
    try:
        return CronSchedule(
            _field(fields[0], 0, 59),
            _field(fields[1], 0, 23),
            _field(fields[2], 1, 31),
            _field(fields[3], 1, 12, _MONTHS),
            _field(fields[4], 1, 7, _DAYS),
            _field(fields[5], 1970, 2199),
        )
    except ValueError as error:
        raise InvalidSchedule(f"{expression}: {error}") from None


def _field(text: str, low: int, high: int, names: tuple[str, ...] = ()) -> frozenset[int] | None:
    if text in ("*", "?"):
        return None
    values: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("*" if span == "*" else span).partition("-")
        start = low if first == "*" else _number(first, low, high, names)
        stop = _number(last, low, high, names) if last else high if step or first == "*" else start
        if stop < start:
            raise ValueError(f"{part!r} ends before it begins")
        values.update(range(start, stop + 1, _number(step, 1, high, ()) if step else 1))
    return frozenset(values)


def _number(text: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text.upper() in names:
        return names.index(text.upper()) + low
    if not text.isdecimal() or not low <= int(text) <= high:
        raise ValueError(f"{text!r} is not from {low} to {high}")
    return int(text)
