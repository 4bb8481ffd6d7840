"""Clients that many processes of the service serve, so that there is much to read of them."""

from __future__ import annotations

from collections import Counter
from itertools import cycle

from chalicelib.foundation.dynamodb.store import Put
from chalicelib.statistics.client_activity import (
    ERROR_KINDS,
    HOURS,
    PER_MINUTE,
    TABLE,
    ClientCall,
    ErrorKind,
    HourOfCalls,
    MinuteOfCalls,
)
from chalicelib.statistics.days import HOUR_SECONDS
from tests.causeway import Causeway

_HOURLY = 100
_BATCH = 100


def fill_activity(causeway: Causeway, client_id: str, *, processes: int) -> None:
    """Rows of so many processes: 100 calls in each hour of a day, and a minute full of calls, half of them failed."""
    now = causeway.clock.time()
    hour, minute = now - now % HOUR_SECONDS, now - now % 60
    errors: Counter[ErrorKind] = Counter({kind: 2 + number for number, kind in enumerate(ERROR_KINDS)} | {"hub": 1})
    puts = [
        Put(TABLE, HourOfCalls(client_id, hour - ago * HOUR_SECONDS, f"process-{number}", _HOURLY, errors).to_item())
        for ago in range(HOURS)
        for number in range(processes)
    ]
    kinds = cycle(ERROR_KINDS)
    calls = [
        ClientCall(
            minute,
            "POST",
            "/tpp/bulk_payment_initiation",
            502 if number % 2 else 200,
            "ASPSP_UNKNOWN_ERROR" if number % 2 else None,
            next(kinds) if number % 2 else None,
            1234,
            12345,
            "ALPHGB21XXX",
            "99391c7e-ad88-49ec-a2ad-99ddcb1f7721",
        )
        for number in range(PER_MINUTE)
    ]
    puts += [
        Put(TABLE, MinuteOfCalls(client_id, minute, f"process-{number}", calls).to_item())
        for number in range(processes)
    ]
    for first in range(0, len(puts), _BATCH):
        causeway.hub.store.transact(puts[first : first + _BATCH])
