"""A bank's counts for the current day to date, cached for a public page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics import hourly_counters
from chalicelib.statistics.call_counts import CallCounts, HourlyCounters, Latencies
from chalicelib.statistics.day_records import Summary
from chalicelib.statistics.days import DAY_SECONDS, HOUR_SECONDS, day_of, hours_of
from chalicelib.statistics.hourly_counters import Hour, HourlyCounterReader, StoredCounters, sum_by_service

CACHED_SECONDS = 60  # so long today's figures are not read again; instances tell theirs once a minute
SETTLED_SECONDS = 900  # so long an hour is not read again that had been over as long: few counters come so late
PAGES = 3
"""The maximum number of 1 MB pages that are read for each hour of data. Reading a whole day takes a few seconds."""
REMEMBERED = 16  # today's hours are remembered of so many banks, those that were asked for last


@dataclass(frozen=True, slots=True)
class DayToDate:
    """Today's figures up to the Unix second ``at``. ``is_whole`` is false if a page could not read all of the data."""

    at: int
    summary: Summary
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Reading:
    """The counts of all instances in one hour, and the time they were read."""

    hour: Hour
    read_at: int

    def is_fresh(self, now: int) -> bool:
        was_settled = self.read_at - (self.hour.counters.hour + HOUR_SECONDS) >= SETTLED_SECONDS
        return now - self.read_at < (SETTLED_SECONDS if was_settled else CACHED_SECONDS)


@dataclass(frozen=True, slots=True)
class _CachedDay:
    so_far: DayToDate
    hours: Mapping[int, _Reading]


class CurrentDay:
    def __init__(self, clock: Clock, counters: StoredCounters) -> None:
        self._clock = clock
        self._counters = counters
        self._known: dict[str, _CachedDay] = {}

    def of_bank(self, bic: str) -> DayToDate:
        """Return a registered bank's counts, at most a minute old. Usually takes one Query per hour."""
        now, known = self._clock.time(), self._known.pop(bic, None)
        if (
            known is None
            or now - known.so_far.at >= CACHED_SECONDS
            or now // DAY_SECONDS > known.so_far.at // DAY_SECONDS
        ):
            known = self._read(bic, known.hours if known else {}, now)
        self._known[bic] = known
        for forgotten in list(self._known)[:-REMEMBERED]:
            self._known.pop(forgotten, None)
        return known.so_far

    def _read(self, bic: str, before: Mapping[int, _Reading], now: int) -> _CachedDay:
        hours: dict[int, _Reading] = {}

        def read(hour: int) -> Hour:
            known = before.get(hour)
            if known is None or not known.is_fresh(now):
                known = _Reading(self._counters.of_hour(bic, hour, PAGES), now)
            hours[hour] = known
            return known.hour

        day = day_of(now)
        counters = HourlyCounterReader(read).read_day(day, now)
        is_whole = all(reading.hour.is_whole for reading in hours.values())
        return _CachedDay(DayToDate(now, _summarize_today(counters, day, now, is_whole=is_whole), is_whole), hours)


def _summarize_today(counters: Sequence[HourlyCounters], day: date, now: int, *, is_whole: bool) -> Summary:
    """Summarize the unfinished day. If counters are incomplete, availability is unknown."""
    hours = hours_of(day)
    tallies, latencies = sum_by_service(hourly for hourly in counters if hourly.hour in hours)
    total, latency = CallCounts.total(tallies.values()), Latencies.total(latencies.values())
    if not total.bank_requests or not is_whole:
        return Summary(0, 0, total, latency)
    elapsed = now - hours[0]
    down = sum(max(0, min(until, elapsed) - since) for since, until in hourly_counters.downtime_spans(counters, day))
    return Summary(elapsed, down, total, latency)
