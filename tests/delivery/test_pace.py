"""Pace: a receiver that hangs delays nobody else, shown by counts in simulated time."""

from __future__ import annotations

import random

import pytest

from chalicelib.delivery import delivery_plan, receiver_slots
from chalicelib.delivery.receiver_slots import SLOTS, WORKERS
from chalicelib.foundation import log
from infra.local.event_runner import POLLERS
from tests.delivery.simulation import Simulation

GOOD, SLOW, DEAD = "good", "slow", "dead-{}"
SECONDS = {GOOD: 0.25, SLOW: 20.0}
COUNT = 200
"""So many deliveries are queued for each receiver at the beginning, one for each in turn."""


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same jitter, slots and order in every run; and nothing is logged."""
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    monkeypatch.setattr(delivery_plan, "random", random.Random(2026))
    monkeypatch.setattr(receiver_slots, "random", random.Random(2026))
    for name in ("info", "warning"):
        monkeypatch.setattr(log, name, lambda event, **members: None)


def simulated(seconds: dict[str, float], until: float, workers: int = POLLERS) -> Simulation:
    simulation = Simulation(seconds, workers)
    simulation.record(COUNT)
    simulation.run(until)
    return simulation


def test_a_bank_that_answers_after_20_seconds_does_not_slow_down_another() -> None:
    alone = simulated({GOOD: SECONDS[GOOD]}, 60)
    beside = simulated(SECONDS, 60)

    assert alone.taken(GOOD) == beside.taken(GOOD) == COUNT
    assert len(beside.pace(GOOD)) <= len(alone.pace(GOOD))
    assert sum(beside.pace(GOOD)[:10]) >= 0.9 * sum(alone.pace(GOOD)[:10])
    assert min(beside.pace(GOOD)[:10]) >= 0.8 * sum(alone.pace(GOOD)[:10]) / 10


def test_a_slow_bank_occupies_all_workers_without_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    with_slots = simulated(SECONDS, 60)
    monkeypatch.setattr(receiver_slots, "SLOTS", 1000)
    without = simulated(SECONDS, 60)

    assert with_slots.taken(GOOD) == COUNT
    assert without.taken(GOOD) < COUNT / 4
    assert without.pace(GOOD)[1:20].count(0) > 15, "for most of the time nothing arrives"
    assert without.most[SLOW] == POLLERS


def test_a_slow_bank_receives_all_its_deliveries_at_its_own_pace() -> None:
    simulation = simulated(SECONDS, 2400)

    assert simulation.taken(SLOW) == COUNT
    assert simulation.most[SLOW] == SLOTS
    assert len(simulation.pace(SLOW)) <= 1.5 * COUNT / SLOTS * SECONDS[SLOW]


@pytest.mark.parametrize("dead", [1, 3])
def test_dead_receivers_do_not_slow_down_another_while_four_workers_are_free(dead: int) -> None:
    workers = SLOTS * (dead + 1)
    hanging = {DEAD.format(number): 20.0 for number in range(dead)}
    simulation = simulated(hanging | {GOOD: SECONDS[GOOD]}, 60, workers)

    assert simulation.taken(GOOD) == COUNT
    assert sum(simulation.pace(GOOD)[:10]) >= 0.5 * 10 * SLOTS / SECONDS[GOOD]
    assert all(simulation.most[name] == SLOTS for name in hanging)


def test_dead_receivers_on_all_workers_delay_another_by_their_first_timeouts_only() -> None:
    hanging = {DEAD.format(number): 20.0 for number in range(3)}
    simulation = simulated(hanging | {GOOD: SECONDS[GOOD]}, 120, workers=SLOTS * len(hanging))

    assert simulation.taken(GOOD) == COUNT
    assert len(simulation.pace(GOOD)) <= 60
    assert sum(simulation.pace(GOOD)[21:31]) >= 0.5 * 10 * SLOTS / SECONDS[GOOD]


def test_a_burst_to_one_receiver_uses_at_most_its_slots_with_100_workers() -> None:
    simulation = simulated({GOOD: SECONDS[GOOD]}, 120, workers=100)

    assert (simulation.taken(GOOD), simulation.most[GOOD]) == (COUNT, SLOTS)


BACKLOG, FAST, OTHER = 10_000, "fast", "other"


def test_a_backlog_of_one_receiver_drains_linearly_while_another_receives_its_event() -> None:
    short, long = (Simulation({FAST: 0.05, OTHER: 0.05}, POLLERS) for _ in range(2))
    for played, count in ((short, BACKLOG // 20), (long, BACKLOG)):
        played.record(count, FAST)
        played.record(1, OTHER)
        played.run(600)

    assert (long.taken(FAST), long.taken(OTHER)) == (BACKLOG, 1)
    assert len(long.pace(FAST)) <= 1.25 * 20 * len(short.pace(FAST))
    assert len(long.pace(OTHER)) <= 0.5 * len(long.pace(FAST))
    assert long.most[FAST] == SLOTS
    assert long.swept <= BACKLOG // 10


@pytest.mark.parametrize(("workers", "count", "seconds"), [(POLLERS, 600, 5.0), (WORKERS, 2000, 1.0)])
def test_a_backlog_on_slow_storage_causes_few_duplicate_messages(
    workers: int, count: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep messages waiting for longer than the sweeper does, on a machine and on AWS."""
    monkeypatch.setattr("tests.delivery.simulation.STORAGE_SECONDS", 0.5)
    backlog = Simulation({SLOW: seconds}, workers)
    backlog.record(count)
    backlog.run(3600)

    assert backlog.taken(SLOW) == count
    assert backlog.longest <= count
    assert backlog.swept <= count // 10
