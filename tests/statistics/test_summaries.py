"""Several days of a bank, put into the figures that people look at first."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from chalicelib.statistics.call_counts import CallCounts, Latencies
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DAY_SECONDS
from chalicelib.statistics.summaries import Summary, summarize

BIC, DAY = "ALPHGB21", date(2026, 3, 2)


def test_several_days_are_added_up_and_what_nobody_asked_for_is_not_up() -> None:
    seconds = DAY_SECONDS // 100
    busy, bad, quiet = (DayRecord(BIC, "A bank", DAY + timedelta(days=number)) for number in range(3))
    busy.tallies["AISP"] = CallCounts(calls=3, answered=3)
    bad = DayRecord(
        BIC, "A bank", bad.day, {"PISP": CallCounts(calls=1, unanswered=1, bank_failures=1)}, {}, ((0, seconds),)
    )
    found = summarize([busy, bad, quiet])

    assert (found.availability, found.downtime) == (Decimal("99.500"), seconds)
    assert (found.error_rate, found.total.asked) == (Decimal("25.000"), 4)
    assert summarize([quiet]) == Summary(0, 0, CallCounts(), Latencies())
    assert [summarize([]).availability, summarize([]).downtime, summarize([]).error_rate] == [None] * 3
