"""Average response times of the last completed day that has a record."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from chalicelib.statistics import day_records
from chalicelib.statistics.days import hours_of
from chalicelib.statistics.response_times import ResponseTimes
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.statistics.bank_days import ALPHA, BETA, hourly, record


@pytest.fixture
def times(causeway: Causeway) -> ResponseTimes:
    return ResponseTimes(causeway.hub.store, causeway.clock)


def yesterday(causeway: Causeway, ago: int = 1) -> date:
    return causeway.clock.now().date() - timedelta(days=ago)


def has_record(causeway: Causeway, bic: str, day: date, *milliseconds: float) -> None:
    counters = [hourly(bic, hours_of(day)[number], answered=1, bank=each) for number, each in enumerate(milliseconds)]
    day_records.store_record(causeway.hub.store, record(bic, day, *counters))


def test_the_average_of_yesterday_is_rounded_to_milliseconds(causeway: Causeway, times: ResponseTimes) -> None:
    has_record(causeway, ALPHA, yesterday(causeway), 100, 101)
    has_record(causeway, ALPHA, yesterday(causeway, 2), 500)
    has_record(causeway, BETA, yesterday(causeway), 100.449)

    assert times.of_banks([ALPHA, BETA]) == {ALPHA: 101, BETA: 100}


def test_the_day_before_yesterday_is_used_until_yesterday_is_recorded(causeway: Causeway, times: ResponseTimes) -> None:
    has_record(causeway, ALPHA, yesterday(causeway, 2), 500)
    has_record(causeway, ALPHA, yesterday(causeway, 3), 900)
    assert times.of_banks([ALPHA]) == {ALPHA: 500}

    has_record(causeway, ALPHA, yesterday(causeway), 200)
    causeway.clock.advance(599)
    assert times.of_banks([ALPHA]) == {ALPHA: 500}
    causeway.clock.advance(1)
    assert times.of_banks([ALPHA]) == {ALPHA: 200}


def test_a_day_without_responses_has_no_average(causeway: Causeway, times: ResponseTimes) -> None:
    has_record(causeway, ALPHA, yesterday(causeway))
    has_record(causeway, ALPHA, yesterday(causeway, 2), 500)

    assert times.of_banks([ALPHA, BETA]) == {ALPHA: None, BETA: None}


def test_synthetic_records_do_not_count_for_response_times(causeway: Causeway, times: ResponseTimes) -> None:
    for ago, milliseconds in ((1, 900), (2, 500)):
        has_record(causeway, ALPHA, yesterday(causeway, ago), milliseconds)
        has_record(causeway, BETA, yesterday(causeway, ago), milliseconds)
    for bic, ago in ((ALPHA, 1), (BETA, 1), (BETA, 2)):
        (found,) = day_records.records_of_bank(
            causeway.hub.store, bic, yesterday(causeway, ago), yesterday(causeway, ago)
        )
        day_records.store_record(causeway.hub.store, replace(found, made_up=True))

    assert times.of_banks([ALPHA, BETA]) == {ALPHA: 500, BETA: None}


def test_a_day_record_for_response_times_is_read_once_a_day(causeway: Causeway, times: ResponseTimes) -> None:
    has_record(causeway, ALPHA, yesterday(causeway), 100)
    with record_calls(causeway) as calls:
        times.of_banks([ALPHA])
        causeway.clock.advance(14 * 3600)
        times.of_banks([ALPHA])
    assert calls == ["BatchGetItem"]

    causeway.clock.advance(3600)
    with record_calls(causeway) as calls:
        assert times.of_banks([ALPHA]) == {ALPHA: 100}
    assert calls == ["BatchGetItem", "BatchGetItem"]


def test_the_response_times_of_100_banks_require_one_storage_read_per_day(
    causeway: Causeway, times: ResponseTimes
) -> None:
    bics = [f"BANK{number:04}"[:8] for number in range(100)]

    with record_calls(causeway) as calls:
        times.of_banks(bics)

    assert calls == ["BatchGetItem", "BatchGetItem"]
