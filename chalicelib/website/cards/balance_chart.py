"""A chart of an account's balances: converts the balances after each movement to SVG lines and positioned texts.

The page stretches the drawing, so labels are placed outside it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.cards.card_text import money
from chalicelib.website.display_text import moment

WIDTH, HEIGHT = 600, 160
PLACES = 24
"""The number of positions on the chart for which the page shows the balances."""
_AT_LEAST = 30  # the last balance takes at least 1/30 of the width, so that it is visible
Balances = Mapping[str, int]
"""The balances of an account at a time: ``at`` in Unix milliseconds, and ``settled``, ``held`` and ``reserved`` in
minor units.
"""


@dataclass(frozen=True, slots=True)
class BalanceChart:
    """A chart of balances: the paths of the lines, the height of zero, and labels. ``first`` and ``last`` are in Unix
    seconds.

    ``tips`` are the balances at the ends of equally long periods, from left to right.
    """

    available: str
    settled: str
    area: str
    zero: float
    highest: str
    lowest: str
    first: int
    last: int
    tips: Sequence[str]
    description: str


def balance_chart(rows: Sequence[Balances], currency: int, now: int) -> BalanceChart | None:
    """Draw the chart of balances after movements, newest first. Returns ``None`` for fewer than two movements.

    The right edge is ``now`` (Unix milliseconds). Balances are constant since the last movement.
    """
    if len(rows) < 2:
        return None
    rows = rows[::-1]
    times = [row["at"] for row in rows]
    known = max(times[-1], now)
    # a movement that is just over would stand on the edge, and its balance would not be seen
    end = max(known, times[-1] + max(1, (times[-1] - times[0]) // _AT_LEAST))
    available = [row["settled"] - row["held"] - row["reserved"] for row in rows]
    settled = [row["settled"] for row in rows]
    lowest, highest = min(0, *available, *settled), max(0, *available, *settled)
    span, height = end - times[0], (highest - lowest) or 1

    def across(at: int) -> float:
        return round((at - times[0]) / span * WIDTH, 1)

    def down(amount: int) -> float:
        return round((highest - amount) / height * HEIGHT, 1)

    def line(amounts: Sequence[int]) -> str:
        """Draw a step line without its beginning ``M0 ``. A balance is constant until the next movement."""
        steps = (f"H{across(at):g}V{down(amount):g}" for at, amount in zip(times[1:], amounts[1:], strict=True))
        return f"{down(amounts[0]):g}{''.join(steps)}H{WIDTH}"

    def tip(place: int) -> str:
        at = min(times[0] + span * (place + 1) // PLACES, known)
        last = bisect_right(times, at) - 1
        return (
            f"{moment(at // 1000)}: {money(available[last], currency)} available, "
            f"{money(settled[last], currency)} settled"
        )

    zero = down(0)
    return BalanceChart(
        available=f"M0 {line(available)}",
        settled=f"M0 {line(settled)}",
        area=f"M0 {zero:g}V{line(available)}V{zero:g}z",
        zero=zero,
        highest=money(highest, currency),
        lowest=money(lowest, currency),
        first=times[0] // 1000,
        last=known // 1000,
        tips=[tip(place) for place in range(PLACES)],
        description=(
            f"Available went from {money(available[0], currency)} to {money(available[-1], currency)}, "
            f"between {money(min(available), currency)} and {money(max(available), currency)}, "
            f"in {len(rows)} movements; the settled balance ended at {money(settled[-1], currency)}."
        ),
    )
