"""Open downtimes: instances that write counters record downtimes in any order, and one query reads all downtimes."""

from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from chalicelib.foundation.identifiers import new_id
from chalicelib.statistics.call_counts import TABLE, HourlyCounters
from chalicelib.statistics.days import HOUR_SECONDS, midnight_after
from chalicelib.statistics.downtimes import CACHED_SECONDS, PARTITION, Downtime, DowntimeRecorder, OpenDowntimes
from chalicelib.statistics.hourly_counters import REACH_DAYS, downtime_spans
from chalicelib.statistics.measurements import WRITE_INTERVAL
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.openbanking.kit import UNREACHABLE
from tests.statistics.bank_days import ALPHA, BETA, advance_to, counters_of


def series(unanswered: Sequence[int], answered: Sequence[int] = (), bic: str = ALPHA) -> list[HourlyCounters]:
    return counters_of([*((each, False) for each in unanswered), *((each, True) for each in answered)], bic)


def store(causeway: Causeway, unanswered: Sequence[int], answered: Sequence[int] = ()) -> list[HourlyCounters]:
    """Write one instance's counters without recording downtimes."""
    counters = series(unanswered, answered)
    for hourly in counters:
        causeway.hub.store.put(TABLE, hourly.to_item(new_id()))
    return counters


def write(causeway: Causeway, unanswered: Sequence[int], answered: Sequence[int] = ()) -> None:
    record(causeway, store(causeway, unanswered, answered))


def record(causeway: Causeway, counters: list[HourlyCounters]) -> None:
    DowntimeRecorder(causeway.hub.store, causeway.clock).record(counters)


def down(causeway: Causeway) -> frozenset[str]:
    return OpenDowntimes(causeway.hub.store, causeway.clock).bics()


def rows(causeway: Causeway) -> list[Downtime]:
    return [Downtime.from_item(item) for item in causeway.hub.store.rows(TABLE, PARTITION)]


@pytest.fixture
def noon(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    advance_to(causeway, causeway.clock.now().date(), "12:00")
    return causeway.clock.time()


SERIES = tuple(range(-10, -5))
WRITES: dict[str, tuple[list[tuple[Sequence[int], Sequence[int]]], bool]] = {
    "four failures": ([(SERIES[:4], [])], False),
    "five failures in two writes": ([(SERIES[:4], []), ([-5], [])], True),
    "five failures of five instances": ([([second], []) for second in SERIES], True),
    "a late answer before the failures": ([(SERIES, []), ([], [-100])], True),
    "a late answer within the failures": ([(SERIES, []), ([], [-100]), ([], [-8])], False),
}


@pytest.mark.parametrize(("writes", "is_down"), WRITES.values(), ids=WRITES)
def test_a_downtime_opens_after_five_consecutive_failures_across_instances(
    causeway: Causeway, noon: int, writes: list[tuple[Sequence[int], Sequence[int]]], is_down: bool
) -> None:
    for unanswered, answered in writes:
        write(causeway, [noon + second for second in unanswered], [noon + second for second in answered])

    assert down(causeway) == ({ALPHA} if is_down else set())


def test_an_answered_request_ends_a_downtime(causeway: Causeway, noon: int) -> None:
    write(causeway, range(noon - 10, noon - 5))
    causeway.clock.advance(60)

    write(causeway, [], [noon + 30])

    assert down(causeway) == set()
    assert [row.is_open for row in rows(causeway)] == [False]


def test_an_answered_request_at_another_instance_interrupts_a_series_of_failures(causeway: Causeway, noon: int) -> None:
    store(causeway, [], [noon - 8])

    write(causeway, range(noon - 10, noon - 5))

    assert down(causeway) == set()
    assert rows(causeway) == []


def test_an_open_downtime_ends_at_midnight(causeway: Causeway, noon: int) -> None:
    write(causeway, range(noon - 10, noon - 5))

    (row,) = rows(causeway)
    assert row.ends_at == midnight_after(noon)
    causeway.clock.advance(midnight_after(noon) - noon - 1)
    assert down(causeway) == {ALPHA}
    causeway.clock.advance(1)
    assert down(causeway) == set()


def test_a_series_of_failures_continues_after_midnight_with_the_next_failure(causeway: Causeway, noon: int) -> None:
    midnight = midnight_after(noon)
    write(causeway, range(midnight - 10, midnight - 5))
    causeway.clock.advance(midnight + 120 - noon)
    assert down(causeway) == set()

    write(causeway, [midnight + 100])

    assert down(causeway) == {ALPHA}
    (row,) = rows(causeway)
    assert row.ends_at == midnight_after(midnight)


def test_a_series_of_failures_that_ended_before_midnight_is_not_recorded_after_midnight(
    causeway: Causeway, noon: int
) -> None:
    midnight = midnight_after(noon)
    causeway.clock.advance(midnight + 20 - noon)

    write(causeway, range(midnight - 10, midnight))

    assert down(causeway) == set()


def test_a_series_of_failures_with_a_week_between_requests_opens_a_downtime(causeway: Causeway, noon: int) -> None:
    early = noon - (REACH_DAYS - 1) * 24 * HOUR_SECONDS
    store(causeway, range(early, early + 4))

    write(causeway, [noon - 5])

    assert down(causeway) == {ALPHA}


def test_an_open_downtime_equals_the_downtime_in_the_statistics_of_the_day(causeway: Causeway, noon: int) -> None:
    day: date = causeway.clock.now().date()
    unanswered, answered = [*range(noon - 900, noon - 890), *range(noon - 60, noon - 56)], [noon - 600]

    write(causeway, unanswered, answered)
    spans = downtime_spans(series(unanswered, answered), day)
    assert down(causeway) == set()
    assert spans[-1][1] < 24 * HOUR_SECONDS

    write(causeway, [noon - 50])
    spans = downtime_spans(series([*unanswered, noon - 50], answered), day)
    assert down(causeway) == {ALPHA}
    assert spans[-1][1] == 24 * HOUR_SECONDS


def test_a_response_written_during_the_computation_of_a_downtime_is_counted(causeway: Causeway, noon: int) -> None:
    """A response is written after the counters are read and before the row is written."""
    counters = store(causeway, range(noon - 10, noon - 5))

    with causeway.meanwhile("put", lambda: write(causeway, [], [noon - 1])):
        record(causeway, counters)

    assert down(causeway) == set()


def test_failures_written_during_the_computation_of_a_downtime_end_are_counted(causeway: Causeway, noon: int) -> None:
    write(causeway, range(noon - 30, noon - 25))
    counters = store(causeway, [], [noon - 20])

    with causeway.meanwhile("put", lambda: write(causeway, range(noon - 10, noon - 5))):
        record(causeway, counters)

    assert down(causeway) == {ALPHA}


def test_an_older_downtime_computation_never_replaces_a_newer_computation(causeway: Causeway, noon: int) -> None:
    older = Downtime(ALPHA, is_open=True, latest=noon - 60, computed_at=noon - 50, ends_at=midnight_after(noon))
    newer = Downtime(ALPHA, is_open=False, latest=noon - 30, computed_at=noon - 50, ends_at=midnight_after(noon))
    recorder = DowntimeRecorder(causeway.hub.store, causeway.clock)

    assert recorder.put_computed(newer) == newer
    assert recorder.put_computed(older) == newer
    assert rows(causeway) == [newer]


def test_of_two_downtime_computations_of_the_same_requests_the_later_computation_is_stored(
    causeway: Causeway, noon: int
) -> None:
    early = Downtime(ALPHA, is_open=True, latest=noon, computed_at=noon, ends_at=midnight_after(noon))
    late = Downtime(ALPHA, is_open=False, latest=noon, computed_at=noon + 1, ends_at=midnight_after(noon))
    recorder = DowntimeRecorder(causeway.hub.store, causeway.clock)

    assert [recorder.put_computed(each) for each in (late, early)] == [late, late]


def test_a_downtime_recorded_by_a_fast_clock_is_ignored_and_replaced(causeway: Causeway, noon: int) -> None:
    ahead = noon + 2 * HOUR_SECONDS
    wrong = Downtime(ALPHA, is_open=True, latest=ahead, computed_at=ahead, ends_at=midnight_after(ahead))
    causeway.hub.store.put(TABLE, wrong.to_item())
    assert down(causeway) == set()

    write(causeway, range(noon - 10, noon - 5))

    assert down(causeway) == {ALPHA}
    assert [row.latest for row in rows(causeway)] == [noon - 6]


def test_open_downtimes_are_read_again_after_the_clock_is_set_back(causeway: Causeway, noon: int) -> None:
    downtimes = OpenDowntimes(causeway.hub.store, causeway.clock)
    assert downtimes.bics() == set()
    causeway.clock.advance(-HOUR_SECONDS)
    write(causeway, range(causeway.clock.time() - 10, causeway.clock.time() - 5))

    assert downtimes.bics() == {ALPHA}


def test_a_counter_write_without_failures_makes_one_query(causeway: Causeway, noon: int) -> None:
    with record_calls(causeway) as calls:
        record(causeway, [*series([], [noon - 5]), *series([], [noon - 4], BETA)])

    assert calls == ["Query"]


def test_each_counter_write_during_a_downtime_makes_one_query(causeway: Causeway, noon: int) -> None:
    write(causeway, range(noon - 10, noon - 5))

    with record_calls(causeway) as calls:
        record(causeway, series([noon - 1]))

    assert calls == ["Query"]


def test_open_downtimes_are_read_once_a_minute(causeway: Causeway, noon: int) -> None:
    downtimes = OpenDowntimes(causeway.hub.store, causeway.clock)
    assert downtimes.bics() == set()
    write(causeway, range(noon - 10, noon - 5))

    with record_calls(causeway) as calls:
        causeway.clock.advance(CACHED_SECONDS - 1)
        assert downtimes.bics() == set()
        causeway.clock.advance(1)
        assert downtimes.bics() == {ALPHA}

    assert calls == ["Query"]


def test_a_cached_downtime_ends_at_midnight(causeway: Causeway, noon: int) -> None:
    write(causeway, range(noon - 10, noon - 5))
    causeway.clock.advance(midnight_after(noon) - noon - 1)
    downtimes = OpenDowntimes(causeway.hub.store, causeway.clock)

    assert downtimes.bics() == {ALPHA}
    causeway.clock.advance(1)
    assert downtimes.bics() == set()


def read_accounts(causeway: Causeway, bearer: str) -> int:
    return causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer).status


def fail_six_times(causeway: Causeway) -> str:
    """Make six calls to a bank that does not respond, the last of which writes the counters. Return the TPP's token."""
    bearer: str = causeway.tpp.tokens(1)["access_token"]
    causeway.banks[1].answers["/accounts"] = lambda sent: UNREACHABLE
    causeway.writes_measurements()
    for _ in range(5):
        assert read_accounts(causeway, bearer) == 502
        causeway.clock.advance(1)
    causeway.clock.advance(WRITE_INTERVAL)
    assert read_accounts(causeway, bearer) == 502
    return bearer


def test_requests_record_the_start_and_the_end_of_a_downtime(causeway: Causeway, noon: int) -> None:
    bearer = fail_six_times(causeway)
    assert down(causeway) == {ALPHA}

    causeway.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}
    causeway.clock.advance(WRITE_INTERVAL)
    assert read_accounts(causeway, bearer) == 200

    assert down(causeway) == set()


@pytest.mark.parametrize("call", ["rows", "query", "put"])
def test_a_downtime_that_cannot_be_recorded_is_recorded_with_the_next_write(
    causeway: Causeway, noon: int, call: str
) -> None:
    bearer: str = causeway.tpp.tokens(1)["access_token"]
    causeway.banks[1].answers["/accounts"] = lambda sent: UNREACHABLE
    causeway.writes_measurements()
    with causeway.storage_gone(call):
        for _ in range(5):
            assert read_accounts(causeway, bearer) == 502
        causeway.clock.advance(WRITE_INTERVAL)
        assert read_accounts(causeway, bearer) == 502
    assert down(causeway) == set()
    assert len([*causeway.hub.store.scan(TABLE)]) >= 1, "the counters were written"

    causeway.clock.advance(WRITE_INTERVAL)
    assert read_accounts(causeway, bearer) == 502

    assert down(causeway) == {ALPHA}


def test_a_bank_without_a_downtime_row_is_available(causeway: Causeway, noon: int) -> None:
    store(causeway, range(noon - 10, noon - 5))

    assert down(causeway) == set()
    causeway.clock.advance(timedelta(days=1).total_seconds())
    assert down(causeway) == set()
