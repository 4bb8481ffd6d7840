"""What the page of performance reads: the records of days that are over, and what is counted of today so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import partial

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.parallel import together
from chalicelib.foundation.store import Store
from chalicelib.statistics.day_records import DAY_SECONDS, DayRecord, DayRecords
from chalicelib.statistics.downtime import spans_down
from chalicelib.statistics.slips import TABLE, Slip, hours_of, slip_key
from chalicelib.statistics.tallies import Latencies, Tally

CACHED_SECONDS = 60
"""So long today's figures are not read again; instances tell theirs once a minute."""
SETTLED_SECONDS = 900
"""So long an hour is not read again that had been over as long: few slips come so late."""
PAGES = 3
"""So many answers of DynamoDB, of 1 MB each, are read for an hour at most; the whole day is a few seconds' work."""
REMEMBERED = 16
"""Today's hours are remembered of so many banks, those that were asked for last."""
_THOUSANDTH = Decimal("0.001")


@dataclass(frozen=True, slots=True)
class Summary:
    """What was measured in some time.

    Attributes:
        seconds: of the time that it is known of whether the interface was up; none when the bank was not asked.
        down_seconds: of those, when it was not.
        total: counts of all services together.
        latency: of all services together.
    """

    seconds: int = 0
    down_seconds: int = 0
    total: Tally = field(default_factory=Tally)
    latency: Latencies = field(default_factory=Latencies)

    @property
    def availability(self) -> Decimal | None:
        """Percent, with three decimal places."""
        return _share(self.seconds - self.down_seconds, self.seconds)

    @property
    def downtime(self) -> int | None:
        """Seconds."""
        return self.down_seconds if self.seconds else None

    @property
    def error_rate(self) -> Decimal | None:
        """Percent of the requests to the bank that failed by its fault, three decimal places."""
        return _share(self.total.bank, self.total.asked)


@dataclass(frozen=True, slots=True)
class Today:
    """Today until the Unix second ``at``; ``is_whole`` unless there was more to add up than can be read for a page."""

    at: int
    summary: Summary
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Hour:
    """What all instances have counted in an hour until it was read; ``is_whole`` as for ``Today``."""

    slip: Slip
    is_whole: bool
    read_at: int

    def is_good(self, now: int) -> bool:
        """Whether it need not be read again."""
        was_settled = self.read_at - (self.slip.hour + 3600) >= SETTLED_SECONDS
        return now - self.read_at < (SETTLED_SECONDS if was_settled else CACHED_SECONDS)


@dataclass(frozen=True, slots=True)
class _Known:
    """A bank's day so far, and the hours that it was made of."""

    today: Today
    hours: Mapping[int, _Hour]


class Performance:
    """Reads the table of statistics for one bank at a time."""

    def __init__(self, store: Store, records: DayRecords, clock: Clock) -> None:
        self._store = store
        self._records = records
        self._clock = clock
        self._known: dict[str, _Known] = {}

    def days(self, bic: str, since: date, until: date) -> list[DayRecord]:
        """The records of the days from ``since`` to ``until``, both included, by day: one Query for each quarter."""
        return self._records.of_bank(bic, since, until)

    def today(self, bic: str) -> Today:
        """What is counted of a bank that is registered, up to a minute ago: one Query for each hour, as a rule."""
        now, known = self._clock.time(), self._known.pop(bic, None)
        if (
            known is None
            or now - known.today.at >= CACHED_SECONDS
            or now // DAY_SECONDS > known.today.at // DAY_SECONDS
        ):
            known = self._read(bic, known.hours if known else {}, now)
        self._known[bic] = known
        for forgotten in list(self._known)[:-REMEMBERED]:
            self._known.pop(forgotten, None)
        return known.today

    def _read(self, bic: str, before: Mapping[int, _Hour], now: int) -> _Known:
        day = datetime.fromtimestamp(now, UTC).date()
        begun = [hour for hour in hours_of(day) if hour <= now]
        unread = [hour for hour in begun if hour not in before or not before[hour].is_good(now)]
        read = dict(zip(unread, together([partial(self._hour, bic, hour, now) for hour in unread]), strict=True))
        hours = {hour: read.get(hour) or before[hour] for hour in begun}
        is_whole = all(hour.is_whole for hour in hours.values())
        summed = _so_far([hour.slip for hour in hours.values()], day, now, is_whole=is_whole)
        return _Known(Today(now, summed, is_whole), hours)

    def _hour(self, bic: str, hour: int, now: int) -> _Hour:
        whole, partition, after = Slip(bic, hour), ("subject", slip_key(bic, hour)["subject"]), None
        for _ in range(PAGES):
            page = self._store.query(TABLE, partition, after=after)
            for item in page.items:
                whole.include(Slip.from_item(item))
            after = page.next
            if after is None:
                break
        return _Hour(whole, after is None, now)


def summary(records: Iterable[DayRecord]) -> Summary:
    """What was measured on several days together."""
    seconds, down_seconds, total, latency = 0, 0, Tally(), Latencies()
    for record in records:
        if record.availability is not None:
            seconds, down_seconds = seconds + DAY_SECONDS, down_seconds + record.down_seconds
        total.include(record.total)
        latency.include(record.latency)
    return Summary(seconds, down_seconds, total, latency)


def _so_far(slips: Sequence[Slip], day: date, now: int, *, is_whole: bool) -> Summary:
    """Of an unfinished day; whether the interface was up is not known from a part of the slips."""
    total, latency = Tally(), Latencies()
    for slip in slips:
        for tallies in slip.minutes.values():
            for tally in tallies.values():
                total.include(tally)
        for latencies in slip.latencies.values():
            latency.include(latencies)
    if not total.asked or not is_whole:
        return Summary(0, 0, total, latency)
    elapsed = now - hours_of(day)[0]
    down = sum(max(0, min(until, elapsed) - since) for since, until in spans_down(slips, day))
    return Summary(elapsed, down, total, latency)


def _share(part: int, whole: int) -> Decimal | None:
    """Percent; ``None`` of nothing."""
    if not whole:
        return None
    return (Decimal(100 * part) / whole).quantize(_THOUSANDTH, ROUND_HALF_UP)
