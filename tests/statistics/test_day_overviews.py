"""Day overviews: the figures of all banks for a day, built from the day records and rebuilt after changes."""

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.dynamodb.store import Conflict, Item
from chalicelib.statistics import day_overviews, day_records
from chalicelib.statistics.call_counts import Histogram
from chalicelib.statistics.day_overviews import BankFigures, DayOverview, pack_histogram, unpack_histogram
from chalicelib.statistics.day_records import TABLE, DayRecord
from chalicelib.statistics.days import DayRange, hours_of
from tests.causeway import Causeway
from tests.statistics.bank_days import (
    ALPHA,
    BETA,
    DAY,
    advance_to,
    hourly,
    ingest,
    past_records,
    record,
    store_calls,
    summarize,
)

BOTH = (ALPHA, BETA)
BUCKETS = st.dictionaries(st.integers(0, 160), st.integers(1, 2**20), max_size=20)


def stored(causeway: Causeway, day: date = DAY) -> Item | None:
    return causeway.hub.store.get(TABLE, {"subject": "overview", "part": day.isoformat()})


def overview(causeway: Causeway, day: date = DAY) -> DayOverview:
    return day_overviews.read_overviews(causeway.hub.store, [day])[day]


def measured(
    causeway: Causeway, bic: str = ALPHA, day: date = DAY, answered: int = 9, unanswered: int = 0
) -> DayRecord:
    made = record(bic, day, hourly(bic, hours_of(day)[0], answered=answered, unanswered=unanswered))
    day_records.store_record(causeway.hub.store, made)
    return made


@given(one=BUCKETS, other=BUCKETS)
def test_histograms_in_packed_format_can_be_added(one: dict[int, int], other: dict[int, int]) -> None:
    together = Histogram(Counter(one))
    together.include(Histogram(Counter(other)))

    added = pack_histogram(Histogram(Counter(one))) + pack_histogram(Histogram(Counter(other)))

    assert unpack_histogram(added).buckets == together.buckets


def test_the_overview_figures_match_the_summary_on_the_bank_page(night: Causeway) -> None:
    days = list(past_records(ALPHA, DAY, 60))
    for each in days:
        day_records.store_record(night.hub.store, each)
    days[7] = replace(days[7], made_up=True)
    day_records.store_record(night.hub.store, days[7])
    day_overviews.build_overviews(night.hub.store, [each.day for each in days], BOTH)

    found = day_overviews.read_overviews(night.hub.store, [each.day for each in days])
    figures, summary = BankFigures.total(each.rows[ALPHA] for each in found.values()), summarize(days)

    assert figures.availability == summary.availability
    assert figures.error_rate == summary.total.error_rate
    assert figures.requests == summary.total.bank_requests
    assert figures.down_seconds == summary.down_seconds
    assert [figures.percentile(each) for each in (50, 95, 99)] == [
        summary.latency.bank.percentile(each) for each in (50, 95, 99)
    ]
    assert (figures.days, figures.used_days, figures.made_up_days) == (60, 58, 1)


def test_an_overview_of_no_days_has_no_figures() -> None:
    figures = BankFigures.total([])

    assert figures == BankFigures()
    assert {figures.availability, figures.error_rate, figures.percentile(95)} == {None}


def test_a_stored_overview_of_100_banks_is_small_and_loaded_unchanged() -> None:
    row = (1, 1, 0, 60, 1000, 3, pack_histogram(Histogram(Counter({bucket: 40 + bucket for bucket in range(40, 65)}))))
    made = DayOverview({f"X{number:05}GB": row for number in range(100)}, revision=3)

    item = made.to_item(DAY)

    assert DayOverview.from_item(item) == made
    assert len(item["rows"]) < 20_000
    assert (item["subject"], item["part"]) == ("overview", "2026-03-03")


def test_the_nightly_ingest_builds_the_overviews_of_its_days(night: Causeway) -> None:
    store_calls(night.hub.store, ALPHA, DAY, answered=["10:00:00"])

    ingest(night)

    rows = overview(night).rows
    assert set(rows) == set(BOTH)
    assert (BankFigures(*rows[ALPHA]).requests, BankFigures(*rows[BETA]).requests) == (1, 0)
    assert BankFigures(*rows[BETA]).availability is None


def test_the_nightly_ingest_builds_missing_overviews_of_existing_records(night: Causeway) -> None:
    store_calls(night.hub.store, ALPHA, DAY, answered=["10:00:00"])
    ingest(night)
    for day in (DAY - timedelta(days=1), DAY):
        night.hub.store.delete(TABLE, {"subject": "overview", "part": day.isoformat()})
    advance_to(night, DAY + timedelta(days=60))
    assert day_overviews.read_overviews(night.hub.store, [DAY]) == {}

    ingest(night)

    assert BankFigures(*overview(night).rows[ALPHA]).requests == 1
    assert set(day_overviews.read_overviews(night.hub.store, DayRange(DAY - timedelta(days=9), DAY))) == {
        DAY - timedelta(days=1),
        DAY,
    }


def test_the_next_nightly_ingest_updates_the_overview_of_a_changed_record(night: Causeway) -> None:
    ingest(night)
    advance_to(night, DAY + timedelta(days=30))
    measured(night, answered=5)

    ingest(night)

    assert BankFigures(*overview(night).rows[ALPHA]).requests == 5


def test_an_unchanged_overview_is_not_written_again(night: Causeway) -> None:
    measured(night)
    day_overviews.build_overviews(night.hub.store, [DAY], BOTH)
    before = stored(night)

    with night.storage_gone("put"):
        day_overviews.build_overviews(night.hub.store, [DAY], BOTH)

    assert stored(night) == before
    assert before is not None
    assert before["revision"] == 1


def test_parallel_builds_of_an_overview_include_the_records_of_both_builds(night: Causeway) -> None:
    measured(night, ALPHA)

    def other() -> None:
        measured(night, BETA, answered=4)
        day_overviews.build_overviews(night.hub.store, [DAY], BOTH)

    with night.meanwhile("put", other):
        day_overviews.build_overviews(night.hub.store, [DAY], BOTH)

    assert {bic: BankFigures(*row).requests for bic, row in overview(night).rows.items()} == {ALPHA: 9, BETA: 4}


def test_an_overview_build_that_is_superseded_in_every_attempt_raises_conflict(night: Causeway) -> None:
    revisions = itertools.count(1)

    def superseded(put: Callable[..., None], *arguments: Any) -> None:
        put(TABLE, DayOverview({}, next(revisions)).to_item(DAY))
        put(*arguments)

    measured(night)

    with (
        night.replace_method("put", superseded),
        pytest.raises(Conflict, match="the overviews of 1 days kept changing"),
    ):
        day_overviews.build_overviews(night.hub.store, [DAY], BOTH)


def test_availability_counts_only_days_with_requests(night: Causeway) -> None:
    measured(night, unanswered=10)
    day_records.store_record(night.hub.store, record(ALPHA, DAY + timedelta(days=1)))
    days = DayRange(DAY, DAY + timedelta(days=1))
    day_overviews.build_overviews(night.hub.store, days, BOTH)

    found = day_overviews.read_overviews(night.hub.store, days)
    figures = BankFigures.total(each.rows[ALPHA] for each in found.values())

    assert (figures.days, figures.used_days, figures.availability) == (2, 1, Decimal("99.988"))
