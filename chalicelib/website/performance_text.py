"""How figures of performance are written: days, percentages, durations, and what a picture of them shows in words.

What is not known is a dash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from chalicelib.statistics.call_counts import PERCENTILES
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DayRange, Span, clock_time

DASH = "\u2013"  # also what stands for something that is not known
_EXACT_BELOW = 100  # milliseconds: what takes longer is told without decimal places
_SPANS = 3  # so many times of a day that something was down are told


def day(day: date) -> str:
    """``21 Nov 2026``."""
    return f"{day:%-d %b %Y}"


def short_day(day: date) -> str:
    """``21 Nov``."""
    return f"{day:%-d %b}"


def percent(number: Decimal | None) -> str:
    """``99.931 %``, ``100 %``."""
    if number is None:
        return DASH
    return f"{number:.0f} %" if number == number.to_integral_value() else f"{number} %"


def duration(milliseconds: Decimal | None) -> str:
    """``12.3 ms``, ``1,250 ms``."""
    if milliseconds is None:
        return DASH
    if milliseconds < _EXACT_BELOW:
        return f"{milliseconds:.1f} ms"
    return f"{milliseconds.quantize(Decimal(1), ROUND_HALF_UP):,} ms"


def downtime(seconds: int | None) -> str:
    """``4 min 30 s``, ``2 h 5 min``: the two largest units that there are."""
    if seconds is None:
        return DASH
    hours, minutes, rest = seconds // 3600, seconds % 3600 // 60, seconds % 60
    parts = [f"{number} {unit}" for number, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if number]
    return " ".join(parts[:2]) or "none"


def down_times(spans: Sequence[Span]) -> str:
    """From when until when, of seconds of a day; only so many times as are worth reading."""
    told = ", ".join(_span_text(since, until) for since, until in spans[:_SPANS])
    return told + (f" and {len(spans) - _SPANS} more" if len(spans) > _SPANS else "")


def group_thousands(number: int) -> str:
    """``12,345``."""
    return f"{number:,}"


def availability_text(record: DayRecord) -> str:
    """``99.688 %, down 4 min 30 s``."""
    return f"{percent(record.availability)}" + (f", down {downtime(record.down_seconds)}" if record.down else "")


def latency_text(found: Sequence[Decimal]) -> str:
    """Milliseconds for each of ``PERCENTILES``: ``p50 108 ms, p95 431 ms, p99 3,158 ms``."""
    pairs = zip(PERCENTILES, found, strict=True)
    return ", ".join(f"p{percentile} {duration(milliseconds)}" for percentile, milliseconds in pairs)


def describe_availability(known: Sequence[DayRecord], days: DayRange) -> str:
    """What a picture of the records of those days shows on which the bank was asked."""
    worst = max(known, key=lambda record: record.down_seconds)
    down = [record for record in known if record.down_seconds]
    told = f"Asked on {len(known)} of {len(days)} days."
    if not down:
        return f"{told} Never down."
    return f"{told} Down on {len(down)} of them; longest on {day(worst.day)}: {availability_text(worst)}."


def describe_latency(known: Sequence[Sequence[Decimal]], days: DayRange) -> str:
    """What a picture shows of milliseconds for each of ``PERCENTILES``, by day."""
    told = [
        f"p{percentile} between {duration(min(found))} and {duration(max(found))}"
        for percentile, found in zip(PERCENTILES, zip(*known, strict=True), strict=True)
    ]
    return f"On {len(known)} of {len(days)} days: {', '.join(told)}."


def _span_text(since: int, until: int) -> str:
    """To the minute, when it has one."""
    moments = [clock_time(at) for at in (since, until)]
    return DASH.join(moments if until - since < 60 else (moment[:-3] for moment in moments))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "day": day,
    "percent": percent,
    "duration": duration,
    "downtime": downtime,
    "when_down": down_times,
    "grouped": group_thousands,
}
