"""Reads hourly counters, and finds the downtimes in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import partial
from itertools import islice

from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import WIDTH, pieces, together
from chalicelib.statistics.call_counts import TABLE, CallCounts, HourlyCounters, Latencies, Service, counters_key
from chalicelib.statistics.days import DAY_SECONDS, Span, day_of, hours_of


def sum_by_service(counters: Iterable[HourlyCounters]) -> tuple[dict[Service, CallCounts], dict[Service, Latencies]]:
    """Return a bank's total counts and latencies by service."""
    tallies: dict[Service, CallCounts] = {}
    latencies: dict[Service, Latencies] = {}
    for hourly in counters:
        for of_minute in hourly.minutes.values():
            for service, tally in of_minute.items():
                tallies.setdefault(service, CallCounts()).include(tally)
        for service, latency in hourly.latencies.items():
            latencies.setdefault(service, Latencies()).include(latency)
    return tallies, latencies


REACH_DAYS = 7  # so many days before are looked at for a series of unanswered requests that goes on


@dataclass(frozen=True, slots=True)
class Hour:
    """All instances' counts for a bank and hour. ``has_any`` is true if counts exist, ``is_whole`` if all counts were
    read.
    """

    counters: HourlyCounters
    has_any: bool
    is_whole: bool


def _no_hour(_hour: int) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class StoredCounters:
    """The stored counters. Hours for which ``is_empty`` returns true have no counters and are not read."""

    store: Store
    is_empty: Callable[[int], bool] = _no_hour

    def of_hour(self, bic: str, hour: int, most_pages: int | None = None) -> Hour:
        """Read all instances' counts for an hour, from at most ``most_pages`` pages of 1 MB."""
        whole, has_any, is_whole = HourlyCounters(bic, hour), False, False
        if self.is_empty(hour):
            return Hour(whole, has_any=False, is_whole=True)
        for page in islice(self.store.pages(TABLE, counters_key(bic, hour)), most_pages):
            for item in page.items:
                whole.include(HourlyCounters.from_item(item))
            has_any, is_whole = has_any or bool(page.items), page.next is None
        return Hour(whole, has_any, is_whole)


class HourlyCounterReader:
    """Reads one bank's counters, several hours in parallel and each hour only once. ``read`` is a function that returns
    an hour.
    """

    def __init__(self, read: Callable[[int], Hour]) -> None:
        self._read = read
        self._hours: dict[int, Hour] = {}

    def read_hours(self, hours: Sequence[int]) -> list[HourlyCounters]:
        """Read the merged counters of each hour that has counters, in order."""
        unread = [hour for hour in hours if hour not in self._hours]
        for wave in pieces(unread, WIDTH):
            self._hours |= zip(wave, together([partial(self._read, hour) for hour in wave]), strict=True)
        return [self._hours[hour].counters for hour in hours if self._hours[hour].has_any]

    def read_day(self, day: date, now: int | None = None) -> list[HourlyCounters]:
        """Read the counters of a UTC day until ``now``, and the counters of earlier hours, back to an hour with a
        response.
        """
        counters = self.read_hours([hour for hour in hours_of(day) if now is None or hour <= now])
        for hours in _earlier_hours(day) if counters else ():
            earlier = self.read_hours(hours)
            counters += earlier
            if any(hourly.answered_in for hourly in earlier):
                break
        return counters

    def read_latest(self, now: int) -> list[HourlyCounters]:
        """Read the latest counters, back to an hour with a response, or until it is certain that the bank is down."""
        hours, counters = [hour for hour in hours_of(day_of(now)) if hour <= now], list[HourlyCounters]()
        for batch in (hours[-1:], hours[:-1], *_earlier_hours(day_of(now))):
            counters += self.read_hours(batch)
            if any(hourly.answered_in for hourly in counters) or latest_series(counters).unanswered >= CONSECUTIVE:
                break
        return counters


def _earlier_hours(day: date) -> Iterator[Sequence[int]]:
    """Yield the hours before a day, in batches. The first batch is usually enough."""
    last = hours_of(day - timedelta(days=1))
    yield last[-1:]
    yield last[:-1]
    yield from (hours_of(day - timedelta(days=before)) for before in range(2, REACH_DAYS + 1))


CONSECUTIVE = 5


def downtime_spans(counters: Iterable[HourlyCounters], day: date) -> tuple[Span, ...]:
    """Return the downtimes in seconds of ``day``: series of five or more consecutive requests without a response.

    The interface is down from the first of the five until the next request that gets a response, otherwise until
    midnight (EBA/GL/2018/07, guideline 2.4(c)). Requests of all services and TPPs are ordered by the second of sending.
    A second with any response counts as up. Requests not sent because calls to the bank were paused are ignored.

    A series that began before midnight counts, from midnight on, towards the day of its fifth request. Later requests
    do not add downtime to the previous day.

    ``counters`` are the counters of the day and of earlier days as far back as a series may reach, in any order.
    """
    midnight = hours_of(day)[0]
    until = midnight + DAY_SECONDS
    replies = (reply for hourly in _merge_by_hour(counters) if hourly.hour < until for reply in hourly.replies())
    return tuple(
        (max(since - midnight, 0), end - midnight)
        for since, end in _unanswered_series(replies, until)
        if end > midnight
    )


def _unanswered_series(replies: Iterable[tuple[int, bool, int]], until: int) -> Iterator[Span]:
    """Yield series of unanswered requests that are long enough, in Unix seconds. An open series ends at ``until``."""
    first, count = 0, 0
    for second, was_answered, unanswered in replies:
        if was_answered:
            if count >= CONSECUTIVE:
                yield first, second
            count = 0
        else:
            first = first if count else second
            count += unanswered
    if count >= CONSECUTIVE:
        yield first, until


@dataclass(frozen=True, slots=True)
class LatestSeries:
    """The latest request's Unix second, and the number of consecutive unanswered requests up to this request, or 0 if
    it got a response.
    """

    second: int
    unanswered: int


def latest_series(counters: Iterable[HourlyCounters]) -> LatestSeries:
    """Return the series of unanswered requests, ordered as for ``downtime_spans``, that no response has ended."""
    latest = LatestSeries(0, 0)
    for hourly in _merge_by_hour(counters):
        for second, was_answered, unanswered in hourly.replies():
            latest = LatestSeries(second, 0 if was_answered else latest.unanswered + unanswered)
    return latest


def _merge_by_hour(counters: Iterable[HourlyCounters]) -> list[HourlyCounters]:
    hours: dict[int, HourlyCounters] = {}
    for hourly in counters:
        hours.setdefault(hourly.hour, HourlyCounters(hourly.bic, hourly.hour)).include(hourly)
    return [hours[hour] for hour in sorted(hours)]
