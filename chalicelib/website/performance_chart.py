"""Performance charts: day records rendered as text and SVG paths. Unknown figures are shown as a dash.

The page stretches the paths to its own width. Dots and text, which must keep their shape, are positioned in percent
of that width. All charts of a page cover the same range of days.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics.call_counts import PERCENTILES, Histogram
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DayRange, Span, clock_time

DASH = "\u2013"  # also shown for unknown figures
_EXACT_BELOW = 100  # milliseconds; longer durations are shown without decimals
_SPANS = 3  # downtimes of a day that are listed


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
    """``4 min 30 s`` or ``2 h 5 min``: the two largest units."""
    if seconds is None:
        return DASH
    hours, minutes, rest = seconds // 3600, seconds % 3600 // 60, seconds % 60
    parts = [f"{number} {unit}" for number, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if number]
    return " ".join(parts[:2]) or "none"


def down_times(spans: Sequence[Span]) -> str:
    """Downtimes as text, from spans in seconds of a day; only the first three are listed."""
    told = ", ".join(_span_text(since, until) for since, until in spans[:_SPANS])
    return told + (f" and {len(spans) - _SPANS} more" if len(spans) > _SPANS else "")


def group_thousands(number: int) -> str:
    """``12,345``."""
    return f"{number:,}"


def availability_text(record: DayRecord) -> str:
    """``99.688 %, down 4 min 30 s``."""
    down = f", down {downtime(record.down_seconds)}" if record.down else ""
    return f"{percent(record.availability)}{down}{made_up_text(record)}"


def made_up_text(record: DayRecord) -> str:
    """What is said of a made-up day, after its figures."""
    return " (made up)" if record.made_up else ""


def latency_text(found: Sequence[Decimal]) -> str:
    """Milliseconds for each of ``PERCENTILES``, e.g. ``p50 108 ms, p95 431 ms, p99 3,158 ms``."""
    pairs = zip(PERCENTILES, found, strict=True)
    return ", ".join(f"p{percentile} {duration(milliseconds)}" for percentile, milliseconds in pairs)


def describe_availability(known: Sequence[DayRecord], days: DayRange) -> str:
    """A text alternative for the availability chart; ``known`` are the days with calls to the bank."""
    worst = max(known, key=lambda record: record.down_seconds)
    down = [record for record in known if record.down_seconds]
    told = f"Requests on {len(known)} of {len(days)} days.{describe_made_up(known)}"
    if not down:
        return f"{told} Never down."
    return f"{told} Down on {len(down)} of them; longest on {day(worst.day)}: {availability_text(worst)}."


def describe_made_up(known: Sequence[DayRecord]) -> str:
    """A sentence on the made-up days, with a space before it; empty if there are none."""
    made_up = sum(record.made_up for record in known)
    if not made_up:
        return ""
    return " All of them are made up." if made_up == len(known) else f" {made_up} of them made up."


def describe_latency(known: Sequence[Sequence[Decimal]], days: DayRange) -> str:
    """A text alternative for a latency chart; ``known`` has milliseconds for each of ``PERCENTILES``, by day."""
    told = [
        f"p{percentile} between {duration(min(found))} and {duration(max(found))}"
        for percentile, found in zip(PERCENTILES, zip(*known, strict=True), strict=True)
    ]
    return f"On {len(known)} of {len(days)} days: {', '.join(told)}."


def _span_text(since: int, until: int) -> str:
    """A time span, in whole minutes unless it is shorter than one."""
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


WIDTH, HEIGHT = 1000, 160
Side = Literal["bank", "hub"]
_LOWEST = (99, 98, 95, 90, 80, 50, 0)
"""Possible minimums of an availability scale, in percent: a bad minute stays visible, and a bad day fits."""
_HIGHEST = tuple(Decimal(number) for number in (1, 2, 3, 4, 6, 8, 10))
"""Possible maximums of a latency scale, times a power of ten; half of each is still a short number."""
_SEEN = 2  # minimum height of a downtime
_MARKED_AT = HEIGHT - 3  # the line below made-up days
_CROWDED = 100  # with more days, there are no gaps between columns
_ROOM = 0.22
_FEW = 8  # up to this many columns are wide enough for a date below each
_PARTS = (4, 3, 5, 6, 7)
"""Numbers of parts for the date labels; the first that divides the range evenly is used."""
_ALWAYS = 3  # otherwise: the middle part is then a day longer or shorter


@dataclass(frozen=True, slots=True)
class ChartPath:
    """An SVG path in an area of ``WIDTH`` by ``HEIGHT``; ``name`` identifies what it shows."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class ChartDot:
    """A measured day between unmeasured ones: ``across`` in percent of the width, ``down`` in units of ``HEIGHT``."""

    name: str
    across: float
    down: float


@dataclass(frozen=True, slots=True)
class AxisLabel:
    """A date below the chart; ``anchor`` is the part of the text placed at ``across``, in percent."""

    across: float
    anchor: Literal["start", "middle", "end"]
    words: str


@dataclass(frozen=True, slots=True)
class PerformanceChart:
    """A chart: ``scale`` has evenly spaced labels from top to bottom, ``description`` is its text alternative.

    ``days`` are the tooltips of all days, which are equally wide.
    """

    title: str
    description: str
    scale: Sequence[str]
    shapes: Sequence[ChartPath]
    dots: Sequence[ChartDot]
    dates: Sequence[AxisLabel]
    days: Sequence[str]


@dataclass(frozen=True, slots=True)
class Axis:
    """The horizontal axis of a chart, divided into days."""

    days: DayRange

    @property
    def step(self) -> float:
        return WIDTH / len(self.days)

    def centre(self, number: int) -> float:
        """The position of the centre of day ``number``, counted from 0."""
        return (number + 0.5) * self.step

    def date_labels(self) -> list[AxisLabel]:
        """Evenly spaced date labels, or nearly so, including the first and last day."""
        last = len(self.days) - 1
        parts = next((parts for parts in _PARTS if last % parts == 0), _ALWAYS)
        numbers = {round(last * part / parts) for part in range(parts + 1)}
        return [self._label(number, each) for number, each in enumerate(self.days) if number in numbers]

    def tooltips(self, told: Mapping[date, str]) -> list[str]:
        """The tooltips of all days; days missing in ``told`` had no calls."""
        return [f"{day(each)}: {told.get(each, 'no calls')}" for each in self.days]

    def made_up(self, known: Mapping[date, DayRecord]) -> list[ChartPath]:
        """The line below the made-up days; none without such days."""
        numbers = [number for number, each in enumerate(self.days) if each in known and known[each].made_up]
        lines = (f"M{number * self.step:.5g} {_MARKED_AT}h{self.step:.4g}" for number in numbers)
        return [ChartPath("made-up", "".join(lines))] if numbers else []

    def _label(self, number: int, each: date) -> AxisLabel:
        words = short_day(each) if each.year == self.days.until.year else day(each)
        if len(self.days) > _FEW and each == self.days.since:
            return AxisLabel(0, "start", words)
        if len(self.days) > _FEW and each == self.days.until:
            return AxisLabel(100, "end", words)
        return AxisLabel(_percent_of_width(self.centre(number)), "middle", words)


def availability_chart(records: Sequence[DayRecord], days: DayRange) -> PerformanceChart | None:
    """One column per day with calls to the bank; downtime is drawn downwards from 100 %. ``None`` without such days.

    The columns start at the lowest percentage of ``scale``.
    """
    known = {record.day: record for record in records if record.availability is not None}
    if not known:
        return None
    worst = min(record.availability or Decimal(0) for record in known.values())
    lowest = next(number for number in _LOWEST if worst >= number)
    axis, room = Axis(days), _ROOM if len(days) <= _CROWDED else 0
    up, down = [], []
    for number, each in enumerate(days):
        if (record := known.get(each)) is None:
            continue
        missing = (100 - (record.availability or Decimal(0))) / (100 - lowest) * HEIGHT
        height = max(_SEEN, round(float(missing), 1)) if record.down_seconds else 0
        left, width = (number + room / 2) * axis.step, (1 - room) * axis.step
        up.append(_column(left, width, height, HEIGHT))
        down += [_column(left, width, 0, height)] if height else []
    told = {each: availability_text(record) for each, record in known.items()}
    return PerformanceChart(
        title="Availability by day",
        description=describe_availability(list(known.values()), days),
        scale=[percent(number.normalize()) for number in _scale_marks(Decimal(lowest), Decimal(100))],
        shapes=[ChartPath("up", "".join(up)), ChartPath("down", "".join(down)), *axis.made_up(known)],
        dots=(),
        dates=axis.date_labels(),
        days=axis.tooltips(told),
    )


def latency_chart(title: str, records: Sequence[DayRecord], days: DayRange, side: Side) -> PerformanceChart | None:
    """A line for each of ``PERCENTILES`` over the days with measurements; ``None`` if there are none."""
    timed = {record.day: record for record in records if getattr(record.latency, side).count}
    known = {each: _percentiles(getattr(record.latency, side)) for each, record in timed.items()}
    if not known:
        return None
    axis, highest = Axis(days), _scale_top(max(max(found) for found in known.values()))
    runs = _runs(days, known)

    def points(run: Sequence[tuple[int, Sequence[Decimal]]], which: int) -> list[str]:
        return [f"{axis.centre(number):.4g} {_down(found[which], highest):g}" for number, found in run]

    bands = "".join(f"M{'L'.join([*points(run, 0), *points(run, 1)[::-1]])}z" for run in runs)
    shapes, dots = [ChartPath("band", bands)], []
    for which, percentile in reversed(list(enumerate(PERCENTILES))):
        name = f"p{percentile}"
        shapes.append(ChartPath(name, "".join(f"M{'L'.join(points(run, which))}" for run in runs)))
        alone = [run[0] for run in runs if len(run) == 1]
        dots += [
            ChartDot(name, _percent_of_width(axis.centre(number)), _down(found[which], highest))
            for number, found in alone
        ]
    return PerformanceChart(
        title=title,
        description=describe_latency(list(known.values()), days) + describe_made_up(list(timed.values())),
        scale=[f"{number.normalize():,f} ms" for number in _scale_marks(Decimal(0), highest)],
        shapes=[*shapes, *axis.made_up(timed)],
        dots=dots,
        dates=axis.date_labels(),
        days=axis.tooltips({each: latency_text(found) + made_up_text(timed[each]) for each, found in known.items()}),
    )


def _percentiles(histogram: Histogram) -> list[Decimal]:
    """Milliseconds for each of ``PERCENTILES``; empty without measurements."""
    return [found for each in PERCENTILES if (found := histogram.percentile(each)) is not None]


def _runs(days: DayRange, known: Mapping[date, Sequence[Decimal]]) -> list[list[tuple[int, Sequence[Decimal]]]]:
    """The days in ``known`` with their numbers, grouped into runs of consecutive days."""
    runs: list[list[tuple[int, Sequence[Decimal]]]] = []
    for number, each in enumerate(days):
        if each not in known:
            continue
        if not (runs and runs[-1][-1][0] == number - 1):
            runs.append([])
        runs[-1].append((number, known[each]))
    return runs


def _column(left: float, width: float, top: float, bottom: float) -> str:
    return f"M{left:.5g} {top:g}h{width:.4g}V{bottom:g}h{-width:.4g}z"


def _scale_top(most: Decimal) -> Decimal:
    """The smallest suitable maximum of a scale that includes ``most``."""
    power = Decimal(10) ** most.adjusted()
    return next(number * power for number in _HIGHEST if number * power >= most)


def _down(milliseconds: Decimal, highest: Decimal) -> float:
    return round(float((1 - milliseconds / highest) * HEIGHT), 1)


def _scale_marks(lowest: Decimal, highest: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    return highest, (lowest + highest) / 2, lowest


def _percent_of_width(across: float) -> float:
    return round(100 * across / WIDTH, 3)
