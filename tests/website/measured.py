"""What was measured of a bank, made up: slips of some hours, as instances write them, and the records of days."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta

from chalicelib.foundation.store import Put
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.ingest import ExpectedBank, reckoned
from chalicelib.statistics.slips import TABLE, Slip, hours_of
from chalicelib.statistics.tallies import Service

QUIET_DAYS = (9, 10)
"""So many days ago nobody asked for anything."""
OUTAGES = {4: (10 * 3600 + 120, 2460), 17: (3 * 3600 + 600, 260), 23: (15 * 3600, 7980)}
"""So many days ago the bank did not answer: from which second of the day on, and for how many."""


def slip(bic: str, hour: int, *, answered: int = 0, unanswered: int = 0, bank: float = 120, hub: float = 4) -> Slip:
    """An hour of account information: a call in each second from its beginning, unanswered ones first."""
    made = Slip(bic, hour)
    for second in range(answered + unanswered):
        _call(made, hour + second, "AISP", second >= unanswered, bank, hub)
    return made


def keeping(made: Slip, number: int = 0) -> Put:
    """The write of the ``number``-th instance."""
    return Put(TABLE, made.to_item(f"slip-{number}"))


def record(bic: str, day: date, *slips: Slip, name: str = "A bank") -> DayRecord:
    """The record of a day, as it is reckoned from slips."""
    return reckoned(ExpectedBank(bic, name, is_active=True), day, slips, None)


def records(bic: str, today: date, days: int) -> Iterator[DayRecord]:
    """The records of the days before today: with ups and downs, and always the same."""
    chance = random.Random(bic)
    for ago in range(days, 0, -1):
        day = today - timedelta(days=ago)
        yield record(bic, day, *(_busy_day(bic, day, ago, chance) if ago % 365 not in QUIET_DAYS else ()))


def _busy_day(bic: str, day: date, ago: int, chance: random.Random) -> Iterator[Slip]:
    slow = 1 + 0.25 * chance.random() + (0.6 if ago in (3, 4, 5) else 0)
    midnight = hours_of(day)[0]
    began, seconds = OUTAGES.get(ago, (0, 0))
    down = range(midnight + began, midnight + began + seconds)
    for hour in hours_of(day):
        made = Slip(bic, hour)
        for at in sorted(
            {*(hour + chance.randrange(3600) for _ in range(12)), *down[::20]} & {*range(hour, hour + 3600)}
        ):
            service: Service = chance.choice(("AISP", "AISP", "PISP", "CBPII", "authorization"))
            bank = chance.lognormvariate(4.8, 0.5) * slow
            _call(made, at, service, at not in down, bank, chance.lognormvariate(1.5, 0.4))
        yield made


def _call(made: Slip, at: int, service: Service, was_answered: bool, bank: float, hub: float) -> None:
    tally, latency = made.tally(at, service), made.latency(service)
    tally.calls += 1
    latency.hub.add(hub)
    if was_answered:
        tally.answered += 1
        latency.bank.add(bank)
        made.answered(at)
    else:
        tally.unanswered += 1
        tally.blame("bank")
        made.unanswered(at)
