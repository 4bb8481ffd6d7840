"""Performance: more than a year and a morning of one bank are measured for it; another's days are made up."""

from __future__ import annotations

import os
from unittest.mock import patch

from chalicelib.bootstrap import Hub
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.settings import Settings
from chalicelib.statistics import day_overviews
from chalicelib.statistics.days import hours_of
from tests.browser.visitor import Visitor
from tests.browser.walks import Walk, opens
from tests.statistics import bank_days


def walks() -> tuple[Walk, ...]:
    """With and without figures, and what cannot be shown."""
    return (
        Walk(
            "performance",
            (
                ("banks", opens("/performance")),
                ("month", _looks_at_what_was_measured),
                ("quarter", lambda visitor: visitor.follow("90 days")),
                ("year", lambda visitor: visitor.follow("365 days")),
                ("banks-by-week", lambda visitor: visitor.follow("All banks")),
                ("made-up", lambda visitor: visitor.open(f"/performance?bic={visitor.bank(2)['bic']}")),
                ("no-figures", opens("/performance?from=2020-01-01&to=2020-01-31")),
                ("no-such-bank", opens("/performance?bic=NOBKGB2L")),
                ("not-these-days", opens("/performance?from=tomorrow&to=2020-02-30")),
            ),
            ("/performance",),
        ),
    )


def _looks_at_what_was_measured(visitor: Visitor) -> None:
    bic = visitor.bank(1)["bic"]
    with patch.dict(os.environ, visitor.stack["environment"]):
        hub = Hub(Settings.from_environment(visitor.stack["environment"]))
        today = hub.clock.now().date()
        records = list(bank_days.past_records(bic, today, 370))
        for batch in pieces([record.put() for record in records], 90):
            hub.store.transact(batch)
        days = [record.day for record in records]
        day_overviews.build_overviews(hub.store, days, [bank.bic for bank in hub.statistics.expected_banks()])
        morning = bank_days.hourly(bic, hours_of(today)[0], answered=400, unanswered=6)
        hub.store.transact([bank_days.put_counters(morning)])
    visitor.open(f"/performance?bic={bic}")
