"""A bank that hangs takes few instances: simulated with the figures of docs/deployment.md, Limits, in virtual time."""

from __future__ import annotations

from functools import partial

import pytest

from chalicelib.statistics.downtimes import PROBE_SECONDS
from chalicelib.statistics.slow_calls import SLOTS
from tests.openbanking.bank_client.fleet import HANGING_RATE, Figures, Fleet, OwnBreaker, SharedCircuits

MINUTES = 10
TARGET = 1.0
"""The percentage of the others' requests that may be throttled."""


@pytest.fixture(scope="module")
def hanging() -> Figures:
    """A bank that hangs all the time."""
    return Fleet(partial(SharedCircuits, knows_downtimes=True)).run(MINUTES)


def test_breaker_of_each_instance_alone_lets_a_hanging_bank_throttle_other_requests() -> None:
    figures = Fleet(lambda clock, store: OwnBreaker(clock)).run(MINUTES)

    assert figures.percent_throttled > 10 * TARGET


def test_hanging_bank_throttles_less_than_1_percent_of_other_requests(hanging: Figures) -> None:
    assert hanging.percent_throttled < TARGET
    assert max(map(hanging.percent_throttled_in, hanging.others)) < TARGET
    assert hanging.given_up > SLOTS


def test_slow_call_limit_keeps_the_throttling_target_without_known_downtimes() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=False)).run(MINUTES // 2)

    assert max(map(figures.percent_throttled_in, figures.others)) < TARGET


def test_payments_among_slow_calls_keep_the_throttling_target() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=True), payments=0.2).run(MINUTES // 2)

    assert figures.percent_throttled < TARGET


def test_known_downtime_limits_all_instances_to_one_probe_in_30_s(hanging: Figures) -> None:
    known = [at for at in hanging.sent if at >= 120]
    assert len(known) <= (MINUTES - 2) * 60 / PROBE_SECONDS + 1


def test_calls_resume_within_90_seconds_of_the_first_response_of_a_bank() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=True), hangs_until=240, others_rate=1).run(MINUTES)

    resumed = [at for at in figures.answered if at >= 240 + PROBE_SECONDS + 90]
    assert len(resumed) > 0.9 * HANGING_RATE * (MINUTES * 60 - 240 - PROBE_SECONDS - 90)
