"""What the page of performance reads: days that are over, and today so far."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.foundation.store import Page
from chalicelib.statistics.day_records import DAY_SECONDS, DayRecord
from chalicelib.statistics.performance import CACHED_SECONDS, Figures, Today, summary
from chalicelib.statistics.slips import hours_of
from chalicelib.statistics.tallies import Latencies, Tally
from tests.website.measured import keeping, record, slip
from tests.world import World

BIC, OTHER = "ALPHGB21", "ALPHGB21XXX"
TODAY = date(2026, 3, 2)
HOURS = hours_of(TODAY)
"""The world's clock begins at 09:00."""


def today(world: World, bic: str = BIC) -> Today:
    return world.hub.performance.today(bic)


def kept(world: World, *slips: Any) -> None:
    world.hub.store.transact([keeping(each, number) for number, each in enumerate(slips)])


# -- days


def test_days_are_those_of_one_bank_in_their_order_with_both_ends(world: World) -> None:
    days = [date(2025, 12, 30) + timedelta(days=number) for number in range(5)]
    made = [record(bic, day, name=bic) for bic in (BIC, OTHER) for day in reversed(days)]
    world.hub.store.transact([each.keeping() for each in made])

    found = world.hub.performance.days(BIC, days[1], days[3])

    assert [(each.bic, each.day) for each in found] == [(BIC, day) for day in days[1:4]]


def test_several_days_are_added_up_and_what_nobody_asked_for_is_not_up() -> None:
    seconds = DAY_SECONDS // 100
    busy, bad, quiet = (DayRecord(BIC, "A bank", TODAY + timedelta(days=number)) for number in range(3))
    busy.tallies["AISP"] = Tally(calls=3, answered=3)
    bad = DayRecord(BIC, "A bank", bad.day, {"PISP": Tally(calls=1, unanswered=1, bank=1)}, {}, ((0, seconds),))
    found = summary([busy, bad, quiet])

    assert (found.availability, found.downtime) == (Decimal("99.500"), seconds)
    assert (found.error_rate, found.total.asked) == (Decimal("25.000"), 4)
    assert summary([quiet]) == Figures(0, 0, Tally(), Latencies())
    assert [summary([]).availability, summary([]).downtime, summary([]).error_rate] == [None] * 3


# -- today


def test_today_is_what_all_instances_counted_since_midnight(world: World) -> None:
    kept(
        world,
        slip(BIC, HOURS[0] - 3600, answered=7),
        slip(BIC, HOURS[0], answered=5, bank=100, hub=2),
        slip(BIC, HOURS[9], answered=3, bank=900, hub=8),
        slip(BIC, HOURS[9], answered=1, bank=900, hub=8),
        slip(OTHER, HOURS[1], answered=11),
    )
    found = today(world)

    assert found.is_whole
    assert found.figures.total == Tally(calls=9, answered=9)
    assert (found.figures.latency.bank.count, found.figures.latency.hub.percentile(50)) == (9, Decimal("2.0"))
    assert (found.figures.availability, found.figures.downtime) == (Decimal("100.000"), 0)


def test_an_outage_that_goes_on_lasts_until_now(world: World) -> None:
    kept(world, slip(BIC, HOURS[6], unanswered=5))
    found = today(world)

    assert found.figures.downtime == 3 * 3600
    assert found.figures.availability == Decimal("66.667")


def test_of_a_bank_that_nobody_asked_nothing_is_known(world: World) -> None:
    found = today(world)

    assert (found.is_whole, found.figures.total) == (True, Tally())
    assert [found.figures.availability, found.figures.downtime, found.figures.error_rate] == [None] * 3


def test_today_is_read_once_a_minute(world: World) -> None:
    first = today(world)
    kept(world, slip(BIC, HOURS[9], answered=1))
    world.clock.advance(CACHED_SECONDS - 1)
    assert today(world) is first

    world.clock.advance(1)
    assert today(world).figures.total.calls == 1


def test_at_midnight_a_new_day_begins(world: World) -> None:
    kept(world, slip(BIC, HOURS[23], answered=1))
    world.clock.advance(15 * 3600 - 1)
    assert today(world).figures.total.calls == 1

    world.clock.advance(1)
    assert today(world).figures == Figures()


def test_from_a_part_of_the_slips_nobody_can_tell_whether_the_bank_was_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(world, slip(BIC, HOURS[8], answered=2), slip(BIC, HOURS[9], answered=1))
    real = world.hub.store.query

    def cut_off(table: str, partition: tuple[str, Any], **options: Any) -> Page:
        page = real(table, partition, **options)
        return Page(page.items, page.items[-1] if page.items and partition[1].endswith("T08") else None)

    monkeypatch.setattr(world.hub.store, "query", cut_off)
    found = today(world)

    assert (found.is_whole, found.figures.total.calls) == (False, 3)
    assert (found.figures.availability, found.figures.error_rate) == (None, Decimal("0.000"))
