"""What instances have counted of a bank, made up: counters, as they would write them, and the records of days."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from chalicelib.foundation.dynamodb.store import Put, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.statistics.call_counts import TABLE, Blamed, CallCounts, HourlyCounters, Latencies, Service
from chalicelib.statistics.day_records import DayRecord, Summary
from chalicelib.statistics.days import DAY_SECONDS, HOUR_SECONDS, hours_of
from chalicelib.statistics.ingest import ExpectedBank, compute_day

ALPHA, BETA = "ALPHGB21", "BETADEF1"
QUIET_DAYS = (9, 10)
"""So many days ago nobody asked for anything."""
OUTAGES = {4: (10 * 3600 + 120, 2460), 17: (3 * 3600 + 600, 260), 23: (15 * 3600, 7980)}
"""So many days ago the bank did not answer: from which second of the day on, and for how many."""


def counted(
    store: Store,
    bic: str,
    day: date,
    *,
    answered: Sequence[str] = (),
    unanswered: Sequence[str] = (),
    not_asked: Sequence[str] = (),
    service: Service = "AISP",
    fault: Blamed | None = None,
    bank_ms: float = 100,
    hub_ms: float = 10,
) -> None:
    """Write the counters of one instance: calls of TPPs whose requests were sent at these times, as ``HH:MM:SS``.

    ``fault`` is who is to blame for those that were answered; for the unanswered it is the bank.
    """
    counters: dict[int, HourlyCounters] = {}

    def call(time: str, was_answered: bool | None) -> None:
        at = _second(day, time)
        hour = at - at % HOUR_SECONDS
        made = counters.setdefault(hour, HourlyCounters(bic, hour))
        _call(made, at, service, was_answered, bank_ms, hub_ms)
        if was_answered and fault:
            made.tally(at, service).count_failure(fault)

    for times, was_answered in ((answered, True), (unanswered, False), (not_asked, None)):
        for time in times:
            call(time, was_answered)
    for made in counters.values():
        store.put(TABLE, made.to_item(new_id()))


def hourly(
    bic: str, hour: int, *, answered: int = 0, unanswered: int = 0, bank: float = 120, hub: float = 4
) -> HourlyCounters:
    """An hour of account information: a call in each second from its beginning, unanswered ones first."""
    made = HourlyCounters(bic, hour)
    for second in range(answered + unanswered):
        _call(made, hour + second, "AISP", second >= unanswered, bank, hub)
    return made


def keeping(made: HourlyCounters, number: int = 0) -> Put:
    """The write of the ``number``-th instance."""
    return Put(TABLE, made.to_item(f"counters-{number}"))


def record(bic: str, day: date, *counters: HourlyCounters, name: str = "A bank") -> DayRecord:
    """The record of a day, as it is reckoned from counters."""
    return compute_day(ExpectedBank(bic, name, is_active=True), day, counters, None)


def records(bic: str, today: date, days: int) -> Iterator[DayRecord]:
    """The records of the days before today: with ups and downs, and always the same."""
    chance = random.Random(bic)
    for ago in range(days, 0, -1):
        day = today - timedelta(days=ago)
        yield record(bic, day, *(_busy_day(bic, day, ago, chance) if ago % 365 not in QUIET_DAYS else ()))


def _busy_day(bic: str, day: date, ago: int, chance: random.Random) -> Iterator[HourlyCounters]:
    slow = 1 + 0.25 * chance.random() + (0.6 if ago in (3, 4, 5) else 0)
    midnight = hours_of(day)[0]
    began, seconds = OUTAGES.get(ago, (0, 0))
    down = range(midnight + began, midnight + began + seconds)
    for hour in hours_of(day):
        made = HourlyCounters(bic, hour)
        for at in sorted(
            {*(hour + chance.randrange(3600) for _ in range(12)), *down[::20]} & {*range(hour, hour + 3600)}
        ):
            service: Service = chance.choice(("AISP", "AISP", "PISP", "CBPII", "authorization"))
            bank = chance.lognormvariate(4.8, 0.5) * slow
            _call(made, at, service, at not in down, bank, chance.lognormvariate(1.5, 0.4))
        yield made


def _call(made: HourlyCounters, at: int, service: Service, was_answered: bool | None, bank: float, hub: float) -> None:
    """Count a call of a TPP at a Unix second; ``was_answered`` is ``None`` when the bank was not asked."""
    made.count_call(at, service, hub)
    if was_answered is None:
        made.count_request(at, service, "not_asked")
    elif was_answered:
        made.count_request(at, service, "answered", bank)
    else:
        made.count_request(at, service, "unanswered")
        made.tally(at, service).count_failure("bank")


def _second(day: date, time: str) -> int:
    hours, minutes, seconds = map(int, time.split(":"))
    return hours_of(day)[hours] + 60 * minutes + seconds


def summarize(records: Iterable[DayRecord]) -> Summary:
    """The figures of several days, for comparison with those of periods."""
    records = list(records)
    known = [record for record in records if record.availability is not None]
    return Summary(
        DAY_SECONDS * len(known),
        sum(record.down_seconds for record in known),
        CallCounts.total(record.total for record in records),
        Latencies.total(record.latency for record in records),
    )
