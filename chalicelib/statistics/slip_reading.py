"""Reading slips: what all instances together have counted of a bank, each hour of it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from chalicelib.foundation.parallel import WIDTH, pieces, together
from chalicelib.foundation.store import Store
from chalicelib.statistics.slips import TABLE, Slip, hours_of, slip_key

REACH_DAYS = 7
"""So many days before are looked at for a series of unanswered requests that goes on."""


@dataclass(frozen=True, slots=True)
class Slips:
    """The slips that are kept."""

    store: Store

    def of_hour(self, bic: str, hour: int) -> Slip | None:
        """All of a bank's hour as one; an hour goes by the Unix second that it begins at."""
        whole, partition = Slip(bic, hour), ("subject", slip_key(bic, hour)["subject"])
        has_any, after = False, None
        while True:
            page = self.store.query(TABLE, partition, after=after)
            for item in page.items:
                whole.include(Slip.from_item(item))
            has_any, after = has_any or bool(page.items), page.next
            if after is None:
                return whole if has_any else None


class SlipReader:
    """Reads the slips of one bank, of several hours at the same time, and of none twice.

    Args:
        read: answers those of an hour.
    """

    def __init__(self, read: Callable[[int], Slip | None]) -> None:
        self._read = read
        self._hours: dict[int, Slip | None] = {}

    def of(self, hours: Sequence[int]) -> list[Slip]:
        """One slip for each of these hours that has any."""
        unread = [hour for hour in hours if hour not in self._hours]
        for wave in pieces(unread, WIDTH):
            self._hours |= zip(wave, together([partial(self._read, hour) for hour in wave]), strict=True)
        return [slip for hour in hours if (slip := self._hours[hour]) is not None]

    def reaching(self, day: date) -> list[Slip]:
        """Those of a UTC day and, if there are any, those of the hours before it, back to one with an answer."""
        slips = self.of(hours_of(day))
        for hours in _before(day) if slips else ():
            earlier = self.of(hours)
            slips += earlier
            if any(slip.answered_in for slip in earlier):
                break
        return slips


def _before(day: date) -> Iterator[Sequence[int]]:
    """The hours before a day, in the portions that they are read in: mostly the first one tells enough."""
    last = hours_of(day - timedelta(days=1))
    yield last[-1:]
    yield last[:-1]
    yield from (hours_of(day - timedelta(days=before)) for before in range(2, REACH_DAYS + 1))
