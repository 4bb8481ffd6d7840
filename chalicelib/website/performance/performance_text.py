"""The figures of banks as text: durations, shares, days and text alternatives of charts. Unknown values are dashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from chalicelib.statistics.call_counts import PERCENTILES
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DayRange, Span, clock_time
from chalicelib.statistics.periods import Period, Reports

DASH = "\u2013"  # also shown for unknown figures
_EXACT_BELOW = 100  # milliseconds; longer durations are shown without decimals
_SPANS = 3  # downtimes of a day that are listed


def day(day: date) -> str:
    """Format a day: ``21 Nov 2026``."""
    return f"{day:%-d %b %Y}"


def short_day(day: date) -> str:
    """Format a day without its year: ``21 Nov``."""
    return f"{day:%-d %b}"


def percent(number: Decimal | None) -> str:
    """Format a percentage: ``99.931 %``, ``100 %``."""
    if number is None:
        return DASH
    return f"{number:.0f} %" if number == number.to_integral_value() else f"{number} %"


def duration(milliseconds: Decimal | None) -> str:
    """Format a duration in milliseconds: ``12.3 ms``, ``1,250 ms``."""
    if milliseconds is None:
        return DASH
    if milliseconds < _EXACT_BELOW:
        return f"{milliseconds:.1f} ms"
    return f"{milliseconds.quantize(Decimal(1), ROUND_HALF_UP):,} ms"


def seconds(milliseconds: Decimal | int | None) -> str:
    """Format a duration in seconds: ``41.3 s``."""
    if milliseconds is None:
        return DASH
    return f"{(Decimal(milliseconds) / 1000).quantize(Decimal('0.1'), ROUND_HALF_UP):,} s"


def downtime(seconds: int | None) -> str:
    """Format a downtime in its two largest units: ``4 min 30 s`` or ``2 h 5 min``."""
    if seconds is None:
        return DASH
    hours, minutes, rest = seconds // 3600, seconds % 3600 // 60, seconds % 60
    parts = [f"{number} {unit}" for number, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if number]
    return " ".join(parts[:2]) or "none"


def down_times(spans: Sequence[Span]) -> str:
    """Format downtimes as times of day, from spans in seconds of the day. Only the first three downtimes are listed."""
    text = ", ".join(_span_text(since, until) for since, until in spans[:_SPANS])
    return text + (f" and {len(spans) - _SPANS} more" if len(spans) > _SPANS else "")


def group_thousands(number: int) -> str:
    """Format a number with thousands separators: ``12,345``."""
    return f"{number:,}"


def day_range(days: DayRange) -> str:
    """Format a range of days: ``21 Nov 2026``, or with a dash ``16 - 22 Nov 2026``, ``30 Nov - 6 Dec 2026``."""
    since, until = days.since, days.until
    if since == until:
        return day(until)
    first = (
        day(since) if since.year != until.year else short_day(since) if since.month != until.month else f"{since:%-d}"
    )
    return f"{first} {DASH} {day(until)}"


def availability_text(period: Period) -> str:
    """Describe an availability and downtime: ``99.688 %, down 4 min 30 s``."""
    down = f", down {downtime(period.summary.down_seconds)}" if period.summary.down_seconds else ""
    return f"{percent(period.summary.availability)}{down}{made_up_text(period)}"


def made_up_text(period: Period) -> str:
    """Return the note about synthetic days that follows the figures."""
    if not period.made_up:
        return ""
    return " (made up)" if period.made_up == period.records else f" ({period.made_up} of {period.records} days made up)"


def latency_text(found: Sequence[Decimal]) -> str:
    """Format the milliseconds for each of ``PERCENTILES``, for example ``p50 108 ms, p95 431 ms, p99 3,158 ms``."""
    pairs = zip(PERCENTILES, found, strict=True)
    return ", ".join(f"p{percentile} {duration(milliseconds)}" for percentile, milliseconds in pairs)


def describe_availability(periods: Sequence[Period]) -> str:
    """Return a text alternative for the availability chart."""
    known = [period for period in periods if period.used_days]
    worst = max(known, key=lambda period: period.summary.down_seconds)
    down = sum(period.down_days for period in known)
    used, days = sum(period.used_days for period in known), sum(len(period.days) for period in periods)
    text = f"Requests on {used} of {days} days.{describe_made_up(known)}"
    if not down:
        return f"{text} Never down."
    return f"{text} Down on {down} of them; longest on {day_range(worst.days)}: {availability_text(worst)}."


def describe_made_up(known: Sequence[Period]) -> str:
    """Describe the synthetic days in a sentence that starts with a space, or return an empty text without such days."""
    made_up = sum(period.made_up for period in known)
    if not made_up:
        return ""
    whole = sum(period.records for period in known)
    return " All of them are made up." if made_up == whole else f" {made_up} of them made up."


def describe_latency(known: Sequence[Sequence[Decimal]], periods: Sequence[Period]) -> str:
    """Return a text alternative for a latency chart. ``known`` maps periods to milliseconds for each of
    ``PERCENTILES``.
    """
    text = [
        f"p{percentile} between {duration(min(found))} and {duration(max(found))}"
        for percentile, found in zip(PERCENTILES, zip(*known, strict=True), strict=True)
    ]
    return f"{_count_known(len(known), periods)}: {', '.join(text)}."


def _count_known(known: int, periods: Sequence[Period]) -> str:
    """Describe the number of periods with figures: ``On 2 of 9 days``, ``In 51 of 53 weeks``."""
    is_daily = all(period.is_day for period in periods)
    return f"{'On' if is_daily else 'In'} {known} of {len(periods)} {'days' if is_daily else 'weeks'}"


def report_text(reports: Reports) -> str:
    """Describe the reported durations: ``consent 41.3 s, payment 23.8 s``."""
    return f"consent {seconds(reports.consent)}, payment {seconds(reports.payment)}"


def describe_reports(
    consent: Sequence[Decimal], payment: Sequence[Decimal], known: int, periods: Sequence[Period]
) -> str:
    """Return a text alternative for the chart of reported durations, which are in seconds."""
    text = [
        f"{name} between {seconds(1000 * min(found))} and {seconds(1000 * max(found))}"
        for name, found in (("consents", consent), ("payments", payment))
        if found
    ]
    return f"{_count_known(known, periods)}: {', '.join(text)}."


def count_days(records: Sequence[DayRecord], days: DayRange) -> str:
    """Count the days by kind: ``100 days: 10 measured, 85 made up, 5 without figures``, or ``30 days, all
    measured``.
    """
    made_up = sum(record.made_up for record in records)
    counts = {"measured": len(records) - made_up, "made up": made_up, "without figures": len(days) - len(records)}
    text = [f"{number} {what}" for what, number in counts.items() if number]
    if len(days) == 1:
        return f"1 day, {text[0].partition(' ')[2]}"
    whole = f"{len(days)} days"
    return f"{whole}: {', '.join(text)}" if len(text) > 1 else f"{whole}, all {text[0].partition(' ')[2]}"


def by_period(periods: Sequence[Period]) -> str:
    return "by day" if all(period.is_day for period in periods) else "by week"


def _span_text(since: int, until: int) -> str:
    """Format the start and end of a time span, with seconds if the span is shorter than a minute."""
    moments = [clock_time(at) for at in (since, until)]
    return DASH.join(moments if until - since < 60 else (moment[:-3] for moment in moments))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "day": day,
    "day_range": day_range,
    "percent": percent,
    "duration": duration,
    "seconds": seconds,
    "downtime": downtime,
    "when_down": down_times,
    "grouped": group_thousands,
}
