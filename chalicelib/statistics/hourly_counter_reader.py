"""Reading slips: what all instances together have counted of a bank, each hour of it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import islice

from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.parallel import WIDTH, pieces, together
from chalicelib.statistics.days import hours_of
from chalicelib.statistics.hourly_counters import TABLE, HourlyCounters, counters_key

REACH_DAYS = 7
"""So many days before are looked at for a series of unanswered requests that goes on."""


@dataclass(frozen=True, slots=True)
class Hour:
    """All slips of a bank's hour as one; ``has_any`` if there are some, ``is_whole`` unless there were too many."""

    slip: HourlyCounters
    has_any: bool
    is_whole: bool


@dataclass(frozen=True, slots=True)
class StoredCounters:
    """The slips that are kept."""

    store: Store

    def of_hour(self, bic: str, hour: int, most_pages: int | None = None) -> Hour:
        """What all instances have counted in an hour, which goes by the Unix second that it begins at.

        Args:
            most_pages: so many answers of DynamoDB, of 1 MB each, are read at most.
        """
        whole, has_any, is_whole = HourlyCounters(bic, hour), False, False
        for page in islice(self.store.pages(TABLE, counters_key(bic, hour)), most_pages):
            for item in page.items:
                whole.include(HourlyCounters.from_item(item))
            has_any, is_whole = has_any or bool(page.items), page.next is None
        return Hour(whole, has_any, is_whole)


class HourlyCounterReader:
    """Reads the slips of one bank, of several hours at the same time, and of none twice.

    Args:
        read: answers an hour.
    """

    def __init__(self, read: Callable[[int], Hour]) -> None:
        self._read = read
        self._hours: dict[int, Hour] = {}

    def read_hours(self, hours: Sequence[int]) -> list[HourlyCounters]:
        """One slip for each of these hours that has any, in their order."""
        unread = [hour for hour in hours if hour not in self._hours]
        for wave in pieces(unread, WIDTH):
            self._hours |= zip(wave, together([partial(self._read, hour) for hour in wave]), strict=True)
        return [self._hours[hour].slip for hour in hours if self._hours[hour].has_any]

    def read_day(self, day: date, now: int | None = None) -> list[HourlyCounters]:
        """Those of a UTC day and, if there are any, those of the hours before it, back to one with an answer.

        Args:
            now: the Unix second; of a day that is not over hours to come are left out.
        """
        slips = self.read_hours([hour for hour in hours_of(day) if now is None or hour <= now])
        for hours in _earlier_hours(day) if slips else ():
            earlier = self.read_hours(hours)
            slips += earlier
            if any(slip.answered_in for slip in earlier):
                break
        return slips


def _earlier_hours(day: date) -> Iterator[Sequence[int]]:
    """The hours before a day, in the portions that they are read in: mostly the first one tells enough."""
    last = hours_of(day - timedelta(days=1))
    yield last[-1:]
    yield last[:-1]
    yield from (hours_of(day - timedelta(days=before)) for before in range(2, REACH_DAYS + 1))
