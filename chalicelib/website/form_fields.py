"""Fields of forms and filters: submitted values, lines of text, and days with their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from datetime import UTC, date, datetime, time

from chalicelib.statistics.days import DAY_SECONDS, parse_day

FieldReader = Callable[[str], str]
"""Returns the input of a field."""
_LATEST = 99_999_999_999
"""The last Unix second with eleven digits, in the year 5138."""


def filled_in(written: FieldReader, names: Iterable[str]) -> dict[str, str]:
    """The fields that are not empty, without spaces around their values, by name."""
    return {name: text for name in names if (text := written(name).strip())}


def read_lines(text: str) -> list[str]:
    """The lines of a text that are not empty, without spaces around them."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_day(written: FieldReader, name: str, errors: MutableMapping[str, str]) -> date | None:
    """The day in a field; ``None`` if the field is empty or, with an error added to ``errors``, invalid."""
    given = written(name).strip()
    if not given:
        return None
    try:
        return parse_day(given)
    except ValueError:
        errors[name] = "This is not a date. Enter one such as 2026-11-21."
        return None


def first_second(day: date) -> int:
    """The first Unix second of a day (UTC), between 1970 and ``_LATEST``."""
    return min(max(0, _midnight(day)), _LATEST)


def last_second(day: date) -> int:
    """The last Unix second of a day (UTC), between 1970 and ``_LATEST``."""
    return min(max(0, _midnight(day) + DAY_SECONDS - 1), _LATEST)


def _midnight(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp())
