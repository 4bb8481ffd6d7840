"""When a bank's interface was down: five consecutive requests without an answer (EBA/GL/2018/07, guideline 2.4(c)).

It is down from the first of the five until the next request that is answered, or else until midnight. Requests are in
the order of the seconds that they were sent in, those of all services and TPPs together; in a second with an answer the
interface was up. Requests that the bank was spared, because it had not answered, say nothing.

A series that began before midnight counts for the day that its fifth request fell into, from midnight on: the day
before is not down on account of requests that came after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from chalicelib.statistics.days import DAY_SECONDS, Span, hours_of
from chalicelib.statistics.hourly_counters import HourlyCounters

CONSECUTIVE = 5


def downtime_spans(slips: Iterable[HourlyCounters], day: date) -> tuple[Span, ...]:
    """When it was down, as seconds of ``day``.

    Args:
        slips: of the day, and of days before it as far as a series may reach; in any order.
        day: a UTC day.
    """
    midnight = hours_of(day)[0]
    until = midnight + DAY_SECONDS
    replies = (reply for slip in _merge_by_hour(slips) if slip.hour < until for reply in slip.replies())
    return tuple(
        (max(since - midnight, 0), end - midnight)
        for since, end in _unanswered_series(replies, until)
        if end > midnight
    )


def _unanswered_series(replies: Iterable[tuple[int, bool, int]], until: int) -> Iterator[Span]:
    """The series of unanswered requests that were long enough, in Unix seconds; one that goes on ends at ``until``."""
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


def _merge_by_hour(slips: Iterable[HourlyCounters]) -> list[HourlyCounters]:
    """One slip for each hour, in order of time."""
    hours: dict[int, HourlyCounters] = {}
    for slip in slips:
        hours.setdefault(slip.hour, HourlyCounters(slip.bic, slip.hour)).include(slip)
    return [hours[hour] for hour in sorted(hours)]
