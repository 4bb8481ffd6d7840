"""What banks have reported is kept by bank and day, and read back as it was told."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from chalicelib.statistics.daily_reports import OLDEST_DAYS, DailyReport, DayOutOfRange
from tests.statistics.made_up import ALPHA, BETA
from tests.world import START, World

TODAY = START.date()


def keep(world: World, bic: str, day: date, consent: int | None = 1, payment: int | None = 2) -> None:
    world.hub.store.transact([world.hub.statistics.reports.put_report(DailyReport(bic, day, consent, payment))])


def test_reports_are_read_by_bank_and_days_with_when_they_came(world: World) -> None:
    days = [TODAY - timedelta(days=ago) for ago in range(5)]
    for day in days:
        keep(world, BETA, day, consent=day.day, payment=None)
    keep(world, ALPHA, days[2])

    found = world.hub.statistics.reports.of_bank(BETA, days[3], days[1])

    now = world.clock.time()
    assert found == [DailyReport(BETA, day, day.day, None, now) for day in (days[3], days[2], days[1])]


def test_a_later_report_replaces_the_earlier_one_also_in_what_it_does_not_tell(world: World) -> None:
    keep(world, BETA, TODAY)
    world.clock.advance(60)
    keep(world, BETA, TODAY, consent=None, payment=0)

    (found,) = world.hub.statistics.reports.of_bank(BETA, TODAY, TODAY)

    assert found == DailyReport(BETA, TODAY, None, 0, world.clock.time())


def test_many_reports_are_read_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = world.hub.store.query
    for ago in range(3):
        keep(world, BETA, TODAY - timedelta(days=ago))
    monkeypatch.setattr(world.hub.store, "query", lambda *of, **options: real(*of, **options, limit=1))

    assert len(world.hub.statistics.reports.of_bank(BETA, TODAY - timedelta(days=9), TODAY)) == 3


@pytest.mark.parametrize("ago", [-400, -1, OLDEST_DAYS + 1, 4000])
def test_a_day_to_come_or_too_long_ago_is_refused(world: World, ago: int) -> None:
    with pytest.raises(DayOutOfRange, match="date must not be"):
        keep(world, BETA, TODAY - timedelta(days=ago))


@pytest.mark.parametrize("ago", [0, 1, OLDEST_DAYS])
def test_today_and_the_days_up_to_the_oldest_are_taken(world: World, ago: int) -> None:
    keep(world, BETA, TODAY - timedelta(days=ago))
