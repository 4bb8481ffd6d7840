"""Test data for the statistics of a bank: counters of calls, as instances write them, and the nightly ingest."""

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta

from chalicelib.foundation.dynamodb.store import Item, Put, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.flows.bank.expected_reports import expected_banks
from chalicelib.statistics.call_counts import TABLE, Blamed, CallCounts, Histogram, HourlyCounters, Latencies, Service
from chalicelib.statistics.day_records import DayRecord, Summary, quarter_subject
from chalicelib.statistics.days import DAY_SECONDS, HOUR_SECONDS, hours_of, quarter_of
from chalicelib.statistics.ingest import ExpectedBank, compute_day
from tests.causeway import Causeway

ALPHA, BETA = "ALPHGB21", "BETADEF1"
DAY = date(2026, 3, 3)
"""The first whole day after the registration of the service's banks."""
QUIET_DAYS = (9, 10)
"""The ages, in days, of the days without calls in ``past_records``."""
OUTAGES = {4: (10 * 3600 + 120, 2460), 17: (3 * 3600 + 600, 260), 23: (15 * 3600, 7980)}
"""The downtimes in ``past_records`` by the age of the day: the second at which a downtime begins, and its length in
seconds.
"""


def store_calls(
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
    """Store one instance's counters for TPP calls at these times, in the format ``HH:MM:SS``.

    ``fault`` is the party at fault for answered calls. For unanswered calls, the bank is at fault.
    """
    counters: dict[int, HourlyCounters] = {}
    for times, was_answered in ((answered, True), (unanswered, False), (not_asked, None)):
        for time in times:
            hours, minutes, seconds = map(int, time.split(":"))
            hour = hours_of(day)[hours]
            at = hour + 60 * minutes + seconds
            hourly = counters.setdefault(hour, HourlyCounters(bic, hour))
            _count(hourly, at, service, was_answered, bank_ms, hub_ms)
            if was_answered and fault:
                hourly.tally(at, service).count_failure(fault)
    for hourly in counters.values():
        store.put(TABLE, hourly.to_item(new_id()))


def counters_of(replies: Iterable[tuple[int, bool]], bic: str = ALPHA) -> list[HourlyCounters]:
    """Return one instance's counters for requests. Each request is a Unix second and whether the bank answered."""
    counters: dict[int, HourlyCounters] = {}
    for at, was_answered in replies:
        hour = at - at % HOUR_SECONDS
        hourly = counters.setdefault(hour, HourlyCounters(bic, hour))
        hourly.count_request(at, "AISP", "answered" if was_answered else "unanswered")
    return list(counters.values())


def hourly(
    bic: str, hour: int, *, answered: int = 0, unanswered: int = 0, bank: float = 120, hub: float = 4
) -> HourlyCounters:
    """Return counters of account information calls: one per second from the hour's start, unanswered calls first."""
    counters = HourlyCounters(bic, hour)
    for second in range(answered + unanswered):
        _count(counters, hour + second, "AISP", second >= unanswered, bank, hub)
    return counters


def put_counters(counters: HourlyCounters, number: int = 0) -> Put:
    return Put(TABLE, counters.to_item(f"counters-{number}"))


def record(bic: str, day: date, *counters: HourlyCounters, name: str = "A bank") -> DayRecord:
    return compute_day(ExpectedBank(bic, name, is_active=True), day, counters, None)


def past_records(bic: str, today: date, days: int) -> Iterator[DayRecord]:
    """Return reproducible records of the days before today, including days without calls, slow days and downtimes."""
    chance = random.Random(bic)
    for age in range(days, 0, -1):
        day = today - timedelta(days=age)
        yield record(bic, day, *(_busy_day(bic, day, age, chance) if age % 365 not in QUIET_DAYS else ()))


def _busy_day(bic: str, day: date, age: int, chance: random.Random) -> Iterator[HourlyCounters]:
    slow = 1 + 0.25 * chance.random() + (0.6 if age in (3, 4, 5) else 0)
    began, seconds = OUTAGES.get(age, (0, 0))
    down = range(hours_of(day)[0] + began, hours_of(day)[0] + began + seconds)
    for hour in hours_of(day):
        counters = HourlyCounters(bic, hour)
        calls = {*(hour + chance.randrange(3600) for _ in range(12)), *down[::20]}
        for at in sorted(calls & {*range(hour, hour + 3600)}):
            service: Service = chance.choice(("AISP", "AISP", "PISP", "CBPII", "authorization"))
            bank = chance.lognormvariate(4.8, 0.5) * slow
            _count(counters, at, service, at not in down, bank, chance.lognormvariate(1.5, 0.4))
        yield counters


def _count(
    counters: HourlyCounters, at: int, service: Service, was_answered: bool | None, bank: float, hub: float
) -> None:
    """Count a TPP call at a Unix second. If the bank received no request, ``was_answered`` is ``None``."""
    counters.count_call(at, service, hub)
    if was_answered is None:
        counters.count_request(at, service, "not_asked")
    elif was_answered:
        counters.count_request(at, service, "answered", bank)
    else:
        counters.count_request(at, service, "unanswered")
        counters.tally(at, service).count_failure("bank")


def histogram(*milliseconds: float) -> Histogram:
    durations = Histogram()
    for each in milliseconds:
        durations.add(each)
    return durations


def summarize(records: Iterable[DayRecord]) -> Summary:
    records = list(records)
    known = [record for record in records if record.availability is not None]
    return Summary(
        DAY_SECONDS * len(known),
        sum(record.down_seconds for record in known),
        CallCounts.total(record.total for record in records),
        Latencies.total(record.latency for record in records),
    )


# -- the service


def advance_to(causeway: Causeway, day: date, time: str = "01:10") -> None:
    target = datetime.fromisoformat(f"{day}T{time}:00+00:00")
    causeway.clock.advance((target - causeway.clock.now()).total_seconds())


def ingest(causeway: Causeway, *, alone: bool = False) -> None:
    """Run the scheduled ingest job, or the ingest job of a single process."""
    statistics = causeway.hub.statistics
    (statistics.ingest_alone if alone else statistics.ingest).run(expected_banks(causeway.hub.openbanking.banks))


def stored_records(causeway: Causeway) -> list[Item]:
    return causeway.hub.store.rows(TABLE, ("subject", quarter_subject(quarter_of(DAY))))


def records(causeway: Causeway, bic: str = ALPHA) -> dict[date, DayRecord]:
    found = [DayRecord.from_item(item) for item in stored_records(causeway)]
    return {record.day: record for record in found if record.bic == bic}


def report(causeway: Causeway, day: date = DAY, consent: int | None = 41_250, payment: int | None = 23_800) -> None:
    """Send a report as bank Beta with the durations of a day in milliseconds."""
    body = {"date": day.isoformat(), "consentDuration": consent, "paymentDuration": payment}
    assert causeway.banks[2].call("/daily_performance", body).status == 200
