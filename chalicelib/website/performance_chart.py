"""Performance over time, as pictures: from day records to paths of an SVG.

The paths are drawn on an area that the page stretches to its own width; what must keep its shape, dots and text, has a
place in percent of that width. All pictures of a page have a place for every day of the same range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal

from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.histogram import Histogram
from chalicelib.website.performance_words import day, downtime, duration, percent, short_day

WIDTH, HEIGHT = 1000, 160
PERCENTILES = (50, 95, 99)
Side = Literal["bank", "hub"]
_LOWEST = (99, 98, 95, 90, 80, 50, 0)
"""Percent: what a picture of availability may end at below, so that a bad minute is seen, and a bad day fits."""
_HIGHEST = tuple(Decimal(number) for number in (1, 2, 3, 4, 6, 8, 10))
"""What a picture of latency may end at above, times a power of ten: half of it is a short number, too."""
_SEEN = 2
"""So high at least is what was down."""
_CROWDED = 100
"""Of more days the columns have no room between them."""
_ROOM = 0.22
_DATES = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """A path on the area of ``WIDTH`` and ``HEIGHT``; ``name`` is what it shows."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A day that no line leads to: ``across`` in percent of the width, ``down`` as on the area."""

    name: str
    across: float
    down: float


@dataclass(frozen=True, slots=True)
class Label:
    """A date below the picture; ``anchor`` is the part of the text that stands at ``across``, in percent."""

    across: float
    anchor: Literal["start", "middle", "end"]
    words: str


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a day, in percent of the width, and what is told to who points at it."""

    across: float
    width: float
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture: ``scale`` from top to bottom at equal distances, and in words all that it shows."""

    title: str
    description: str
    scale: Sequence[str]
    shapes: Sequence[Shape]
    dots: Sequence[Dot]
    dates: Sequence[Label]
    days: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Range:
    """The days from ``since`` to ``until``, both included, side by side."""

    since: date
    until: date

    @property
    def length(self) -> int:
        return (self.until - self.since).days + 1

    @property
    def step(self) -> float:
        """The width of a day."""
        return WIDTH / self.length

    def days(self) -> Iterator[tuple[int, date]]:
        """Each day with its number from 0."""
        return ((number, self.since + timedelta(days=number)) for number in range(self.length))

    def centre(self, number: int) -> float:
        return (number + 0.5) * self.step

    def dates(self) -> list[Label]:
        """Some days by their names, the first and the last among them."""
        last = self.length - 1
        numbers = sorted({round(last * part / (_DATES - 1)) for part in range(_DATES)})
        return [self._label(number, last) for number in numbers]

    def places(self, told: Mapping[date, str]) -> list[Place]:
        """The places of all days; of those that nothing is ``told`` of, there was nothing to measure."""
        return [
            Place(_in_percent(number * self.step), _in_percent(self.step), f"{day(each)}: {told.get(each, 'no calls')}")
            for number, each in self.days()
        ]

    def _label(self, number: int, last: int) -> Label:
        each = self.since + timedelta(days=number)
        words = short_day(each) if each.year == self.until.year else day(each)
        if last and number in (0, last):
            return Label(0, "start", words) if number == 0 else Label(100, "end", words)
        return Label(_in_percent(self.centre(number)), "middle", words)


def availability_chart(records: Sequence[DayRecord], days: Range) -> Chart | None:
    """A column for each day on which the bank was asked, and what it was down hangs from 100 %; ``None`` without any.

    The longer it was down, the longer: with the whole height for what ``scale`` has at the bottom.
    """
    known = {record.day: record for record in records if record.availability is not None}
    if not known:
        return None
    worst = min(record.availability or Decimal(0) for record in known.values())
    lowest = next(number for number in _LOWEST if worst >= number)
    room = _ROOM if days.length <= _CROWDED else 0
    up, down = [], []
    for number, each in days.days():
        if (record := known.get(each)) is None:
            continue
        missing = (100 - (record.availability or Decimal(0))) / (100 - lowest) * HEIGHT
        height = max(_SEEN, round(float(missing), 1)) if record.down_seconds else 0
        left, width = (number + room / 2) * days.step, (1 - room) * days.step
        up.append(_column(left, width, height, HEIGHT))
        down += [_column(left, width, 0, height)] if height else []
    told = {each: _availability_of(record) for each, record in known.items()}
    return Chart(
        title="Availability by day",
        description=_availability_in_words(list(known.values()), days),
        scale=[percent(number.normalize()) for number in _steps(Decimal(lowest), Decimal(100))],
        shapes=[Shape("up", "".join(up)), Shape("down", "".join(down))],
        dots=(),
        dates=days.dates(),
        days=days.places(told),
    )


def latency_chart(title: str, records: Sequence[DayRecord], days: Range, side: Side) -> Chart | None:
    """A line for each of ``PERCENTILES`` over the days on which something was timed; ``None`` without any."""
    known = {record.day: found for record in records if (found := _percentiles(getattr(record.latency, side)))}
    if not known:
        return None
    highest = _above(max(max(found) for found in known.values()))
    runs = _runs(days, known)

    def points(run: Sequence[tuple[int, Sequence[Decimal]]], which: int) -> list[str]:
        return [f"{days.centre(number):.4g} {_down(found[which], highest):g}" for number, found in run]

    bands = "".join(f"M{'L'.join([*points(run, 0), *points(run, 1)[::-1]])}z" for run in runs)
    shapes, dots = [Shape("band", bands)], []
    for which, percentile in reversed(list(enumerate(PERCENTILES))):
        name = f"p{percentile}"
        shapes.append(Shape(name, "".join(f"M{'L'.join(points(run, which))}" for run in runs)))
        alone = [run[0] for run in runs if len(run) == 1]
        dots += [Dot(name, _in_percent(days.centre(number)), _down(found[which], highest)) for number, found in alone]
    return Chart(
        title=title,
        description=_latency_in_words(list(known.values()), days),
        scale=[f"{number.normalize():,f} ms" for number in _steps(Decimal(0), highest)],
        shapes=shapes,
        dots=dots,
        dates=days.dates(),
        days=days.places({each: _latency_of(found) for each, found in known.items()}),
    )


def _percentiles(histogram: Histogram) -> list[Decimal]:
    """Milliseconds for each of ``PERCENTILES``; nothing when nothing was timed."""
    return [found for each in PERCENTILES if (found := histogram.percentile(each)) is not None]


def _runs(days: Range, known: Mapping[date, Sequence[Decimal]]) -> list[list[tuple[int, Sequence[Decimal]]]]:
    """The known days with their numbers, those without a gap between them together."""
    runs: list[list[tuple[int, Sequence[Decimal]]]] = []
    for number, each in days.days():
        if each not in known:
            continue
        if not (runs and runs[-1][-1][0] == number - 1):
            runs.append([])
        runs[-1].append((number, known[each]))
    return runs


def _column(left: float, width: float, top: float, bottom: float) -> str:
    return f"M{left:.5g} {top:g}h{width:.4g}V{bottom:g}h{-width:.4g}z"


def _above(most: Decimal) -> Decimal:
    """A short number that is not less."""
    power = Decimal(10) ** most.adjusted()
    return next(number * power for number in _HIGHEST if number * power >= most)


def _down(milliseconds: Decimal, highest: Decimal) -> float:
    return round(float((1 - milliseconds / highest) * HEIGHT), 1)


def _steps(lowest: Decimal, highest: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    return highest, (lowest + highest) / 2, lowest


def _in_percent(across: float) -> float:
    return round(100 * across / WIDTH, 3)


def _availability_of(record: DayRecord) -> str:
    return f"{percent(record.availability)}" + (f", down {downtime(record.down_seconds)}" if record.down else "")


def _latency_of(found: Sequence[Decimal]) -> str:
    pairs = zip(PERCENTILES, found, strict=True)
    return ", ".join(f"p{percentile} {duration(milliseconds)}" for percentile, milliseconds in pairs)


def _availability_in_words(known: Sequence[DayRecord], days: Range) -> str:
    worst = max(known, key=lambda record: record.down_seconds)
    down = [record for record in known if record.down_seconds]
    told = f"Asked on {len(known)} of {days.length} days."
    if not down:
        return f"{told} Never down."
    return f"{told} Down on {len(down)} of them; longest on {day(worst.day)}: {_availability_of(worst)}."


def _latency_in_words(known: Sequence[Sequence[Decimal]], days: Range) -> str:
    told = [
        f"p{percentile} between {duration(min(found))} and {duration(max(found))}"
        for percentile, found in zip(PERCENTILES, zip(*known, strict=True), strict=True)
    ]
    return f"On {len(known)} of {days.length} days: {', '.join(told)}."
