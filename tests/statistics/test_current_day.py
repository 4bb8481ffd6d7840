"""Today so far: what all instances have counted since midnight, read as seldom as a page for everybody needs."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.foundation.dynamodb.store import Page
from chalicelib.statistics.call_counts import CallCounts
from chalicelib.statistics.current_day import CACHED_SECONDS, PAGES, REMEMBERED, SETTLED_SECONDS, DayToDate
from chalicelib.statistics.day_records import Summary
from chalicelib.statistics.days import hours_of
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.statistics.bank_days import hourly, put_counters

BIC, OTHER = "ALPHGB21", "ALPHGB21XXX"
HOURS = hours_of(date(2026, 3, 2))
"""The service's clock begins at 09:00."""


def today(causeway: Causeway, bic: str = BIC) -> DayToDate:
    return causeway.hub.statistics.today.of_bank(bic)


def kept(causeway: Causeway, *counters: Any) -> None:
    causeway.hub.store.transact([put_counters(each, number) for number, each in enumerate(counters)])


def test_today_adds_the_counters_of_all_instances_since_midnight(causeway: Causeway) -> None:
    kept(
        causeway,
        hourly(BIC, HOURS[0] - 3600, answered=7),
        hourly(BIC, HOURS[0], answered=5, bank=100, hub=2),
        hourly(BIC, HOURS[9], answered=3, bank=900, hub=8),
        hourly(BIC, HOURS[9], answered=1, bank=900, hub=8),
        hourly(OTHER, HOURS[1], answered=11),
    )
    found = today(causeway)

    assert found.is_whole
    assert found.summary.total == CallCounts(calls=9, answered=9)
    assert (found.summary.latency.bank.count, found.summary.latency.hub.percentile(50)) == (9, Decimal("2.0"))
    assert (found.summary.availability, found.summary.downtime) == (Decimal("100.000"), 0)


def test_an_ongoing_downtime_lasts_until_now(causeway: Causeway) -> None:
    kept(causeway, hourly(BIC, HOURS[6], unanswered=5))
    found = today(causeway)

    assert found.summary.downtime == 3 * 3600
    assert found.summary.availability == Decimal("66.667")


def test_a_bank_down_since_yesterday_is_down_from_midnight_with_one_unanswered_request(causeway: Causeway) -> None:
    kept(causeway, hourly(BIC, HOURS[0] - 2 * 3600, unanswered=5), hourly(BIC, HOURS[6], unanswered=1))
    found = today(causeway)

    assert (found.summary.total.unanswered, found.summary.downtime) == (1, 9 * 3600)
    assert found.summary.availability == Decimal("0.000")


def test_failures_before_the_last_answer_do_not_count_towards_a_downtime(causeway: Causeway) -> None:
    kept(
        causeway,
        hourly(BIC, HOURS[0] - 7 * 3600, unanswered=5),
        hourly(BIC, HOURS[0] - 3600, answered=1),
        hourly(BIC, HOURS[6], unanswered=4),
    )
    assert today(causeway).summary.downtime == 0


def test_a_bank_without_requests_has_no_figures_for_today(causeway: Causeway) -> None:
    found = today(causeway)

    assert (found.is_whole, found.summary.total) == (True, CallCounts())
    assert [found.summary.availability, found.summary.downtime, found.summary.total.error_rate] == [None] * 3


def test_today_is_read_once_a_minute(causeway: Causeway) -> None:
    first = today(causeway)
    kept(causeway, hourly(BIC, HOURS[9], answered=1))
    causeway.clock.advance(CACHED_SECONDS - 1)
    assert today(causeway) is first

    causeway.clock.advance(1)
    assert today(causeway).summary.total.calls == 1


def test_today_begins_with_empty_figures_at_midnight(causeway: Causeway) -> None:
    kept(causeway, hourly(BIC, HOURS[23], answered=1))
    causeway.clock.advance(15 * 3600 - 1)
    assert today(causeway).summary.total.calls == 1

    causeway.clock.advance(1)
    assert today(causeway).summary == Summary()


class Pages:
    """Answers the counters of 08:00 with each Query, and says as often that there are more."""

    def __init__(self, causeway: Causeway, pages: int) -> None:
        self._real = causeway.hub.store.query
        self._pages = pages
        self.asked: list[Any] = []

    def __call__(self, table: str, partition: tuple[str, Any], **options: Any) -> Page:
        if not partition[1].endswith("2026-03-02T08"):
            return self._real(table, partition, **options)
        self.asked.append(options.get("after"))
        number = len(self.asked)
        item = hourly(BIC, HOURS[8], answered=1).to_item(str(number))
        return Page([item], {"part": str(number)} if number < self._pages else None)


def test_counters_beyond_one_query_page_are_read_from_the_next_pages(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = Pages(causeway, PAGES)
    monkeypatch.setattr(causeway.hub.store, "query", pages)
    found = today(causeway)

    assert pages.asked == [None, {"part": "1"}, {"part": "2"}]
    assert (found.is_whole, found.summary.total.calls) == (True, PAGES)


def test_incomplete_counters_give_counts_without_availability(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = Pages(causeway, PAGES + 1)
    monkeypatch.setattr(causeway.hub.store, "query", pages)
    found = today(causeway)

    assert len(pages.asked) == PAGES
    assert found.is_whole is False
    assert found.summary.total.calls == PAGES
    assert (found.summary.availability, found.summary.total.error_rate) == (None, Decimal("0.000"))


def test_a_settled_hour_is_read_less_often(causeway: Causeway) -> None:
    causeway.clock.advance(SETTLED_SECONDS - 1)  # 09:14:59
    today(causeway)
    kept(
        causeway,
        hourly(BIC, HOURS[7], answered=1),
        hourly(BIC, HOURS[8], answered=10),
        hourly(BIC, HOURS[9], answered=100),
    )
    causeway.clock.advance(CACHED_SECONDS)
    assert today(causeway).summary.total.calls == 110

    kept(causeway, hourly(BIC, HOURS[8], answered=10), hourly(BIC, HOURS[8], answered=10))
    causeway.clock.advance(SETTLED_SECONDS - CACHED_SECONDS)
    assert today(causeway).summary.total.calls == 111

    causeway.clock.advance(CACHED_SECONDS)
    assert today(causeway).summary.total.calls == 121


def test_the_cache_keeps_today_for_a_limited_number_of_banks(causeway: Causeway) -> None:
    today(causeway)
    for number in range(REMEMBERED):
        today(causeway, f"BANKGB{number:02d}")
    with record_calls(causeway) as calls:
        today(causeway, "BANKGB00")
    assert calls == []

    with record_calls(causeway) as calls:
        today(causeway)
    assert calls == ["Query"] * 10
