"""Test data for pages that display statistics: days of banks, and calls of a busy client."""

from collections import Counter
from datetime import date, timedelta
from itertools import cycle

from chalicelib.foundation.dynamodb.store import Put
from chalicelib.foundation.parallel import pieces
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
from chalicelib.statistics.days import HOUR_SECONDS, hours_of
from tests.causeway import Causeway
from tests.statistics.bank_days import hourly, record

BIC, OTHER = "ALPHGB21", "BETADEF1"
TODAY = date(2026, 3, 2)
YESTERDAY = TODAY - timedelta(days=1)
FEBRUARY = "from=2026-02-01&to=2026-02-28"
_CALLS_PER_HOUR = 100
_BATCH = 100


def add_day(causeway: Causeway, bic: str, day: date, *, answered: int = 9, unanswered: int = 0) -> None:
    has_calls = answered + unanswered > 0
    counters = [hourly(bic, hours_of(day)[0], answered=answered, unanswered=unanswered)] if has_calls else []
    put = record(bic, day, *counters, name=f"Bank {bic}").put()
    causeway.hub.store.put(put.table, put.item)


def fill_activity(causeway: Causeway, client_id: str, *, processes: int) -> None:
    """Store 100 calls per hour of a day for each process, and the maximum number of calls for one minute. Half of the
    calls of this minute failed.
    """
    now = causeway.clock.time()
    hour, minute = now - now % HOUR_SECONDS, now - now % 60
    errors: Counter[ErrorKind] = Counter({kind: 2 + number for number, kind in enumerate(ERROR_KINDS)} | {"hub": 1})
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
    rows: list[HourOfCalls | MinuteOfCalls] = []
    for process in (f"process-{number}" for number in range(processes)):
        hours = (hour - ago * HOUR_SECONDS for ago in range(HOURS))
        rows += [HourOfCalls(client_id, each, process, _CALLS_PER_HOUR, errors) for each in hours]
        rows.append(MinuteOfCalls(client_id, minute, process, calls))
    for batch in pieces([Put(TABLE, row.to_item()) for row in rows], _BATCH):
        causeway.hub.store.transact(batch)
