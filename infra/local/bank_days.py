"""Synthetic statistics for a new stack: 90 days for each demonstration bank, shown on the performance pages.

The records are marked as synthetic. The pages display the mark, and exports and averages omit the records. Figures
depend only on the bank and the day, except that outages and slow days are spread over the whole range.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING

from chalicelib.foundation.dynamodb.store import ConditionFailed, Store
from chalicelib.statistics import day_overviews
from chalicelib.statistics.call_counts import STEPS, CallCounts, Histogram, Latencies, Service
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DAY_SECONDS, DayRange, Span, hours_of, yesterday

if TYPE_CHECKING:
    from chalicelib.bootstrap import Hub
    from chalicelib.statistics.ingest import ExpectedBank

DAYS = 90
_CALLS: Mapping[Service, int] = {"AISP": 620, "PISP": 140, "CBPII": 90, "authorization": 110}
"""The usual number of calls on a weekday, for each service."""
_BANK_MS: Mapping[Service, float] = {"AISP": 118, "PISP": 205, "CBPII": 64, "authorization": 88}
_HUB_MS = 4.2
"""Usual (median) times in milliseconds: the bank's time for each service, and the hub's own time."""
_SATURDAY = 5
_WEEKEND_SHARE = 0.45
_SLOW_DAYS = 4
_UNANSWERED_EVERY = 250
"""Number of seconds between two requests without a response during an outage."""
_SHARES = {offset: math.exp(-0.5 * (offset / 4.5) ** 2) for offset in range(-12, 13)} | {18: 0.07, 26: 0.07}
"""Shares of a day's requests in the buckets around the usual time: almost a normal distribution, with a few slow
requests.
"""
_WHOLE = sum(_SHARES.values())


@dataclass(frozen=True, slots=True)
class BankBehaviour:
    """The simulated behaviour of a bank.

    Attributes:
        outages: the number of outages.
        longest: the longest duration of an outage, in minutes.
        slowness: the factor by which the usual response times are multiplied.
        failed_share: the share of requests with an error response.
    """

    outages: int = 3
    longest: int = 40
    slowness: float = 1.0
    failed_share: float = 0.003


def made_up_days(bank: ExpectedBank, behaviour: BankBehaviour, latest: date) -> list[DayRecord]:
    """Generate the records of ``DAYS`` days up to ``latest``, oldest first. Equal arguments yield equal records."""
    chance = Random(bank.bic)
    days = list(DayRange(latest - timedelta(days=DAYS - 1), latest))
    outages = {day: _outage(behaviour, chance) for day in chance.sample(days[:-1], behaviour.outages)}
    slow = chance.sample(days, _SLOW_DAYS)
    return [_made_up_day(bank, behaviour, day, outages.get(day), 1.9 if day in slow else 1) for day in days]


def _made_up_day(
    bank: ExpectedBank, behaviour: BankBehaviour, day: date, outage: Span | None, slowness: float
) -> DayRecord:
    chance = Random(f"{bank.bic}#{day.isoformat()}")
    tallies, latencies = {}, {}
    for service, usual in _CALLS.items():
        calls = usual * (_WEEKEND_SHARE if day.weekday() >= _SATURDAY else 1)
        counts = tallies[service] = _counts(
            round(calls * chance.uniform(0.82, 1.18)), service, behaviour, outage, chance
        )
        good = counts.answered - counts.caller_failures - (counts.bank_failures - counts.unanswered)
        at_bank = _BANK_MS[service] * behaviour.slowness * slowness * chance.uniform(0.93, 1.07)
        here = _histogram(_HUB_MS * chance.uniform(0.95, 1.05), counts.calls)
        latencies[service] = Latencies(here, _histogram(at_bank, good))
    record = DayRecord(bank.bic, bank.name, day, tallies, latencies, (outage,) if outage else (), made_up=True)
    if not bank.reports:
        return record
    return replace(
        record,
        report="received",
        consent_duration=chance.randrange(36_000, 54_000),
        payment_duration=chance.randrange(19_000, 31_000),
        report_received_at=hours_of(day)[0] + DAY_SECONDS + chance.randrange(300, 3000),
    )


def _counts(calls: int, service: Service, behaviour: BankBehaviour, outage: Span | None, chance: Random) -> CallCounts:
    """Generate the outcomes of a service's calls. The first five requests in an outage get no response.

    After these requests, the bank is considered unavailable: a few more requests get no response, and all others are
    not sent.
    """
    seconds = outage[1] - outage[0] if outage else 0
    unanswered = 5 + seconds // _UNANSWERED_EVERY if outage and service == "AISP" else 0
    not_asked = max(0, round(calls * seconds / DAY_SECONDS) - unanswered)
    answered = max(1, calls - unanswered - not_asked)
    failed = round(answered * behaviour.failed_share * chance.uniform(0, 2))
    refused = round(answered * chance.uniform(0.008, 0.03))
    every = answered + unanswered + not_asked
    return CallCounts(every, answered, unanswered, not_asked, failed + unanswered, refused, 0)


def store_made_up_days(hub: Hub, behaviours: Mapping[str, BankBehaviour]) -> None:
    """Store the synthetic days and overviews of the registered banks that ``behaviours`` contains, by BIC. Existing
    records are not replaced.
    """
    latest, banks = yesterday(hub.clock), hub.statistics.expected_banks()
    for bank in banks:
        if bank.bic in behaviours:
            _store_new(hub.store, made_up_days(bank, behaviours[bank.bic], latest))
    days = DayRange(latest - timedelta(days=DAYS - 1), latest)
    day_overviews.build_overviews(hub.store, days, [bank.bic for bank in banks])


def _store_new(store: Store, records: Sequence[DayRecord]) -> None:
    writes = [record.put_new() for record in records]
    try:
        store.transact(writes)
    except ConditionFailed:
        for write in writes:
            with contextlib.suppress(ConditionFailed):
                store.put(write.table, write.item, write.condition)


def _outage(behaviour: BankBehaviour, chance: Random) -> Span:
    seconds = chance.randrange(150, 60 * behaviour.longest)
    begins = chance.randrange(7 * 3600, 22 * 3600 - seconds)
    return begins, begins + seconds


def _histogram(usual: float, count: int) -> Histogram:
    middle = round(math.log2(usual) * STEPS)
    ends = [round(part * count / _WHOLE) for part in accumulate(_SHARES.values(), initial=0.0)]
    counts = {middle + offset: end - start for offset, (start, end) in zip(_SHARES, pairwise(ends), strict=True)}
    filled = Counter({bucket: number for bucket, number in counts.items() if number})
    return Histogram(filled, sum(round(1000 * 2 ** ((bucket - 0.5) / STEPS)) * n for bucket, n in filled.items()))
