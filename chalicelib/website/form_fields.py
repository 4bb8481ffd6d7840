"""Fields of forms and filters: submitted values, lines of text, and days with their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from datetime import UTC, date, datetime, time

from chalicelib.statistics.days import DAY_SECONDS, parse_day

FieldReader = Callable[[str], str]
"""A function that returns the submitted value of a field by its name."""
_LATEST = 99_999_999_999
"""The last Unix second with eleven digits, in the year 5138."""


def filled_in(written: FieldReader, names: Iterable[str]) -> dict[str, str]:
    """Return the nonempty fields by name, with surrounding spaces removed from the values."""
    return {name: text for name in names if (text := written(name).strip())}


def read_lines(text: str) -> list[str]:
    """Return the nonempty lines of a text, without surrounding spaces."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_day(written: FieldReader, name: str, errors: MutableMapping[str, str]) -> date | None:
    """Parse the day in a field. Returns ``None`` for an empty or invalid field, and adds an error to ``errors`` if
    invalid.
    """
    given = written(name).strip()
    if not given:
        return None
    try:
        return parse_day(given)
    except ValueError:
        errors[name] = "This is not a date. Enter one such as 2026-11-21."
        return None


def first_second(day: date) -> int:
    """The first Unix second of a day (UTC), limited to the range from 1970 to ``_LATEST``."""
    return min(max(0, _midnight(day)), _LATEST)


def last_second(day: date) -> int:
    """The last Unix second of a day (UTC), limited to the range from 1970 to ``_LATEST``."""
    return min(max(0, _midnight(day) + DAY_SECONDS - 1), _LATEST)


def _midnight(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp())
