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


def test_a_breaker_of_each_instance_alone_lets_a_hanging_bank_throttle_the_others() -> None:
    figures = Fleet(lambda clock, store: OwnBreaker(clock)).run(MINUTES)

    assert figures.percent_throttled > 10 * TARGET


def test_while_a_bank_hangs_less_than_1_percent_of_the_others_are_throttled(hanging: Figures) -> None:
    assert hanging.percent_throttled < TARGET
    assert max(map(hanging.percent_throttled_in, hanging.others)) < TARGET
    assert hanging.given_up > SLOTS


def test_the_limit_of_slow_calls_suffices_while_no_downtime_is_known() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=False)).run(MINUTES // 2)

    assert max(map(figures.percent_throttled_in, figures.others)) < TARGET


def test_payments_among_the_calls_are_not_given_up_and_keep_the_target() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=True), payments=0.2).run(MINUTES // 2)

    assert figures.percent_throttled < TARGET


def test_once_all_instances_know_a_downtime_the_bank_gets_one_probe_in_30_s(hanging: Figures) -> None:
    known = [at for at in hanging.sent if at >= 120]
    assert len(known) <= (MINUTES - 2) * 60 / PROBE_SECONDS + 1


def test_calls_resume_within_a_minute_and_a_half_of_a_banks_first_answer() -> None:
    figures = Fleet(partial(SharedCircuits, knows_downtimes=True), hangs_until=240, others_rate=1).run(MINUTES)

    resumed = [at for at in figures.answered if at >= 240 + PROBE_SECONDS + 90]
    assert len(resumed) > 0.9 * HANGING_RATE * (MINUTES * 60 - 240 - PROBE_SECONDS - 90)
