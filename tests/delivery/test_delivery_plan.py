"""Tests of delivery plans, which determine the attempt times of a delivery."""

from itertools import pairwise

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery.delivery_plan import DAY, MINUTE, postponement, wait_after
from chalicelib.foundation.aws.queues import Queue
from tests.delivery.conftest import RETRY_DELAYS

DRAWN = 200
"""The number of samples of a time with jitter."""


@pytest.mark.parametrize("kind", ["revoke_token", "event"])
def test_notifications_have_the_specified_number_of_attempts_and_are_stored_for_30_days(kind: str) -> None:
    plan = PLANS[kind]

    assert plan.waits == RETRY_DELAYS
    assert (plan.lifetime, plan.retention, plan.has_caller) == (30 * DAY, 30 * DAY, False)
    assert plan.lifetime > 2 * sum(RETRY_DELAYS), "a receiver that asks for time at every attempt loses none"


def test_a_relayed_call_ends_after_5_minutes_and_a_payment_is_retried_at_most_once() -> None:
    assert sum(PLANS["relay"].waits) <= PLANS["relay"].lifetime == 5 * MINUTE
    assert (PLANS["payment"].waits, PLANS["payment"].lifetime) == ((5,), 5 * MINUTE)


@pytest.mark.parametrize("kind", ["relay", "payment"])
def test_results_fetched_by_a_tpp_are_stored_for_one_day(kind: str) -> None:
    assert (PLANS[kind].retention, PLANS[kind].has_caller) == (DAY, True)


@pytest.mark.parametrize(("kind", "slot"), [(kind, slot) for kind in PLANS for slot in range(len(PLANS[kind].waits))])
def test_the_jitter_changes_a_wait_by_at_most_20_percent(kind: str, slot: int) -> None:
    plan = PLANS[kind]
    decided = plan.waits[slot]
    waits = {wait_after(plan, slot + 1, None) for _ in range(DRAWN)}

    assert all(wait is not None and 0.8 * decided <= wait <= 1.2 * decided for wait in waits)
    assert len(waits) > min(2, 0.3 * decided)


@pytest.mark.parametrize("kind", PLANS)
def test_the_last_attempt_is_not_retried_even_if_the_response_has_a_retry_after_header(kind: str) -> None:
    attempts = len(PLANS[kind].waits) + 1

    assert wait_after(PLANS[kind], attempts, None) is None
    assert wait_after(PLANS[kind], attempts, 60) is None


@pytest.mark.parametrize(
    ("asked", "waited"),
    [(None, 300), (0, 300), (10, 300), (301, 301), (450, 450), (600, 600), (601, 600), (86_400, 600)],
)
@pytest.mark.usefixtures("exact")
def test_retry_after_extends_a_wait_to_at_most_twice_the_planned_length(asked: int | None, waited: int) -> None:
    assert wait_after(PLANS["event"], 2, asked) == waited


def test_the_wait_before_every_retry_is_at_least_one_second_long() -> None:
    assert min(postponement(PLANS["event"], 0, None) for _ in range(DRAWN)) >= 1
    assert min(wait_after(PLANS["relay"], 1, None) or 0 for _ in range(DRAWN)) >= 1


@pytest.mark.parametrize(("kind", "longest"), [("relay", 60), ("payment", 60), ("event", 720), ("revoke_token", 720)])
@pytest.mark.usefixtures("exact")
def test_the_delay_of_a_deferred_delivery_increases_with_its_age_up_to_a_maximum(kind: str, longest: int) -> None:
    delays = [postponement(PLANS[kind], age, None) for age in (0, 1, 10, 20, 60, 100, 240, 2880, 10 * DAY)]

    assert delays == [2, 2, 2, 5, 15, 25, 60, longest, longest]
    assert all(shorter <= longer for shorter, longer in pairwise(delays))


@pytest.mark.usefixtures("exact")
def test_a_deferred_delivery_waits_for_retry_after_up_to_the_maximum_of_its_plan() -> None:
    asked = (None, 0, 1, 30, 60, 3600)

    assert [postponement(PLANS["relay"], 0, seconds) for seconds in asked] == [2, 2, 2, 30, 60, 60]
    assert postponement(PLANS["event"], 0, 3600) == 720


@pytest.mark.parametrize("kind", PLANS)
def test_a_deferred_delivery_waits_no_longer_than_the_longest_queue_delay(kind: str) -> None:
    assert max(postponement(PLANS[kind], 10 * DAY, None) for _ in range(DRAWN)) <= Queue.LONGEST_DELAY
