"""Performance charts: a bank's days or weeks rendered as SVG paths.

The page stretches the paths to its own width. Dots and text are not stretched, and are positioned in percent of that
width. All charts of a page cover the same periods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics.call_counts import PERCENTILES, Histogram
from chalicelib.statistics.days import DayRange
from chalicelib.statistics.periods import Period
from chalicelib.website.performance.performance_text import (
    availability_text,
    by_period,
    day,
    day_range,
    describe_availability,
    describe_latency,
    describe_made_up,
    describe_reports,
    latency_text,
    made_up_text,
    percent,
    report_text,
    short_day,
)

WIDTH, HEIGHT = 1000, 160
Side = Literal["bank", "hub"]
_LOWEST = (99, 98, 95, 90, 80, 50, 0)
"""The possible minimums of an availability scale, in percent. They show both a downtime of a minute and a downtime of a
day.
"""
_HIGHEST = tuple(Decimal(number) for number in (1, 2, 3, 4, 6, 8, 10))
"""The possible maximums of a latency scale, before multiplication by a power of ten. Half of each maximum is a short
number.
"""
_SEEN = 2  # minimum height of a downtime
_MARKED_AT = HEIGHT - 3  # the line below made-up days
_ROOM = 0.22  # the gap between columns
_FEW = 8  # up to this many columns are wide enough for a date below each
_PARTS = (4, 3, 5, 6, 7)
"""The possible numbers of parts between date labels. The first number that divides the range evenly is used."""
_ALWAYS = 3  # otherwise: the middle part is then a day longer or shorter


@dataclass(frozen=True, slots=True)
class ChartPath:
    """An SVG path in an area of ``WIDTH`` by ``HEIGHT``. ``name`` identifies the displayed figure."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class ChartDot:
    """A measured day without measured neighbours. ``across`` is in percent of the width, ``down`` in units of
    ``HEIGHT``.
    """

    name: str
    across: float
    down: float


@dataclass(frozen=True, slots=True)
class AxisLabel:
    """A date below the chart. ``anchor`` is the part of the text placed at ``across``, in percent."""

    across: float
    anchor: Literal["start", "middle", "end"]
    words: str


@dataclass(frozen=True, slots=True)
class PerformanceChart:
    """A chart. ``scale`` has evenly spaced labels from top to bottom, ``description`` is its text alternative.

    ``tips`` are the tooltips of all days or weeks, which are equally wide.
    """

    title: str
    description: str
    scale: Sequence[str]
    shapes: Sequence[ChartPath]
    dots: Sequence[ChartDot]
    dates: Sequence[AxisLabel]
    tips: Sequence[str]


@dataclass(frozen=True, slots=True)
class Axis:
    """The horizontal axis of a chart, divided into equally wide days or weeks."""

    places: Sequence[DayRange]

    @property
    def step(self) -> float:
        return WIDTH / len(self.places)

    def centre(self, number: int) -> float:
        """Return the position of the centre of period ``number``, counted from 0."""
        return (number + 0.5) * self.step

    def date_labels(self) -> list[AxisLabel]:
        """Return approximately evenly spaced date labels, including the first and last day."""
        last = len(self.places) - 1
        parts = next((parts for parts in _PARTS if last % parts == 0), _ALWAYS)
        return [self._label(number) for number in sorted({round(last * part / parts) for part in range(parts + 1)})]

    def _label(self, number: int) -> AxisLabel:
        last = len(self.places) - 1
        each = self.places[number].until if number == last else self.places[number].since
        words = short_day(each) if each.year == self.places[-1].until.year else day(each)
        if last >= _FEW and number in (0, last):
            return AxisLabel(0, "start", words) if number == 0 else AxisLabel(100, "end", words)
        return AxisLabel(_percent_of_width(self.centre(number)), "middle", words)


@dataclass(frozen=True, slots=True)
class _Canvas:
    """The periods of a chart, and the drawing area."""

    periods: Sequence[Period]

    @property
    def axis(self) -> Axis:
        return Axis([period.days for period in self.periods])

    def tooltips(self, texts: Mapping[int, str]) -> list[str]:
        """Return the tooltips of all periods. Periods missing in ``texts`` had no calls, or no records."""
        return [
            f"{day_range(period.days)}: {texts.get(number, 'no calls' if period.records else 'no record')}"
            for number, period in enumerate(self.periods)
        ]

    def made_up(self, known: Iterable[int]) -> list[ChartPath]:
        """Draw the lines that mark the synthetic days. Return an empty list without such days."""
        step = self.axis.step
        numbers = [number for number in sorted(known) if self.periods[number].made_up]
        lines = (f"M{number * step:.4g} {_MARKED_AT}h{step:.3g}" for number in numbers)
        return [ChartPath("made-up", "".join(lines))] if numbers else []

    def line(self, name: str, known: Mapping[int, Decimal], highest: Decimal) -> tuple[ChartPath, list[ChartDot]]:
        """Draw a line through consecutive values, and a dot for each value without neighbours."""
        axis, runs = self.axis, _runs(known)
        points = [[f"{axis.centre(number):.0f} {_down(known[number], highest):.0f}" for number in run] for run in runs]
        dots = [
            ChartDot(name, _percent_of_width(axis.centre(run[0])), _down(known[run[0]], highest))
            for run in runs
            if len(run) == 1
        ]
        return ChartPath(name, "".join(f"M{'L'.join(each)}" for each in points)), dots

    def band(self, low: Mapping[int, Decimal], high: Mapping[int, Decimal], highest: Decimal) -> ChartPath:
        """Draw the area between two lines with values at the same positions."""
        centre = self.axis.centre
        edges = (
            [(number, low[number]) for number in run] + [(number, high[number]) for number in reversed(run)]
            for run in _runs(low)
        )
        paths = (
            "L".join(f"{centre(number):.0f} {_down(value, highest):.0f}" for number, value in edge) for edge in edges
        )
        return ChartPath("band", "".join(f"M{path}z" for path in paths))


def availability_chart(periods: Sequence[Period]) -> PerformanceChart | None:
    """Draw one column per period with calls, with downtime downwards from 100 %. Return ``None`` without calls.

    The columns start at the lowest percentage of ``scale``.
    """
    known = {number: period for number, period in enumerate(periods) if period.used_days}
    if not known:
        return None
    shares = {number: period.summary.availability or Decimal(0) for number, period in known.items()}
    worst = min(shares.values())
    lowest = next(number for number in _LOWEST if worst >= number)
    canvas = _Canvas(periods)
    step, up, down = canvas.axis.step, [], []
    for number, period in known.items():
        missing = (100 - shares[number]) / (100 - lowest) * HEIGHT
        height = max(_SEEN, round(float(missing), 1)) if period.summary.down_seconds else 0
        left, width = (number + _ROOM / 2) * step, (1 - _ROOM) * step
        up.append(_column(left, width, height, HEIGHT))
        down += [_column(left, width, 0, height)] if height else []
    return PerformanceChart(
        title=f"Availability {by_period(periods)}",
        description=describe_availability(periods),
        scale=[percent(number.normalize()) for number in _scale_marks(Decimal(lowest), Decimal(100))],
        shapes=[ChartPath("up", "".join(up)), ChartPath("down", "".join(down)), *canvas.made_up(known)],
        dots=(),
        dates=canvas.axis.date_labels(),
        tips=canvas.tooltips({number: availability_text(period) for number, period in known.items()}),
    )


def latency_chart(title: str, periods: Sequence[Period], side: Side) -> PerformanceChart | None:
    """Draw a line for each of ``PERCENTILES`` over the periods with measurements. Return ``None`` without
    measurements.
    """
    histograms = {number: getattr(period.summary.latency, side) for number, period in enumerate(periods)}
    known = {number: _percentiles(histogram) for number, histogram in histograms.items() if histogram.count}
    if not known:
        return None
    canvas, highest = _Canvas(periods), _scale_top(max(max(found) for found in known.values()))
    series = [{number: found[which] for number, found in known.items()} for which in range(len(PERCENTILES))]
    shapes, dots = [canvas.band(series[0], series[1], highest)], []
    for percentile, values in reversed(list(zip(PERCENTILES, series, strict=True))):
        path, alone = canvas.line(f"p{percentile}", values, highest)
        shapes.append(path)
        dots += alone
    timed = [periods[number] for number in known]
    texts = {number: latency_text(found) + made_up_text(periods[number]) for number, found in known.items()}
    return PerformanceChart(
        title=f"{title}, {by_period(periods)}",
        description=describe_latency(list(known.values()), periods) + describe_made_up(timed),
        scale=[f"{number.normalize():,f} ms" for number in _scale_marks(Decimal(0), highest)],
        shapes=[*shapes, *canvas.made_up(known)],
        dots=dots,
        dates=canvas.axis.date_labels(),
        tips=canvas.tooltips(texts),
    )


def report_chart(periods: Sequence[Period]) -> PerformanceChart | None:
    """Draw two lines for the durations that the bank reported, in seconds. Return ``None`` without reports."""
    reports = {number: period.reports for number, period in enumerate(periods)}
    consent = {number: each.consent / 1000 for number, each in reports.items() if each.consent is not None}
    payment = {number: each.payment / 1000 for number, each in reports.items() if each.payment is not None}
    if not consent and not payment:
        return None
    canvas, known = _Canvas(periods), sorted({*consent, *payment})
    highest = _scale_top(max(*consent.values(), *payment.values(), Decimal("0.1")))
    drawn = [canvas.line("consent", consent, highest), canvas.line("payment", payment, highest)]
    missing = {number: "not reported" for number, each in reports.items() if each.expected > each.received}
    texts = {number: report_text(reports[number]) + made_up_text(periods[number]) for number in known}
    unexpected = {number: "no report expected" for number, period in enumerate(periods) if period.records}
    return PerformanceChart(
        title=f"Durations that the bank reports, {by_period(periods)}",
        description=describe_reports(list(consent.values()), list(payment.values()), len(known), periods),
        scale=[f"{number.normalize():,f} s" for number in _scale_marks(Decimal(0), highest)],
        shapes=[path for path, _ in drawn] + canvas.made_up(known),
        dots=[dot for _, dots in drawn for dot in dots],
        dates=canvas.axis.date_labels(),
        tips=canvas.tooltips(unexpected | missing | texts),
    )


def _percentiles(histogram: Histogram) -> list[Decimal]:
    """Return the milliseconds for each of ``PERCENTILES``, or no values without measurements."""
    return [found for each in PERCENTILES if (found := histogram.percentile(each)) is not None]


def _runs(known: Iterable[int]) -> list[list[int]]:
    """Group sorted numbers into runs of consecutive numbers."""
    runs: list[list[int]] = []
    for number in sorted(known):
        if not (runs and runs[-1][-1] == number - 1):
            runs.append([])
        runs[-1].append(number)
    return runs


def _column(left: float, width: float, top: float, bottom: float) -> str:
    return f"M{left:.4g} {top:g}h{width:.3g}V{bottom:g}h{-width:.3g}z"


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
