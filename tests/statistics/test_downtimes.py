"""Open downtimes: recorded by the instances that write counters, whatever the order, and read with one query."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from chalicelib.foundation.identifiers import new_id
from chalicelib.statistics.call_counts import TABLE, HourlyCounters
from chalicelib.statistics.days import HOUR_SECONDS, hours_of, midnight_after
from chalicelib.statistics.downtimes import CACHED_SECONDS, PARTITION, Downtime, DowntimeRecorder, OpenDowntimes
from chalicelib.statistics.hourly_counters import REACH_DAYS, downtime_spans
from chalicelib.statistics.measurements import WRITE_INTERVAL
from tests.dynamodb_calls import counted
from tests.openbanking.deferred_calls import DOWN
from tests.statistics.made_up import ALPHA, BETA
from tests.world import World

NOON = 12 * HOUR_SECONDS


def at(world: World, time: int) -> int:
    """The Unix second of a second of the world's day."""
    return hours_of(world.clock.now().date())[0] + time


def instance_wrote(world: World, unanswered: Sequence[int], answered: Sequence[int] = (), bic: str = ALPHA) -> None:
    """Write one instance's counters for requests at these Unix seconds."""
    for hourly in made(unanswered, answered, bic):
        world.hub.store.put(TABLE, hourly.to_item(new_id()))


def made(unanswered: Sequence[int], answered: Sequence[int] = (), bic: str = ALPHA) -> list[HourlyCounters]:
    hours: dict[int, HourlyCounters] = {}
    for second, was_answered in [*((each, False) for each in unanswered), *((each, True) for each in answered)]:
        hour = second - second % HOUR_SECONDS
        hourly = hours.setdefault(hour, HourlyCounters(bic, hour))
        hourly.count_request(second, "AISP", "answered" if was_answered else "unanswered")
    return list(hours.values())


def writes(world: World, unanswered: Sequence[int], answered: Sequence[int] = (), bic: str = ALPHA) -> None:
    """An instance writes its counters, and records downtimes afterwards."""
    counters = made(unanswered, answered, bic)
    for hourly in counters:
        world.hub.store.put(TABLE, hourly.to_item(new_id()))
    DowntimeRecorder(world.hub.store, world.clock).record(counters)


def down(world: World) -> frozenset[str]:
    """The banks that are down, as an instance that has just started finds them."""
    return OpenDowntimes(world.hub.store, world.clock).bics()


def rows(world: World) -> list[Downtime]:
    return [Downtime.from_item(item) for item in world.hub.store.rows(TABLE, PARTITION)]


@pytest.fixture
def noon(world: World, monkeypatch: pytest.MonkeyPatch) -> int:
    """Noon, as a Unix second; the world's clock stands there."""
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    world.clock.advance(at(world, NOON) - world.clock.time())
    return world.clock.time()


def test_a_bank_is_down_from_the_fifth_request_without_a_response(world: World, noon: int) -> None:
    writes(world, range(noon - 10, noon - 6))
    assert down(world) == set()

    writes(world, [noon - 5])
    assert down(world) == {ALPHA}


def test_a_response_ends_a_downtime(world: World, noon: int) -> None:
    writes(world, range(noon - 10, noon - 5))
    world.clock.advance(60)

    writes(world, [], [noon + 30])

    assert down(world) == set()
    assert [row.is_open for row in rows(world)] == [False]


def test_unanswered_requests_of_several_instances_count_as_one_series(world: World, noon: int) -> None:
    for second in range(noon - 10, noon - 5):
        writes(world, [second])

    assert down(world) == {ALPHA}


def test_a_response_at_another_instance_interrupts_a_series(world: World, noon: int) -> None:
    instance_wrote(world, [], [noon - 8])

    writes(world, range(noon - 10, noon - 5))

    assert down(world) == set()
    assert rows(world) == []


def test_an_open_downtime_ends_at_midnight(world: World, noon: int) -> None:
    writes(world, range(noon - 10, noon - 5))

    (row,) = rows(world)
    assert row.ends_at == midnight_after(noon)
    world.clock.advance(midnight_after(noon) - noon - 1)
    assert down(world) == {ALPHA}
    world.clock.advance(1)
    assert down(world) == set()


def test_a_series_continues_after_midnight_with_the_next_unanswered_request(world: World, noon: int) -> None:
    midnight = midnight_after(noon)
    writes(world, range(midnight - 10, midnight - 5))
    world.clock.advance(midnight + 120 - noon)
    assert down(world) == set()

    writes(world, [midnight + 100])

    assert down(world) == {ALPHA}
    (row,) = rows(world)
    assert row.ends_at == midnight_after(midnight)


def test_a_series_that_ended_before_midnight_is_not_recorded_afterwards(world: World, noon: int) -> None:
    midnight = midnight_after(noon)
    world.clock.advance(midnight + 20 - noon)

    writes(world, range(midnight - 10, midnight))

    assert down(world) == set()


def test_a_series_with_a_week_between_its_requests_opens_a_downtime(world: World, noon: int) -> None:
    early = noon - (REACH_DAYS - 1) * 24 * HOUR_SECONDS
    instance_wrote(world, range(early, early + 4))

    writes(world, [noon - 5])

    assert down(world) == {ALPHA}


def test_an_open_downtime_agrees_with_the_statistics_of_the_day(world: World, noon: int) -> None:
    day: date = world.clock.now().date()
    unanswered, answered = [*range(noon - 900, noon - 890), *range(noon - 60, noon - 56)], [noon - 600]

    writes(world, unanswered, answered)
    spans = downtime_spans(made(unanswered, answered), day)
    assert down(world) == set()
    assert spans[-1][1] < 24 * HOUR_SECONDS

    writes(world, [noon - 50])
    spans = downtime_spans(made([*unanswered, noon - 50], answered), day)
    assert down(world) == {ALPHA}
    assert spans[-1][1] == 24 * HOUR_SECONDS


def test_late_counters_are_evaluated_in_order_of_time(world: World, noon: int) -> None:
    writes(world, range(noon - 10, noon - 5))

    writes(world, [], [noon - 100])  # before the series
    assert down(world) == {ALPHA}
    writes(world, [], [noon - 8])  # within it
    assert down(world) == set()


# -- several instances at once


def test_a_response_written_during_the_computation_of_a_downtime_counts(world: World, noon: int) -> None:
    """Write a response after the counters were read and before the row is written."""
    counters = made(range(noon - 10, noon - 5))
    for hourly in counters:
        world.hub.store.put(TABLE, hourly.to_item(new_id()))

    with world.meanwhile("put", lambda: writes(world, [], [noon - 1])):
        DowntimeRecorder(world.hub.store, world.clock).record(counters)

    assert down(world) == set()


def test_failures_written_during_the_computation_of_an_end_count(world: World, noon: int) -> None:
    writes(world, range(noon - 30, noon - 25))
    counters = made([], [noon - 20])
    for hourly in counters:
        world.hub.store.put(TABLE, hourly.to_item(new_id()))

    with world.meanwhile("put", lambda: writes(world, range(noon - 10, noon - 5))):
        DowntimeRecorder(world.hub.store, world.clock).record(counters)

    assert down(world) == {ALPHA}


def test_an_older_computation_never_replaces_a_newer_one(world: World, noon: int) -> None:
    older = Downtime(ALPHA, is_open=True, latest=noon - 60, computed_at=noon - 50, ends_at=midnight_after(noon))
    newer = Downtime(ALPHA, is_open=False, latest=noon - 30, computed_at=noon - 50, ends_at=midnight_after(noon))
    recorder = DowntimeRecorder(world.hub.store, world.clock)

    assert recorder._put(newer) == newer
    assert recorder._put(older) == newer
    assert rows(world) == [newer]


def test_the_later_computation_of_the_same_requests_counts(world: World, noon: int) -> None:
    early = Downtime(ALPHA, is_open=True, latest=noon, computed_at=noon, ends_at=midnight_after(noon))
    late = Downtime(ALPHA, is_open=False, latest=noon, computed_at=noon + 1, ends_at=midnight_after(noon))
    recorder = DowntimeRecorder(world.hub.store, world.clock)

    assert [recorder._put(each) for each in (late, early)] == [late, late]


def test_a_downtime_recorded_by_a_clock_ahead_is_ignored_and_replaced(world: World, noon: int) -> None:
    ahead = noon + 2 * HOUR_SECONDS
    wrong = Downtime(ALPHA, is_open=True, latest=ahead, computed_at=ahead, ends_at=midnight_after(ahead))
    world.hub.store.put(TABLE, wrong.to_item())
    assert down(world) == set()

    writes(world, range(noon - 10, noon - 5))

    assert down(world) == {ALPHA}
    assert [row.latest for row in rows(world)] == [noon - 6]


def test_banks_that_are_down_are_read_again_after_the_clock_was_set_back(world: World, noon: int) -> None:
    downtimes = OpenDowntimes(world.hub.store, world.clock)
    assert downtimes.bics() == set()
    world.clock.advance(-HOUR_SECONDS)
    writes(world, range(world.clock.time() - 10, world.clock.time() - 5))

    assert downtimes.bics() == {ALPHA}


# -- what it costs


def test_without_failures_a_write_takes_one_query(world: World, noon: int) -> None:
    counters = made([], [noon - 5])
    with counted(world) as calls:
        DowntimeRecorder(world.hub.store, world.clock).record([*counters, *made([], [noon - 4], BETA)])

    assert calls == ["Query"]


def test_a_bank_that_stays_down_takes_one_query_for_each_write(world: World, noon: int) -> None:
    writes(world, range(noon - 10, noon - 5))

    with counted(world) as calls:
        DowntimeRecorder(world.hub.store, world.clock).record(made([noon - 1]))

    assert calls == ["Query"]


def test_the_banks_that_are_down_are_read_once_a_minute(world: World, noon: int) -> None:
    downtimes = OpenDowntimes(world.hub.store, world.clock)
    assert downtimes.bics() == set()
    writes(world, range(noon - 10, noon - 5))

    with counted(world) as calls:
        world.clock.advance(CACHED_SECONDS - 1)
        assert downtimes.bics() == set()
        world.clock.advance(1)
        assert downtimes.bics() == {ALPHA}

    assert calls == ["Query"]


def test_a_cached_downtime_ends_at_midnight(world: World, noon: int) -> None:
    writes(world, range(noon - 10, noon - 5))
    world.clock.advance(midnight_after(noon) - noon - 1)
    downtimes = OpenDowntimes(world.hub.store, world.clock)

    assert downtimes.bics() == {ALPHA}
    world.clock.advance(1)
    assert downtimes.bics() == set()


# -- by requests


def asks(world: World, bearer: str) -> int:
    return world.tpp("GET", "/tpp/accounts", bearer=bearer).status


def fails_six_times(world: World) -> str:
    """The bearer of a TPP whose bank did not respond; the last request writes the counters."""
    bearer: str = world.tokens(1)["access_token"]
    world.banks[1].answers["/accounts"] = lambda sent: DOWN
    world.writes_measurements()
    for _ in range(5):
        assert asks(world, bearer) == 502
        world.clock.advance(1)
    world.clock.advance(WRITE_INTERVAL)
    assert asks(world, bearer) == 502
    return bearer


def test_requests_record_the_start_and_the_end_of_a_downtime(world: World, noon: int) -> None:
    bearer = fails_six_times(world)
    assert down(world) == {ALPHA}

    world.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}
    world.clock.advance(WRITE_INTERVAL)
    assert asks(world, bearer) == 200

    assert down(world) == set()


@pytest.mark.parametrize("call", ["rows", "query", "put"])
def test_a_downtime_that_cannot_be_recorded_is_recorded_with_the_next_write(world: World, noon: int, call: str) -> None:
    bearer: str = world.tokens(1)["access_token"]
    world.banks[1].answers["/accounts"] = lambda sent: DOWN
    world.writes_measurements()
    with world.storage_gone(call):
        for _ in range(5):
            assert asks(world, bearer) == 502
        world.clock.advance(WRITE_INTERVAL)
        assert asks(world, bearer) == 502
    assert down(world) == set()
    assert len([*world.hub.store.scan(TABLE)]) >= 1, "the counters were written"

    world.clock.advance(WRITE_INTERVAL)
    assert asks(world, bearer) == 502

    assert down(world) == {ALPHA}


def test_a_bank_without_a_downtime_row_is_not_down(world: World, noon: int) -> None:
    instance_wrote(world, range(noon - 10, noon - 5))

    assert down(world) == set()
    world.clock.advance(timedelta(days=1).total_seconds())
    assert down(world) == set()
