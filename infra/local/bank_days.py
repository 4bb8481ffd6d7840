"""Made-up statistics for a new stack: 90 days of each demonstration bank, so that the page of performance is not empty.

The records are marked as made up: the page says so, exports and averages leave them out. A day's figures depend on
the bank and the day only, except for outages and slow days, which are spread over the whole range.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import TYPE_CHECKING

from chalicelib.foundation.dynamodb.store import ConditionFailed, Store
from chalicelib.statistics.call_counts import STEPS, CallCounts, Histogram, Latencies, Service
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DAY_SECONDS, DayRange, Span, hours_of, yesterday

if TYPE_CHECKING:
    from chalicelib.bootstrap import Hub
    from chalicelib.statistics.ingest import ExpectedBank

DAYS = 90
_CALLS: Mapping[Service, int] = {"AISP": 620, "PISP": 140, "CBPII": 90, "authorization": 110}
"""The usual number of calls on a weekday, by service."""
_BANK_MS: Mapping[Service, float] = {"AISP": 118, "PISP": 205, "CBPII": 64, "authorization": 88}
_HUB_MS = 4.2
"""Usual (median) times in milliseconds, at the bank by service, and in this service."""
_SATURDAY = 5
_WEEKEND_SHARE = 0.45
_SLOW_DAYS = 4
_UNANSWERED_EVERY = 25
"""Seconds between two requests without a response during an outage, whose other requests are not sent."""
_SPREAD = [math.exp(-0.5 * (offset / 4.5) ** 2) for offset in range(-12, 13)]
"""Shares of a day's requests in the buckets around the usual time, nearly a normal distribution."""
_TAIL_BUCKETS = (18, 26)
_TAIL_SHARE = 0.012
"""The slowest requests: how many, and how many buckets above the usual time."""


@dataclass(frozen=True, slots=True)
class BankBehaviour:
    """How a bank behaves: its number of outages, its outages' longest duration in minutes, and how slow it is."""

    outages: int = 3
    longest: int = 40
    slowness: float = 1.0
    failed_share: float = 0.003


@dataclass(frozen=True, slots=True)
class _Day:
    """A day to make up: its source of randomness, its outage if it has one, and how slow it is."""

    bank: ExpectedBank
    day: date
    behaviour: BankBehaviour
    outage: Span | None
    slowness: float
    chance: Random = field(repr=False)

    def record(self) -> DayRecord:
        tallies = {service: self._counts(service, usual) for service, usual in _CALLS.items()}
        latencies = {service: self._latencies(service, counts) for service, counts in tallies.items()}
        received_at = hours_of(self.day)[0] + DAY_SECONDS + self.chance.randrange(300, 3000)
        reported = self.bank.reports
        return DayRecord(
            self.bank.bic,
            self.bank.name,
            self.day,
            tallies,
            latencies,
            (self.outage,) if self.outage else (),
            "received" if reported else "not_expected",
            self.chance.randrange(36_000, 54_000) if reported else None,
            self.chance.randrange(19_000, 31_000) if reported else None,
            received_at if reported else None,
            made_up=True,
        )

    def _counts(self, service: Service, usual: int) -> CallCounts:
        share = _WEEKEND_SHARE if self.day.weekday() >= _SATURDAY else 1
        calls = round(usual * share * self.chance.uniform(0.82, 1.18))
        lost = round(calls * (self.outage[1] - self.outage[0]) / DAY_SECONDS) if self.outage else 0
        unanswered = self._unanswered() if service == "AISP" else 0
        not_asked = max(0, lost - unanswered)
        answered = max(1, calls - unanswered - not_asked)
        failed = round(answered * self.behaviour.failed_share * self.chance.uniform(0, 2))
        refused = round(answered * self.chance.uniform(0.008, 0.03))
        return CallCounts(
            answered + unanswered + not_asked, answered, unanswered, not_asked, failed + unanswered, refused, 0
        )

    def _unanswered(self) -> int:
        """The requests without a response in the outage: five until the bank counts as down, then one now and then."""
        return 5 + (self.outage[1] - self.outage[0]) // _UNANSWERED_EVERY // 10 if self.outage else 0

    def _latencies(self, service: Service, counts: CallCounts) -> Latencies:
        good = counts.answered - counts.caller_failures - (counts.bank_failures - counts.unanswered)
        usual = _BANK_MS[service] * self.slowness * self.chance.uniform(0.93, 1.07)
        return Latencies(_histogram(_HUB_MS * self.chance.uniform(0.95, 1.05), counts.calls), _histogram(usual, good))


def made_up_days(bank: ExpectedBank, behaviour: BankBehaviour, latest: date) -> list[DayRecord]:
    """The records of ``DAYS`` days until ``latest``, the oldest first; the same for the same arguments."""
    chance = Random(bank.bic)
    days = list(DayRange(latest - timedelta(days=DAYS - 1), latest))
    outages = {day: _outage(behaviour, chance) for day in chance.sample(days[:-1], behaviour.outages)}
    slow = chance.sample(days, _SLOW_DAYS)
    return [
        _Day(
            bank,
            day,
            behaviour,
            outages.get(day),
            behaviour.slowness * (1.9 if day in slow else 1),
            Random(f"{bank.bic}#{day.isoformat()}"),
        ).record()
        for day in days
    ]


def store_made_up_days(hub: Hub, behaviours: Mapping[str, BankBehaviour]) -> None:
    """Store the days of the registered banks in ``behaviours``, by BIC, and their overviews; no record is replaced."""
    latest, banks = yesterday(hub.clock), hub.statistics.expected_banks()
    for bank in banks:
        if bank.bic in behaviours:
            _store_new(hub.store, made_up_days(bank, behaviours[bank.bic], latest))
    days = DayRange(latest - timedelta(days=DAYS - 1), latest)
    hub.statistics.overviews.build(days, [bank.bic for bank in banks])


def _store_new(store: Store, records: Sequence[DayRecord]) -> None:
    """Store the records of days that have none: in one transaction, or one by one if a day has one."""
    writes = [record.put_new() for record in records]
    try:
        store.transact(writes)
    except ConditionFailed:
        for write in writes:
            with contextlib.suppress(ConditionFailed):
                store.put(write.table, write.item, write.condition)


def _outage(behaviour: BankBehaviour, chance: Random) -> Span:
    """A downtime between 07:00 and 22:00, in seconds of the day."""
    seconds = chance.randrange(150, 60 * behaviour.longest)
    begins = chance.randrange(7 * 3600, 22 * 3600 - seconds)
    return begins, begins + seconds


def _histogram(usual: float, count: int) -> Histogram:
    """``count`` durations around ``usual`` milliseconds, with a few slow ones."""
    middle = max(0, round(math.log2(usual) * STEPS))
    tail = round(count * _TAIL_SHARE)
    buckets = {middle + offset: tail // 2 for offset in _TAIL_BUCKETS}
    left = count - 2 * (tail // 2)
    whole = sum(_SPREAD)
    for offset, share in enumerate(_SPREAD, start=-(len(_SPREAD) // 2)):
        bucket = max(0, middle + offset)
        buckets[bucket] = buckets.get(bucket, 0) + int(left * share / whole)
    buckets[middle] = buckets.get(middle, 0) + count - sum(buckets.values())
    filled = {bucket: number for bucket, number in buckets.items() if number}
    return Histogram(filled, sum(round(1000 * 2 ** ((bucket - 0.5) / STEPS)) * n for bucket, n in filled.items()))
