"""The chart of a client's errors: one column per hour, stacked by kind of error.

Like the performance charts, it consists of paths that the page stretches. Labels are in percent of the width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from chalicelib.statistics.client_activity import ERROR_KINDS, ErrorKind, HourOfCalls
from chalicelib.statistics.days import HOUR_SECONDS
from chalicelib.website.performance.performance_chart import HEIGHT, WIDTH, AxisLabel, ChartPath, PerformanceChart

KIND_NAMES: Mapping[ErrorKind, str] = {"caller": "Refused (4xx)", "limit": "Rate limit", "bank": "Bank", "hub": "Hub"}
"""The labels of the kinds of errors."""
_TOPS = (2, 4, 6, 8, 10)
"""The possible maximums of a scale, before multiplication by a power of ten. Half of each maximum is a whole number."""
_ROOM = 0.2
"""The fraction of an hour's width that is the gap between columns."""
_LABELLED = 6
"""The number of hours from one label to the next."""


def errors_chart(hours: Sequence[HourOfCalls]) -> PerformanceChart | None:
    """Draw the chart of hours, oldest first. Returns ``None`` if no call failed."""
    most = max((hour.errors.total() for hour in hours), default=0)
    if not most:
        return None
    top = _scale_top(most)
    step = WIDTH / len(hours)
    shapes = [ChartPath(f"kind-{kind}", _columns(hours, kind, top, step)) for kind in ERROR_KINDS]
    return PerformanceChart(
        title="Errors by hour",
        description=_describe(hours),
        scale=[f"{top:,}", f"{top // 2:,}", "0"],
        shapes=[shape for shape in shapes if shape.path],
        dots=(),
        dates=[_label(hours, number) for number in range(0, len(hours), _LABELLED)],
        tips=[hour_text(hour) for hour in hours],
    )


def hour_text(hour: HourOfCalls) -> str:
    """Format an hour: ``09:00 to 10:00 UTC: 120 calls, 3 errors: Refused (4xx) 2, Bank 1``."""
    start, end = (datetime.fromtimestamp(at, UTC) for at in (hour.start, hour.start + HOUR_SECONDS))
    text = f"{start:%H:%M} to {end:%H:%M} UTC: {_count(hour.calls, 'call')}"
    if not hour.errors.total():
        return f"{text}, no errors" if hour.calls else text
    kinds = ", ".join(f"{KIND_NAMES[kind]} {hour.errors[kind]:,}" for kind in ERROR_KINDS if hour.errors[kind])
    return f"{text}, {_count(hour.errors.total(), 'error')}: {kinds}"


def _describe(hours: Sequence[HourOfCalls]) -> str:
    worst = max(hours, key=lambda hour: hour.errors.total())
    total = sum(hour.errors.total() for hour in hours)
    return f"{_count(total, 'error')} in {len(hours)} hours. Most from {hour_text(worst)}."


def _columns(hours: Sequence[HourOfCalls], kind: ErrorKind, top: int, step: float) -> str:
    """Draw the segments of one kind of error in all columns, above the segments of the previous kinds."""
    below = ERROR_KINDS[: ERROR_KINDS.index(kind)]
    path = ""
    for number, hour in enumerate(hours):
        if not hour.errors[kind]:
            continue
        base = sum(hour.errors[each] for each in below)
        left, width = (number + _ROOM / 2) * step, (1 - _ROOM) * step
        bottom, upper = (HEIGHT * (1 - count / top) for count in (base, base + hour.errors[kind]))
        path += f"M{left:.5g} {upper:.5g}h{width:.4g}V{bottom:.5g}h{-width:.4g}z"
    return path


def _label(hours: Sequence[HourOfCalls], number: int) -> AxisLabel:
    across = 100 * (number + 0.5) / len(hours)
    return AxisLabel(round(across, 3), "middle", f"{datetime.fromtimestamp(hours[number].start, UTC):%H:%M}")


def _scale_top(most: int) -> int:
    """Return the smallest suitable maximum of a scale that includes ``most``."""
    power: int = 10 ** (len(str(most)) - 1)
    return next(number * power for number in _TOPS if number * power >= most)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
