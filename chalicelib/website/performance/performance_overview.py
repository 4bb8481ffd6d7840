"""The overview of all banks: one row per bank with its figures and a sparkline, worst bank first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.statistics.call_counts import MAIN_PERCENTILE
from chalicelib.statistics.day_overviews import BankFigures, DayOverview, Row
from chalicelib.statistics.days import DayRange
from chalicelib.website.performance.performance_text import duration

SPARKLINE_WIDTH, SPARKLINE_HEIGHT = 120, 24
_TOP = 2  # space above the highest value, so that the line is not cut


@dataclass(frozen=True, slots=True)
class Sparkline:
    """The main percentile of the bank's response times over the days or weeks, as SVG paths.

    ``down`` has a column for each period with downtime. ``description`` is the text alternative.
    """

    line: str
    down: str
    description: str


@dataclass(frozen=True, slots=True)
class BankLine:
    """A bank, and its figures for the days of the overview."""

    bank: Bank
    figures: BankFigures


def worst_first(banks: Sequence[Bank], overviews: Mapping[date, DayOverview]) -> list[BankLine]:
    """Sort banks by availability, then error rate, then response time. Banks without requests are last."""
    lines = [BankLine(bank, BankFigures.total(_rows(bank.bic, overviews).values())) for bank in banks]
    return sorted(lines, key=_rank)


def _rank(line: BankLine) -> tuple[bool, Decimal, Decimal, Decimal, str]:
    figures, zero = line.figures, Decimal(0)
    return (
        figures.availability is None,
        figures.availability or zero,
        -(figures.error_rate or zero),
        -(figures.percentile(MAIN_PERCENTILE) or zero),
        line.bank.name.casefold(),
    )


def draw_sparkline(bic: str, overviews: Mapping[date, DayOverview], days: DayRange) -> Sparkline | None:
    """Draw the sparkline of a bank. Return ``None`` if the bank received no requests."""
    rows, periods = _rows(bic, overviews), days.periods
    totals = [BankFigures.total([rows[day] for day in period if day in rows]) for period in periods]
    if not any(total.used_days for total in totals):
        return None
    step = SPARKLINE_WIDTH / len(periods)
    known = {number: found for number, each in enumerate(totals) if (found := each.percentile(MAIN_PERCENTILE))}
    down = [number for number, each in enumerate(totals) if each.down_seconds]
    columns = (f"M{number * step:.4g} 0h{step:.3g}V{SPARKLINE_HEIGHT}h-{step:.3g}z" for number in down)
    return Sparkline(_line(known, step), "".join(columns), _describe(list(known.values()), list(rows.values())))


def _line(known: Mapping[int, Decimal], step: float) -> str:
    """Draw a line that restarts after a gap. A value without neighbours is a dot."""
    highest = max(known.values(), default=Decimal(1))
    parts: list[str] = []
    for number, milliseconds in known.items():
        down = SPARKLINE_HEIGHT - float(milliseconds / highest) * (SPARKLINE_HEIGHT - _TOP)
        move = "L" if number - 1 in known else "M"
        dot = "" if number - 1 in known or number + 1 in known else "h0"
        parts.append(f"{move}{(number + 0.5) * step:.4g} {down:.3g}{dot}")
    return "".join(parts)


def _describe(known: Sequence[Decimal], rows: Sequence[Row]) -> str:
    figures = BankFigures.total(rows)
    down = sum(BankFigures(*row).down_seconds > 0 for row in rows)
    text = f"down on {down} of {figures.used_days} days" if down else "never down"
    if not known:
        return f"{text[0].upper()}{text[1:]}"
    return f"p{MAIN_PERCENTILE} between {duration(min(known))} and {duration(max(known))}, {text}"


def _rows(bic: str, overviews: Mapping[date, DayOverview]) -> dict[date, Row]:
    return {day: overview.rows[bic] for day, overview in overviews.items() if bic in overview.rows}
