"""A chart of an account's balances: converts the balances after each movement to SVG lines.

The page stretches the drawing, so labels are placed outside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.card_text import money

WIDTH, HEIGHT = 600, 160
_AFTERWARDS = 12
"""The chart continues after the last movement for at most this fraction (1/12) of the time from the first to the last.
"""
_AT_LEAST = 30  # but for at least 1/30, so that the last balance is visible
Balances = Mapping[str, int]
"""``at`` in Unix milliseconds, and ``settled``, ``held`` and ``reserved`` in minor units."""


@dataclass(frozen=True, slots=True)
class BalanceChart:
    """The points of the lines, the height of zero, and labels. ``first`` and ``last`` are in Unix seconds."""

    available: str
    settled: str
    area: str
    zero: float
    highest: str
    lowest: str
    first: int
    last: int
    description: str


def balance_chart(rows: Sequence[Balances], currency: int, now: int) -> BalanceChart | None:
    """The chart of balances after movements, newest first; ``None`` for fewer than two.

    The line continues after the last movement, but not beyond ``now`` (Unix milliseconds), except to stay visible.
    """
    if len(rows) < 2:
        return None
    rows = rows[::-1]
    times = [row["at"] for row in rows]
    duration = times[-1] - times[0]
    known = max(times[-1], min(now, times[-1] + duration // _AFTERWARDS))
    end = max(known, times[-1] + max(1, duration // _AT_LEAST))
    available = [row["settled"] - row["held"] - row["reserved"] for row in rows]
    settled = [row["settled"] for row in rows]
    lowest, highest = min(0, *available, *settled), max(0, *available, *settled)
    span, height = end - times[0], (highest - lowest) or 1

    def across(at: int) -> float:
        return round((at - times[0]) / span * WIDTH, 1)

    def down(amount: int) -> float:
        return round((highest - amount) / height * HEIGHT, 1)

    def line(amounts: Sequence[int]) -> str:
        """A step line, since a balance stays the same until the next movement."""
        points = [(across(times[0]), down(amounts[0]))]
        for at, before, amount in zip(times[1:], amounts, amounts[1:], strict=False):
            points += [(across(at), down(before)), (across(at), down(amount))]
        points.append((across(end), down(amounts[-1])))
        return " ".join(f"{x:g},{y:g}" for x, y in points)

    zero = down(0)
    return BalanceChart(
        available=line(available),
        settled=line(settled),
        area=f"0,{zero:g} {line(available)} {WIDTH},{zero:g}",
        zero=zero,
        highest=money(highest, currency),
        lowest=money(lowest, currency),
        first=times[0] // 1000,
        last=known // 1000,
        description=(
            f"Available went from {money(available[0], currency)} to {money(available[-1], currency)}, "
            f"between {money(min(available), currency)} and {money(max(available), currency)}, "
            f"in {len(rows)} movements; the settled balance ended at {money(settled[-1], currency)}."
        ),
    )
