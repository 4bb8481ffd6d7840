"""Measurements of an instance: counts, write times, and failed writes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from chalicelib.foundation.metrics import Metrics
from chalicelib.statistics import current_call, measurements
from chalicelib.statistics.call_counts import Blamed, CallCounts, HourlyCounters, Outcome, Service
from chalicelib.statistics.measurements import BATCH_SIZE, MAX_UNWRITTEN, WRITE_INTERVAL
from tests.kit.logs import Lines, metric_values, metrics_in
from tests.kit.time import PATIENCE_SECONDS
from tests.statistics.client_calls import BIC, HOUR, Instance, fail


def test_the_first_request_is_written_immediately_and_later_requests_once_a_minute(instance: Instance) -> None:
    """The immediate write preserves the count of an instance that handles only one request."""
    written = []
    for _ in range(500):
        instance.call_bank()
        written.append(len(instance.table.transactions))
        instance.clock.advance(0.75)

    turns = [number for number, (before, after) in enumerate(pairwise([0, *written])) if after > before]
    assert turns == [0, *range(60, 500, 60)]
    assert instance.table.total.calls == turns[-1] + 1


def test_measurements_are_written_after_the_clock_is_set_back(instance: Instance) -> None:
    instance.call_bank()
    instance.clock.advance(-3600)

    instance.call_bank()

    assert instance.table.total.calls == 2


def test_the_first_response_of_a_bank_after_a_downtime_is_written_immediately(instance: Instance) -> None:
    instance.call_bank()
    with instance.measure():
        current_call.record_end_of_downtime()
        current_call.record_bank_request(BIC, "AISP", instance.clock.time(), "answered", 0.2)

    assert instance.table.total.answered == 2


def test_a_request_without_a_bank_writes_nothing_and_does_not_delay_the_next_write(instance: Instance) -> None:
    with instance.measure() as call:
        call.status = 500
    assert instance.table.transactions == []

    instance.call_bank()
    assert len(instance.table.transactions) == 1


def test_a_request_without_a_bank_triggers_the_write_of_earlier_pending_counts(instance: Instance) -> None:
    for _ in range(2):
        instance.call_bank()
    instance.clock.advance(WRITE_INTERVAL)

    with instance.measure():
        pass

    assert instance.table.total.calls == 2


def test_a_frozen_instance_writes_its_pending_counts_to_their_original_hour(instance: Instance) -> None:
    instance.call_bank()
    instance.clock.advance(30)
    instance.call_bank(outcome="unanswered", status=502)
    instance.clock.advance(5 * 3600 + 61)
    instance.call_bank()

    found = {hourly.hour: hourly for hourly in sorted(instance.table.counters, key=lambda hourly: hourly.hour)}
    late = HOUR + 5 * 3600
    assert list(found) == [HOUR, late]
    assert len(instance.table.counters) == 3
    (late_counters,) = (
        hourly for hourly in instance.table.counters if list(hourly.replies()) == [(HOUR + 30, False, 1)]
    )
    assert late_counters.minutes == {0: {"AISP": CallCounts(calls=1, unanswered=1, hub_failures=1)}}
    assert list(found[late].replies()) == [(late + 91, True, 0)]
    assert list(found[late].minutes) == [1]


def test_a_call_and_its_bank_requests_count_in_the_hours_in_which_they_start(instance: Instance) -> None:
    instance.clock.advance(3599)
    with instance.measure() as call:
        current_call.record_concern(BIC, "AISP")
        instance.clock.advance(2)
        current_call.record_bank_request(BIC, "AISP", instance.clock.time(), "answered", 0)
        call.status = 200

    by_hour = {hourly.hour: hourly.minutes for hourly in instance.table.counters}
    assert by_hour == {HOUR: {59: {"AISP": CallCounts(calls=1)}}, HOUR + 3600: {0: {"AISP": CallCounts(answered=1)}}}


def test_the_time_of_the_service_excludes_the_time_of_the_bank(instance: Instance) -> None:
    instance.call_bank()

    (hourly,) = instance.table.counters
    assert hourly.latencies["AISP"].hub.microseconds == pytest.approx(50_000, abs=1)
    assert hourly.latencies["AISP"].bank.microseconds == 200_000


@pytest.mark.parametrize("outcome", ["unanswered", "not_asked"])
def test_the_time_of_a_bank_is_counted_only_for_answered_requests(instance: Instance, outcome: Outcome) -> None:
    instance.call_bank(outcome=outcome, status=502)

    (hourly,) = instance.table.counters
    assert (hourly.latencies["AISP"].hub.count, hourly.latencies["AISP"].bank.count) == (1, 0)
    assert hourly.latencies["AISP"].hub.microseconds == pytest.approx(50_000, abs=1)


@pytest.mark.parametrize(
    ("noted", "status", "blamed"),
    [
        (None, 200, None),
        (None, 303, None),
        (None, 400, "caller"),
        (None, 404, "caller"),
        (None, 500, "hub"),
        (None, 503, "hub"),
        (None, None, None),
        ("bank", 502, "bank"),
        ("caller", 502, "caller"),
        ("bank", 200, "bank"),
        ("caller", 303, "caller"),
        ("bank", None, "bank"),
    ],
)
def test_a_failure_is_counted_once_for_the_recorded_party_or_according_to_the_status(
    instance: Instance, noted: Blamed | None, status: int | None, blamed: Blamed | None
) -> None:
    with instance.measure() as call:
        current_call.record_concern(BIC, "CBPII")
        if noted:
            current_call.record_failure(noted)
        call.status = status

    expected = CallCounts(calls=1)
    if blamed:
        expected.count_failure(blamed)
    assert instance.table.total == expected


def test_bank_requests_of_a_worker_are_counted_without_a_call(instance: Instance) -> None:
    with instance.measure():
        current_call.record_bank_request(BIC, "PISP", HOUR, "unanswered", 3)
        current_call.record_failure("bank")

    (hourly,) = instance.table.counters
    assert hourly.minutes == {0: {"PISP": CallCounts(unanswered=1, bank_failures=1)}}
    assert hourly.latencies["PISP"].hub.count == 0


def test_a_request_that_raises_an_exception_is_counted(instance: Instance) -> None:
    def fail_in_request() -> None:
        with instance.measure():
            current_call.record_concern(BIC, "AISP")
            raise LookupError

    with pytest.raises(LookupError):
        fail_in_request()

    assert instance.table.total == CallCounts(calls=1)


def test_every_bank_and_hour_has_separate_counters(instance: Instance) -> None:
    for bic in ("ALPHGB21", "BETADEF1", "ALPHGB21"):
        for service in ("AISP", "PISP"):
            instance.call_bank(bic, service)
    instance.table.items.clear()

    instance.write()

    assert sorted((hourly.bic, hourly.hour) for hourly in instance.table.counters) == [
        ("ALPHGB21", HOUR),
        ("BETADEF1", HOUR),
    ]
    assert instance.table.total.calls == 5  # the first was written before


def test_an_instance_reports_which_hours_of_its_lifetime_have_no_counts(instance: Instance) -> None:
    instance.clock.advance(2 * 3600)
    instance.call_bank()
    instance.clock.advance(3 * 3600)
    instance.call_bank()
    instance.write()

    known = [number for number in range(-2, 8) if instance.has_none(HOUR + number * 3600)]

    assert known == [0, 1, 3, 4, 6, 7]


def test_cloudwatch_metrics_match_the_counters_by_bank_service_and_minute(
    instance: Instance, capsys: pytest.CaptureFixture[str]
) -> None:
    instance.call_bank()
    instance.call_bank(service="PISP", outcome="unanswered", status=502)
    instance.call_bank(status=404)
    instance.clock.advance(61)
    instance.call_bank("BETADEF1")

    output = capsys.readouterr().out

    def values(name: str, bic: str, service: Service) -> list[float]:
        return metric_values(output, name, Stage="dev", Bank=bic, Service=service)

    reads = [values(name, BIC, "AISP") for name in ("Calls", "Answered", "CallerFailures", "HubFailures")]
    assert reads == [[1, 1], [1, 1], [1], []]
    assert values("HubTime", BIC, "AISP") == pytest.approx([50, 50])
    assert values("BankTime", BIC, "AISP") == [200, 200]
    payments = [values(name, BIC, "PISP") for name in ("Calls", "Answered", "Unanswered", "HubFailures", "BankTime")]
    assert payments == [[1], [], [1], [1], []]
    assert values("Calls", "BETADEF1", "AISP") == [1]
    begun = [figure.at // 1000 - HOUR for figure in metrics_in(output) if figure.name == "Calls"]
    assert begun == [0, 0, 0, 0, 0, 0, 60, 60]  # each for the stage, and once more for bank and service
    names = ("Calls", "Answered", "Unanswered", "NotAsked", "BankFailures", "CallerFailures", "HubFailures")
    assert CallCounts(*(int(sum(metric_values(output, name, Stage="dev"))) for name in names)) == instance.table.total


def test_metrics_are_written_once_although_writing_the_counters_is_retried(
    instance: Instance, capsys: pytest.CaptureFixture[str]
) -> None:
    instance.table.before = fail
    instance.call_bank()
    for _ in range(3):
        instance.write()

    assert metric_values(capsys.readouterr().out, "Calls", Stage="dev") == [1]


def test_a_request_succeeds_when_its_measurements_cannot_be_written(instance: Instance, lines: Lines) -> None:
    instance.table.before = fail
    for _ in range(3):
        instance.call_bank()
    assert len(instance.table.transactions) == 1  # who comes next does not wait for the same again

    instance.table.before = lambda: None
    instance.clock.advance(WRITE_INTERVAL)
    instance.call_bank()

    (line,) = lines.all()
    assert line["message"] == "measurements not written"
    assert line["level"] == "ERROR"
    assert line["counters"] == 1
    assert instance.table.total == CallCounts(calls=4, answered=4)


def test_counters_written_with_a_lost_response_are_counted_once(instance: Instance) -> None:
    instance.table.after = fail
    instance.call_bank()
    instance.table.after = lambda: None
    instance.write()
    instance.write()

    assert instance.table.total.calls == 1
    assert [put.item for put in instance.table.transactions[0]] == [put.item for put in instance.table.transactions[1]]
    assert len(instance.table.transactions) == 2


def test_the_oldest_unwritten_counters_are_dropped_at_the_limit_and_logged(instance: Instance, lines: Lines) -> None:
    instance.table.before = fail
    for number in range(MAX_UNWRITTEN + 3):
        instance.call_bank(f"BANK{number:04}")
        if number % 250 == 0:
            instance.write()
    instance.write()
    instance.table.before = lambda: None
    instance.write()

    assert len(instance.table.items) == MAX_UNWRITTEN
    assert min(bic for bic, _ in instance.table.items) == f"calls#BANK{3:04}#2026-03-02T09"
    dropped = [line["counters"] for line in lines.all() if line["message"] == "measurements dropped"]
    assert sum(dropped) == 3
    assert {len(puts) for puts in instance.table.transactions[-10:]} == {BATCH_SIZE}


def test_counters_are_written_in_batches_of_100_and_a_failed_batch_is_retried(instance: Instance) -> None:
    for number in range(250):
        with instance.measure():
            current_call.record_concern(f"BANK{number:04}", "AISP")
    instance.table.transactions.clear()
    instance.table.before = lambda: fail() if len(instance.table.transactions) == 2 else None

    instance.write()
    assert [len(puts) for puts in instance.table.transactions] == [100, 100]
    instance.write()

    assert [len(puts) for puts in instance.table.transactions] == [100, 100, 100, 49]
    assert instance.table.total.calls == 250


def test_an_exception_in_writing_metrics_loses_no_counters(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Metrics, "write", lambda *_, **__: 1 / 0)
        instance.call_bank()
    instance.write()

    assert instance.table.total.calls == 1


def test_a_response_waits_for_unresponsive_storage_no_longer_than_the_write_timeout(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurements, "WRITE_TIMEOUT", 0.01)
    resumed, written_late = threading.Event(), threading.Event()
    instance.table.before = lambda: resumed.wait(PATIENCE_SECONDS)
    instance.table.after = written_late.set

    instance.call_bank()
    assert instance.table.items == {}
    resumed.set()

    assert written_late.wait(PATIENCE_SECONDS)
    assert instance.table.total.calls == 1


@pytest.mark.parametrize(("took", "waits"), [(0.1, 2), (1.5, 1.4), (2.85, 0.05), (2.9, 2), (10, 2)])
def test_a_counter_write_extends_a_call_of_less_than_3_seconds_to_at_most_3_seconds(took: float, waits: float) -> None:
    assert measurements.longest_delay(took) == pytest.approx(waits)


def test_parallel_threads_lose_no_counts(instance: Instance) -> None:
    def work(number: int) -> None:
        for turn in range(200):
            with instance.measure() as call:
                current_call.record_concern(BIC, "AISP")
                current_call.record_bank_request(
                    BIC, "AISP", HOUR + number, "answered" if turn % 2 else "unanswered", 0.001
                )
                call.status = 200 if turn % 2 else 500
            if turn % 50 == number:
                instance.write()

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    instance.write()

    assert instance.table.total == CallCounts(calls=3200, answered=1600, unanswered=1600, hub_failures=1600)
    total = HourlyCounters(BIC, HOUR)
    for hourly in instance.table.counters:
        total.include(hourly)
    assert list(total.replies()) == [(HOUR + number, True, 100) for number in range(16)]
    assert (total.latencies["AISP"].hub.count, total.latencies["AISP"].bank.count) == (3200, 1600)


def test_bank_duration_is_counted_for_all_responses_except_one_that_fails_the_request(instance: Instance) -> None:
    with instance.measure() as call:
        current_call.record_concern(BIC, "AISP")
        current_call.record_bank_request(BIC, "AISP", instance.clock.time(), "answered", 0.1)
        current_call.record_bank_request(BIC, "AISP", instance.clock.time(), "answered", 0.002)
        current_call.record_failure("bank")
        call.status = 502

    (hourly,) = instance.table.counters
    assert (instance.table.total.answered, instance.table.total.bank_failures) == (2, 1)
    assert (hourly.latencies["AISP"].bank.count, hourly.latencies["AISP"].bank.microseconds) == (1, 100_000)


def test_a_request_succeeds_when_its_measurements_raise_an_exception(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)

    instance.call_bank()

    assert [line["message"] for line in lines.all()] == ["measurements failed"]
