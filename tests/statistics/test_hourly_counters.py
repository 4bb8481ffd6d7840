"""Counters of an hour: the sum of several instances' counters does not depend on their order."""

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
from tests.statistics.bank_days import counters_of

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
def test_the_sum_of_counters_of_several_instances_does_not_depend_on_their_order(
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
def test_hourly_counters_are_unchanged_after_storage(events: list[Event]) -> None:
    kept = hourly(events)
    item = unpack(pack(kept.to_item("counters-1")))

    assert HourlyCounters.from_item(item) == kept
    assert (item["subject"], item["part"]) == ("calls#ALPHGB21#2026-11-22T09", "counters-1")
    assert item["expires_at"] == HOUR + RETENTION_DAYS * 86_400


@given(EVENTS)
def test_adding_counters_does_not_change_the_operands(events: list[Event]) -> None:
    one, other = hourly(events), hourly(events)

    one.include(other)
    one.include(other)

    assert other == hourly(events)


def test_responses_are_grouped_by_second_in_chronological_order() -> None:
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
"""The second of the day at which a request was sent (negative: the previous day), and whether the bank answered."""


def day_counters(replies: Iterable[Reply]) -> list[HourlyCounters]:
    return counters_of((MIDNIGHT + second, was_answered) for second, was_answered in replies)


def unanswered(*seconds: int) -> list[Reply]:
    return [(second, False) for second in seconds]


def answered(second: int) -> list[Reply]:
    return [(second, True)]


EVENING = unanswered(-50, -40, -30, -20, -10)
DOWNTIMES: dict[str, tuple[list[Reply], tuple[tuple[int, int], ...]]] = {
    "five failures, then an answer": (unanswered(100, 110, 120, 130, 140) + answered(500), ((100, 500),)),
    "seven failures, then an answer": (unanswered(100, 110, 120, 130, 140, 150, 499) + answered(500), ((100, 500),)),
    "four failures, then an answer": (unanswered(100, 110, 120, 130) + answered(500), ()),
    "four failures": (unanswered(100, 110, 120, 130), ()),
    "four failures twice": (unanswered(1, 2, 3, 4) + answered(5) + unanswered(6, 7, 8, 9) + answered(10), ()),
    "four failures, then five": (
        unanswered(1, 2, 3, 4) + answered(5) + unanswered(6, 7, 8, 9, 10) + answered(20),
        ((6, 20),),
    ),
    "an answer in the second of all failures": (unanswered(7, 7, 7, 7, 7, 7) + answered(7), ()),
    "an answer in the second of the last failure": (unanswered(1, 2, 3, 4, 5) + answered(5), ()),
    "failures in one second, then an answer": (unanswered(7, 7, 7, 7, 7) + answered(8), ((7, 8),)),
    "no later answer": (answered(0) + unanswered(86_395, 86_396, 86_397, 86_398, 86_399), ((86_395, END),)),
    "two downtimes": (
        unanswered(1, 2, 3, 4, 5) + answered(9) + unanswered(11, 12, 13, 14, 15) + answered(19),
        ((1, 9), (11, 19)),
    ),
    "failures in several hours": (unanswered(3000, 5000, 9000, 13_000, 20_000) + answered(30_000), ((3000, 30_000),)),
    "three failures the day before": (unanswered(-30, -20, -10, 5, 10) + answered(60), ((0, 60),)),
    "five failures the day before": (EVENING + answered(60), ((0, 60),)),
    "five failures the day before without an answer": (EVENING, ((0, END),)),
    "failures and an answer the day before": (EVENING + answered(-5), ()),
    "failures the day before and an answer at midnight": (EVENING + answered(0), ()),
    "no requests": ([], ()),
}


@pytest.mark.parametrize(("replies", "downtimes"), DOWNTIMES.values(), ids=DOWNTIMES)
def test_a_downtime_begins_with_five_consecutive_failures_and_ends_with_a_response(
    replies: list[Reply], downtimes: tuple[tuple[int, int], ...]
) -> None:
    assert downtime_spans(day_counters(replies), DAY) == downtimes


def test_consecutive_failures_at_different_instances_form_one_series() -> None:
    one = day_counters([*unanswered(100, 120, 140), (200, True)])
    other = day_counters(unanswered(110, 130))

    assert downtime_spans([*one, *other], DAY) == downtime_spans([*other, *one], DAY) == ((100, 200),)
    assert downtime_spans([*one, *other, *day_counters([(125, True)])], DAY) == ()


def test_failures_of_the_next_day_cause_no_downtime_on_the_previous_day() -> None:
    counters = day_counters(unanswered(86_390, 86_391, 86_392, 86_400, 86_401, 86_402))

    assert downtime_spans(counters, DAY) == ()
    assert downtime_spans(counters, date(2026, 3, 3)) == ((0, END),)


def test_a_day_without_requests_has_no_downtime() -> None:
    assert downtime_spans([HourlyCounters("ALPHGB21", MIDNIGHT)], DAY) == ()


def model(replies: Iterable[Reply]) -> list[int]:
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
    spans = downtime_spans(day_counters(replies), DAY)

    assert [second for since, until in spans for second in range(since, min(until, 100))] == model(replies)
    assert all(0 <= since < until <= END for since, until in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))


@given(st.lists(st.tuples(st.integers(-7200, END + 3600), st.booleans()), max_size=40), st.randoms())
def test_downtimes_do_not_depend_on_the_instances_or_the_order_of_their_counters(
    replies: list[Reply], chance: object
) -> None:
    counters = [hourly for reply in replies for hourly in day_counters([reply])]
    shuffled = list(counters)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert downtime_spans(shuffled, DAY) == downtime_spans(counters, DAY) == downtime_spans(day_counters(replies), DAY)


@pytest.mark.parametrize("count", range(1, 8))
def test_a_downtime_requires_at_least_five_failures(count: int) -> None:
    assert bool(downtime_spans(day_counters([*unanswered(*range(count)), (100, True)]), DAY)) == (count >= 5)
