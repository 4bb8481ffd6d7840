"""Slips of an hour: whoever wrote them, in whatever order they are read, they come to the same."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.dynamodb.items import pack, unpack
from chalicelib.statistics.call_counts import (
    RETENTION_DAYS,
    SERVICES,
    CallCounts,
    HourlyCounters,
    Service,
    counters_key,
)
from chalicelib.statistics.days import hours_of
from chalicelib.statistics.hourly_counters import downtime_spans, sum_by_service

HOUR = int(datetime(2026, 11, 22, 9, tzinfo=UTC).timestamp())
Event = tuple[int, Service, str, float]
EVENTS = st.lists(
    st.tuples(
        st.integers(HOUR, HOUR + 3599),
        st.sampled_from(SERVICES),
        st.sampled_from(["call", "answered", "unanswered", "not_asked", "bank", "caller", "hub"]),
        st.floats(0, 20_000),
    ),
    max_size=30,
)


def hourly(events: list[Event]) -> HourlyCounters:
    made = HourlyCounters("ALPHGB21", HOUR)
    for at, service, what, milliseconds in events:
        if what == "call":
            made.count_call(at, service, milliseconds)
        elif what in ("answered", "unanswered", "not_asked"):
            made.count_request(at, service, what, milliseconds if what == "answered" else None)  # type: ignore[arg-type]
        else:
            made.tally(at, service).count_failure(what)  # type: ignore[arg-type]
    return made


@given(EVENTS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_counters_of_several_instances_add_up_to_the_same_total_in_any_order(
    events: list[Event], instances: int, chance: random.Random
) -> None:
    shares: list[list[Event]] = [[] for _ in range(instances)]
    for event in events:
        chance.choice(shares).append(event)
    chance.shuffle(shares)
    total = HourlyCounters("ALPHGB21", HOUR)

    for share in shares:
        total.include(hourly(share))

    assert total == hourly(events)
    assert list(total.replies()) == list(hourly(events).replies())


@given(EVENTS)
def test_stored_counters_are_read_unchanged(events: list[Event]) -> None:
    kept = hourly(events)
    item = unpack(pack(kept.to_item("counters-1")))

    assert HourlyCounters.from_item(item) == kept
    assert (item["subject"], item["part"]) == ("calls#ALPHGB21#2026-11-22T09", "counters-1")
    assert item["expires_at"] == HOUR + RETENTION_DAYS * 86_400


@given(EVENTS)
def test_adding_counters_does_not_change_the_added_ones(events: list[Event]) -> None:
    one, other = hourly(events), hourly(events)

    one.include(other)
    one.include(other)

    assert other == hourly(events)


def test_replies_are_grouped_by_second_in_order_of_time() -> None:
    made = HourlyCounters("ALPHGB21", HOUR)
    for at in (HOUR + 61, HOUR + 61, HOUR + 3599):
        made.count_request(at, "AISP", "unanswered")
    for at in (HOUR + 61, HOUR + 60, HOUR + 60):
        made.count_request(at, "AISP", "answered")

    assert list(made.replies()) == [(HOUR + 60, True, 0), (HOUR + 61, True, 2), (HOUR + 3599, False, 1)]


def test_the_answered_seconds_of_a_minute_are_stored_as_60_bits_without_loss() -> None:
    made = HourlyCounters("ALPHGB21", HOUR)
    for second in range(3600):
        made.count_request(HOUR + second, "AISP", "answered")

    assert made.answered_in == dict.fromkeys(range(60), 2**60 - 1)
    assert HourlyCounters.from_item(unpack(pack(made.to_item("1")))) == made


def test_the_key_of_counters_contains_their_bank_and_hour() -> None:
    hours = hours_of(date(2026, 11, 22))

    assert counters_key("ALPHGB21", hours[0]) == ("subject", "calls#ALPHGB21#2026-11-22T00")
    assert counters_key("ALPHGB21", hours[-1]) == ("subject", "calls#ALPHGB21#2026-11-22T23")


def test_counters_of_several_hours_are_summed_by_service() -> None:
    first, second = HourlyCounters("ALPHGB21", HOUR), HourlyCounters("ALPHGB21", HOUR + 3600)
    for each in (first, second):
        for minute in (0, 7):
            each.tally(each.hour + 60 * minute, "AISP").answered += 1
        each.latencies["AISP"].bank.add(5)
    second.tally(second.hour, "PISP").unanswered += 3
    tallies, latencies = sum_by_service(iter([first, second]))

    assert tallies == {"AISP": CallCounts(answered=4), "PISP": CallCounts(unanswered=3)}
    assert {service: each.bank.count for service, each in latencies.items()} == {"AISP": 2}
    assert first.tally(HOUR, "AISP").answered == 1, "what is added up stays as it is"


DAY = date(2026, 3, 2)
MIDNIGHT = hours_of(DAY)[0]
END = 86_400
Reply = tuple[int, bool]
"""The second of the day that a request was sent in (below 0: of the day before), and whether it was answered."""


def counters_of(replies: Iterable[Reply]) -> list[HourlyCounters]:
    """Slips of one instance that saw all this."""
    counters: dict[int, HourlyCounters] = {}
    for second, was_answered in replies:
        at = MIDNIGHT + second
        hourly = counters.setdefault(at - at % 3600, HourlyCounters("ALPHGB21", at - at % 3600))
        hourly.count_request(at, "AISP", "answered" if was_answered else "unanswered")
    return list(counters.values())


def down(*replies: Reply) -> tuple[tuple[int, int], ...]:
    return downtime_spans(counters_of(replies), DAY)


def silence(*seconds: int) -> list[Reply]:
    return [(second, False) for second in seconds]


def test_five_consecutive_failures_are_a_downtime_from_the_first_to_the_next_answer() -> None:
    assert down(*silence(100, 110, 120, 130, 140), (500, True)) == ((100, 500),)
    assert down(*silence(100, 110, 120, 130, 140, 150, 499), (500, True)) == ((100, 500),)


def test_four_consecutive_failures_are_no_downtime() -> None:
    assert down(*silence(100, 110, 120, 130), (500, True)) == ()
    assert down(*silence(100, 110, 120, 130)) == ()


def test_an_answer_resets_the_count_of_consecutive_failures() -> None:
    assert down(*silence(1, 2, 3, 4), (5, True), *silence(6, 7, 8, 9), (10, True)) == ()
    assert down(*silence(1, 2, 3, 4), (5, True), *silence(6, 7, 8, 9, 10), (20, True)) == ((6, 20),)


def test_an_answer_in_the_same_second_as_failures_resets_their_count() -> None:
    assert down(*silence(7, 7, 7, 7, 7, 7), (7, True)) == ()
    assert down(*silence(1, 2, 3, 4, 5), (5, True)) == ()
    assert down(*silence(7, 7, 7, 7, 7), (8, True)) == ((7, 8),)


def test_a_downtime_without_a_later_answer_lasts_until_midnight() -> None:
    assert down((0, True), *silence(86_395, 86_396, 86_397, 86_398, 86_399)) == ((86_395, END),)


def test_a_day_can_have_several_downtimes() -> None:
    assert down(*silence(1, 2, 3, 4, 5), (9, True), *silence(11, 12, 13, 14, 15), (19, True)) == ((1, 9), (11, 19))


def test_a_series_of_failures_continues_across_hours() -> None:
    assert down(*silence(3000, 5000, 9000, 13_000, 20_000), (30_000, True)) == ((3000, 30_000),)


def test_the_failures_of_all_instances_form_one_series() -> None:
    one = counters_of([*silence(100, 120, 140), (200, True)])
    other = counters_of(silence(110, 130))

    assert downtime_spans([*one, *other], DAY) == downtime_spans([*other, *one], DAY) == ((100, 200),)
    assert downtime_spans([*one, *other, *counters_of([(125, True)])], DAY) == ()


def test_a_downtime_that_began_the_day_before_counts_from_midnight() -> None:
    assert down(*silence(-30, -20, -10, 5, 10), (60, True)) == ((0, 60),)
    assert down(*silence(-50, -40, -30, -20, -10), (60, True)) == ((0, 60),)
    assert down(*silence(-50, -40, -30, -20, -10)) == ((0, END),)
    assert down(*silence(-50, -40, -30, -20, -10), (-5, True)) == ()
    assert down(*silence(-50, -40, -30, -20, -10), (0, True)) == ()


def test_failures_of_the_next_day_cause_no_downtime_on_the_day_before() -> None:
    early = counters_of(silence(86_390, 86_391, 86_392))
    late = counters_of(silence(86_400, 86_401, 86_402))

    assert downtime_spans([*early, *late], DAY) == ()
    assert downtime_spans([*early, *late], date(2026, 3, 3)) == ((0, END),)


def test_a_day_without_requests_has_no_downtime() -> None:
    assert downtime_spans([], DAY) == ()
    assert downtime_spans([HourlyCounters("ALPHGB21", MIDNIGHT)], DAY) == ()


def model(replies: Iterable[Reply]) -> list[int]:
    """The seconds of the day that it was down in, looked at one by one."""
    seen = list(replies)
    answered = {second for second, was_answered in seen if was_answered}
    series: list[int] = []
    found: set[int] = set()
    for second in range(min((second for second, _ in seen), default=0), 100):
        if second in answered:
            series = []
        else:
            series += [second] * sum(each == (second, False) for each in seen)
        if len(series) >= 5:
            found |= set(range(series[0], second + 1))
    return sorted(second for second in found if second >= 0)


near_midnight = st.lists(st.tuples(st.integers(-40, 60), st.booleans() | st.just(False)), max_size=40)


@given(near_midnight)
def test_downtimes_match_a_model_that_checks_every_second(replies: list[Reply]) -> None:
    spans = downtime_spans(counters_of(replies), DAY)

    assert [second for since, until in spans for second in range(since, min(until, 100))] == model(replies)
    assert all(0 <= since < until <= END for since, until in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))


@given(st.lists(st.tuples(st.integers(-7200, END + 3600), st.booleans()), max_size=40), st.randoms())
def test_downtimes_do_not_depend_on_the_instances_or_the_order_of_their_counters(
    replies: list[Reply], chance: object
) -> None:
    counters = [hourly for reply in replies for hourly in counters_of([reply])]
    shuffled = list(counters)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert downtime_spans(shuffled, DAY) == downtime_spans(counters, DAY) == downtime_spans(counters_of(replies), DAY)


@pytest.mark.parametrize("count", range(1, 8))
def test_a_downtime_takes_at_least_five_failures(count: int) -> None:
    assert bool(down(*silence(*range(count)), (100, True))) == (count >= 5)
