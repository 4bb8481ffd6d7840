"""Slips of an hour: whoever wrote them, in whatever order they are read, they come to the same."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.foundation.dynamodb.items import pack, unpack
from chalicelib.statistics.call_counts import SERVICES, CallCounts, Service
from chalicelib.statistics.days import hours_of
from chalicelib.statistics.hourly_counters import KEPT_DAYS, HourlyCounters, counters_key, sum_by_service

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


def slip(events: list[Event]) -> HourlyCounters:
    made = HourlyCounters("ALPHGB21", HOUR)
    for at, service, what, milliseconds in events:
        tally = made.tally(at, service)
        if what == "call":
            tally.calls += 1
            made.latency(service).hub.add(milliseconds)
        elif what == "answered":
            tally.answered += 1
            made.record_answer(at)
            made.latency(service).bank.add(milliseconds)
        elif what == "unanswered":
            tally.unanswered += 1
            made.record_no_answer(at)
        elif what == "not_asked":
            tally.not_asked += 1
        else:
            tally.count_failure(what)  # type: ignore[arg-type]
    return made


@settings(deadline=None)
@given(EVENTS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_slips_of_several_instances_come_to_the_same_in_any_order(
    events: list[Event], instances: int, chance: random.Random
) -> None:
    shares: list[list[Event]] = [[] for _ in range(instances)]
    for event in events:
        chance.choice(shares).append(event)
    chance.shuffle(shares)
    total = HourlyCounters("ALPHGB21", HOUR)

    for share in shares:
        total.include(slip(share))

    assert total == slip(events)
    assert list(total.replies()) == list(slip(events).replies())


@settings(deadline=None)
@given(EVENTS)
def test_a_slip_that_was_stored_is_read_again(events: list[Event]) -> None:
    kept = slip(events)
    item = unpack(pack(kept.to_item("slip-1")))

    assert HourlyCounters.from_item(item) == kept
    assert (item["subject"], item["part"]) == ("calls#ALPHGB21#2026-11-22T09", "slip-1")
    assert item["expires_at"] == HOUR + KEPT_DAYS * 86_400


@settings(deadline=None)
@given(EVENTS)
def test_what_is_included_stays_as_it_is(events: list[Event]) -> None:
    one, other = slip(events), slip(events)

    one.include(other)
    one.include(other)

    assert other == slip(events)


def test_replies_are_told_second_by_second_in_order_of_time() -> None:
    made = HourlyCounters("ALPHGB21", HOUR)
    for at in (HOUR + 61, HOUR + 61, HOUR + 3599):
        made.record_no_answer(at)
    for at in (HOUR + 61, HOUR + 60, HOUR + 60):
        made.record_answer(at)

    assert list(made.replies()) == [(HOUR + 60, True, 0), (HOUR + 61, True, 2), (HOUR + 3599, False, 1)]


def test_a_second_with_answers_takes_one_bit_of_a_number_that_the_storage_keeps_exactly() -> None:
    made = HourlyCounters("ALPHGB21", HOUR)
    for second in range(3600):
        made.record_answer(HOUR + second)

    assert made.answered_in == dict.fromkeys(range(60), 2**60 - 1)
    assert HourlyCounters.from_item(unpack(pack(made.to_item("1")))) == made


def test_slips_stand_under_their_bank_and_hour() -> None:
    hours = hours_of(date(2026, 11, 22))

    assert counters_key("ALPHGB21", hours[0]) == ("subject", "calls#ALPHGB21#2026-11-22T00")
    assert counters_key("ALPHGB21", hours[-1]) == ("subject", "calls#ALPHGB21#2026-11-22T23")


def test_slips_are_added_up_by_service_whatever_hours_they_are_of() -> None:
    first, second = HourlyCounters("ALPHGB21", HOUR), HourlyCounters("ALPHGB21", HOUR + 3600)
    for each in (first, second):
        for minute in (0, 7):
            each.tally(each.hour + 60 * minute, "AISP").answered += 1
        each.latency("AISP").bank.add(5)
    second.tally(second.hour, "PISP").unanswered += 3
    tallies, latencies = sum_by_service(iter([first, second]))

    assert tallies == {"AISP": CallCounts(answered=4), "PISP": CallCounts(unanswered=3)}
    assert {service: each.bank.count for service, each in latencies.items()} == {"AISP": 2}
    assert first.tally(HOUR, "AISP").answered == 1, "what is added up stays as it is"
