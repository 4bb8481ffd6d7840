"""Statistics of the current day: counts of all instances since midnight, cached for all viewers of a page."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.foundation.dynamodb.store import Page
from chalicelib.statistics.call_counts import CallCounts, HourlyCounters
from chalicelib.statistics.current_day import CACHED_SECONDS, PAGES, REMEMBERED, SETTLED_SECONDS, DayToDate
from chalicelib.statistics.day_records import Summary
from chalicelib.statistics.days import hours_of
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.statistics.bank_days import hourly, put_counters

BIC, OTHER = "ALPHGB21", "ALPHGB21XXX"
HOURS = hours_of(date(2026, 3, 2))
"""The hours of the current day. The service's clock starts at 09:00."""


def today(causeway: Causeway, bic: str = BIC) -> DayToDate:
    return causeway.hub.statistics.today.of_bank(bic)


def store(causeway: Causeway, *counters: HourlyCounters) -> None:
    causeway.hub.store.transact([put_counters(each, number) for number, each in enumerate(counters)])


def test_the_figures_of_the_current_day_include_the_counters_of_all_instances_since_midnight(
    causeway: Causeway,
) -> None:
    store(
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


YESTERDAY = HOURS[0] - 2 * 3600
DOWNTIMES: dict[str, tuple[list[HourlyCounters], Decimal | None, int | None]] = {
    "down until now": ([hourly(BIC, HOURS[6], unanswered=5)], Decimal("66.667"), 3 * 3600),
    "down since yesterday": (
        [hourly(BIC, YESTERDAY, unanswered=5), hourly(BIC, HOURS[6], unanswered=1)],
        Decimal("0.000"),
        9 * 3600,
    ),
    "up since the last answer yesterday": (
        [
            hourly(BIC, YESTERDAY - 5 * 3600, unanswered=5),
            hourly(BIC, YESTERDAY + 3600, answered=1),
            hourly(BIC, HOURS[6], unanswered=4),
        ],
        Decimal("100.000"),
        0,
    ),
    "no requests": ([], None, None),
}


@pytest.mark.parametrize(("counters", "availability", "downtime"), DOWNTIMES.values(), ids=DOWNTIMES)
def test_a_downtime_of_the_current_day_counts_from_midnight_until_now(
    causeway: Causeway, counters: list[HourlyCounters], availability: Decimal | None, downtime: int | None
) -> None:
    store(causeway, *counters)
    found = today(causeway)

    assert found.is_whole
    assert (found.summary.availability, found.summary.downtime) == (availability, downtime)


def test_a_bank_without_requests_has_no_figures_for_the_current_day(causeway: Causeway) -> None:
    found = today(causeway)

    assert (found.is_whole, found.summary.total, found.summary.total.error_rate) == (True, CallCounts(), None)


def test_the_counters_of_the_current_day_are_read_once_a_minute(causeway: Causeway) -> None:
    first = today(causeway)
    store(causeway, hourly(BIC, HOURS[9], answered=1))
    causeway.clock.advance(CACHED_SECONDS - 1)
    assert today(causeway) is first

    causeway.clock.advance(1)
    assert today(causeway).summary.total.calls == 1


def test_the_current_day_has_no_figures_at_midnight(causeway: Causeway) -> None:
    store(causeway, hourly(BIC, HOURS[23], answered=1))
    causeway.clock.advance(15 * 3600 - 1)
    assert today(causeway).summary.total.calls == 1

    causeway.clock.advance(1)
    assert today(causeway).summary == Summary()


class Pages:
    def __init__(self, causeway: Causeway, pages: int) -> None:
        self._real = causeway.hub.store.query
        self._pages = pages
        self.positions: list[Any] = []

    def __call__(self, table: str, partition: tuple[str, Any], **options: Any) -> Page:
        if not partition[1].endswith("2026-03-02T08"):
            return self._real(table, partition, **options)
        self.positions.append(options.get("after"))
        number = len(self.positions)
        item = hourly(BIC, HOURS[8], answered=1).to_item(str(number))
        return Page([item], {"part": str(number)} if number < self._pages else None)


def test_counters_beyond_one_query_page_are_read_from_the_next_pages(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = Pages(causeway, PAGES)
    monkeypatch.setattr(causeway.hub.store, "query", pages)
    found = today(causeway)

    assert pages.positions == [None, {"part": "1"}, {"part": "2"}]
    assert (found.is_whole, found.summary.total.calls) == (True, PAGES)


def test_for_incomplete_counters_of_the_current_day_counts_are_shown_without_availability(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = Pages(causeway, PAGES + 1)
    monkeypatch.setattr(causeway.hub.store, "query", pages)
    found = today(causeway)

    assert len(pages.positions) == PAGES
    assert found.is_whole is False
    assert found.summary.total.calls == PAGES
    assert (found.summary.availability, found.summary.total.error_rate) == (None, Decimal("0.000"))


def test_the_counters_of_a_past_hour_are_read_less_often_if_they_no_longer_change(causeway: Causeway) -> None:
    causeway.clock.advance(SETTLED_SECONDS - 1)  # 09:14:59
    today(causeway)
    store(
        causeway,
        hourly(BIC, HOURS[7], answered=1),
        hourly(BIC, HOURS[8], answered=10),
        hourly(BIC, HOURS[9], answered=100),
    )
    causeway.clock.advance(CACHED_SECONDS)
    assert today(causeway).summary.total.calls == 110

    store(causeway, hourly(BIC, HOURS[8], answered=10), hourly(BIC, HOURS[8], answered=10))
    causeway.clock.advance(SETTLED_SECONDS - CACHED_SECONDS)
    assert today(causeway).summary.total.calls == 111

    causeway.clock.advance(CACHED_SECONDS)
    assert today(causeway).summary.total.calls == 121


def test_the_cache_stores_the_current_day_for_a_limited_number_of_banks(causeway: Causeway) -> None:
    today(causeway)
    for number in range(REMEMBERED):
        today(causeway, f"BANKGB{number:02d}")
    with record_calls(causeway) as calls:
        today(causeway, "BANKGB00")
    assert calls == []

    with record_calls(causeway) as calls:
        today(causeway)
    assert calls == ["Query"] * 10
