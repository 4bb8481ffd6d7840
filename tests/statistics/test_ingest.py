"""The nightly ingest: it creates one record per day from counters and reports, and every run has the same result."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from chalice.app import ScheduledEventConfig

from chalicelib.foundation.dynamodb.store import Item, StoreUnavailable
from chalicelib.openbanking.flows.bank.expected_reports import expected_banks
from chalicelib.statistics import day_overviews, day_records
from chalicelib.statistics import ingest as ingesting
from chalicelib.statistics.call_counts import RETENTION_DAYS, CallCounts, HourlyCounters
from chalicelib.statistics.day_records import TABLE, DailyReport, DayRecord
from chalicelib.statistics.days import hours_of
from chalicelib.statistics.hourly_counters import REACH_DAYS, Hour, StoredCounters
from chalicelib.statistics.ingest import DayRefused, ExpectedBank, Ingested, IngestIncomplete, compute_day
from infra.local.event_runner import schedule_expression
from tests.causeway import Causeway
from tests.kit.documents import OPERATIONS, STATISTICS, rows, section
from tests.kit.logs import Lines
from tests.kit.time import run_schedule
from tests.statistics.bank_days import (
    ALPHA,
    BETA,
    DAY,
    advance_to,
    ingest,
    records,
    report,
    store_calls,
    stored_records,
)

TO_DOWN = [f"10:00:{second:02}" for second in range(5)]
BANK = ExpectedBank(ALPHA, "Bank of version 1", is_active=True)


@pytest.fixture
def hours_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the statistics ingest adds each hour whose counters it reads."""
    read: list[int] = []
    real = StoredCounters.of_hour

    def of_hour(stored: StoredCounters, bic: str, hour: int) -> Hour:
        read.append(hour)
        return real(stored, bic, hour)

    monkeypatch.setattr(StoredCounters, "of_hour", of_hour)
    return read


def test_a_day_record_sums_the_counters_of_all_instances(night: Causeway) -> None:
    store = night.hub.store
    store_calls(store, ALPHA, DAY, answered=["00:00:00", "12:30:59"], bank_ms=64)
    store_calls(store, ALPHA, DAY, answered=["12:30:01"], bank_ms=128)
    store_calls(store, ALPHA, DAY, answered=["23:59:59"], service="PISP", fault="bank", bank_ms=256)
    store_calls(store, ALPHA, DAY, unanswered=TO_DOWN, service="CBPII")
    store_calls(store, ALPHA, DAY, not_asked=["10:01:00"], answered=["10:02:00"])
    store_calls(store, ALPHA, DAY + timedelta(days=1), answered=["00:00:00"])
    store_calls(store, ALPHA, DAY - timedelta(days=1), answered=["23:59:59"])

    ingest(night)

    record = records(night)[DAY]
    assert {name: (tally.calls, tally.bank_requests) for name, tally in record.tallies.items()} == {
        "AISP": (5, 4),
        "PISP": (1, 1),
        "CBPII": (5, 5),
    }
    assert record.total.answered == 5
    assert record.total.unanswered == 5
    assert record.total.not_asked == 1
    assert record.down == ((36_000, 36_120),)
    assert (record.availability, record.unavailability_minutes) == (Decimal("99.861"), Decimal("2.00"))
    assert record.total.error_rate == Decimal("60.000")
    assert record.latencies["PISP"].bank.average == Decimal("256.0")
    assert record.latencies["AISP"].bank.percentile(75) == Decimal("107.6")
    assert record.latency.hub.count == 11
    assert record.name == "Bank of version 1"
    assert record.report == "not_expected"
    assert record.consent_duration is None


def test_a_day_record_contains_the_report_of_the_bank(night: Causeway) -> None:
    report(night, payment=None)

    ingest(night)

    record = records(night, BETA)[DAY]
    assert record.report == "received"
    assert record.consent_duration == 41_250
    assert record.payment_duration is None
    assert record.report_received_at == night.clock.time()


def test_a_day_record_without_calls_has_no_availability(night: Causeway) -> None:
    ingest(night)

    record = records(night)[DAY]
    assert record.availability is None
    assert record.total.error_rate is None
    assert record.latency.bank.average is None


EVENING = ["23:59:57", "23:59:58", "23:59:59"]
DOWNTIMES: dict[str, tuple[dict[int, dict[str, list[str]]], list[tuple[tuple[int, int], ...]]]] = {
    "began the day before": (
        {1: {"unanswered": EVENING}, 0: {"unanswered": ["00:00:00", "00:00:02"], "answered": ["00:10:00"]}},
        [(), ((0, 600),)],
    ),
    "several days, one with a single request": (
        {
            3: {"unanswered": TO_DOWN},
            2: {"unanswered": ["07:00:00"]},
            0: {"unanswered": ["09:00:00"], "answered": ["18:00:00"]},
        },
        [(), ((0, 18 * 3600),)],
    ),
    "an answer after the failures": (
        {2: {"unanswered": TO_DOWN}, 1: {"answered": ["07:00:00"]}, 0: {"unanswered": ["09:00:00"]}},
        [((0, 7 * 3600),), ()],
    ),
}
"""For each case: calls by the number of days before ``DAY``, and the downtimes of the previous day and of ``DAY``."""


@pytest.mark.parametrize(("calls", "downtimes"), DOWNTIMES.values(), ids=DOWNTIMES)
def test_a_downtime_that_began_before_the_day_counts_from_midnight(
    night: Causeway, calls: dict[int, dict[str, list[str]]], downtimes: list[tuple[tuple[int, int], ...]]
) -> None:
    for age, times in calls.items():
        store_calls(night.hub.store, ALPHA, DAY - timedelta(days=age), **times)  # type: ignore[arg-type]

    found = night.hub.statistics.ingest.ingest_days(BANK, [DAY - timedelta(days=1), DAY])

    assert [each.record.down for each in found] == downtimes


def test_hours_before_the_last_bank_response_are_not_read(night: Causeway, hours_read: list[int]) -> None:
    store_calls(night.hub.store, ALPHA, DAY - timedelta(days=1), answered=["23:00:00"])
    store_calls(night.hub.store, ALPHA, DAY, answered=["09:00:00"])
    night.hub.statistics.ingest.ingest_days(BANK, [DAY])

    assert sorted(hours_read) == [hours_of(DAY)[0] - 3600, *hours_of(DAY)]


def test_an_hour_with_many_counters_is_read_in_pages(night: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        store_calls(night.hub.store, ALPHA, DAY, answered=["09:00:00"])
    real = night.hub.store.query
    monkeypatch.setattr(night.hub.store, "query", lambda *of, **options: real(*of, **options, limit=2))

    (made,) = night.hub.statistics.ingest.ingest_days(BANK, [DAY])

    assert made.record.total.answered == 5


def test_each_hour_is_read_once_for_the_ingest_of_several_days(night: Causeway, hours_read: list[int]) -> None:
    store_calls(night.hub.store, ALPHA, DAY, unanswered=["09:00:00"])
    store_calls(night.hub.store, ALPHA, DAY - timedelta(days=1), unanswered=["09:00:00"])
    night.hub.statistics.ingest.ingest_days(BANK, [DAY - timedelta(days=1), DAY])

    assert len(hours_read) == len(set(hours_read)) == 24 * (2 + REACH_DAYS)


def test_a_day_record_depends_only_on_counters_report_and_bank() -> None:
    counters = [HourlyCounters(ALPHA, 1_772_496_000 + 3600 * hour) for hour in range(24)]
    for number, hourly in enumerate(counters):
        hourly.tally(hourly.hour + number, "AISP").answered += number
        hourly.latencies["AISP"].bank.add(number)
    daily_report = DailyReport(ALPHA, DAY, 1, 2, 1_772_600_000)

    made = compute_day(BANK, DAY, counters, daily_report)

    assert (
        made
        == compute_day(BANK, DAY, reversed(counters), daily_report)
        == compute_day(BANK, DAY, counters, daily_report, before=made)
    )
    assert made.total.answered == sum(range(24))


def test_a_second_ingest_of_a_day_writes_nothing(night: Causeway) -> None:
    store_calls(night.hub.store, ALPHA, DAY, answered=["10:00:00"], unanswered=TO_DOWN)
    report(night)
    ingest(night)
    before = stored_records(night)

    with night.storage_gone("put"):
        ingest(night)

    assert stored_records(night) == before != []


def test_a_late_ingest_of_a_day_creates_the_same_record(night: Causeway) -> None:
    store_calls(night.hub.store, ALPHA, DAY, answered=["10:00:30"], unanswered=TO_DOWN)
    ingest(night)
    before = stored_records(night)
    advance_to(night, DAY + timedelta(days=ingesting.OLDEST_INGESTED))
    for item in before:
        night.hub.store.delete(TABLE, {"subject": item["subject"], "part": item["part"]})

    for bank in expected_banks(night.hub.openbanking.banks):
        night.hub.statistics.ingest.ingest_days(bank, [DAY])

    assert stored_records(night) == [item for item in before if item["day"] == DAY.isoformat()]


def test_the_next_run_adds_late_counters_of_a_frozen_instance_to_the_record(night: Causeway) -> None:
    store_calls(night.hub.store, ALPHA, DAY, answered=["10:00:00"])
    ingest(night)
    store_calls(night.hub.store, ALPHA, DAY, answered=["10:00:00"])
    advance_to(night, DAY + timedelta(days=2))

    ingest(night)

    assert records(night)[DAY].total.answered == 2


@pytest.mark.parametrize("alone", [False, True], ids=["several processes", "single process"])
@pytest.mark.parametrize(("days", "time"), [(2, "01:10"), (35, "23:59")], ids=["two days later", "five weeks later"])
def test_the_next_run_adds_a_late_report_to_the_record(night: Causeway, alone: bool, days: int, time: str) -> None:
    ingest(night, alone=alone)
    assert records(night, BETA)[DAY].report == "missing"
    advance_to(night, DAY + timedelta(days=days), time)
    report(night)
    advance_to(night, DAY + timedelta(days=days + 1))

    ingest(night, alone=alone)

    assert (records(night, BETA)[DAY].report, records(night, BETA)[DAY].consent_duration) == ("received", 41_250)


def test_the_next_run_updates_the_record_after_a_replaced_report(night: Causeway) -> None:
    report(night)
    ingest(night)
    advance_to(night, DAY + timedelta(days=9))
    report(night, consent=None, payment=5)

    ingest(night)

    assert (records(night, BETA)[DAY].consent_duration, records(night, BETA)[DAY].payment_duration) == (None, 5)


def test_an_ingest_includes_the_days_of_missed_runs(night: Causeway) -> None:
    store_calls(night.hub.store, ALPHA, DAY, answered=["10:00:00"])
    advance_to(night, DAY + timedelta(days=20))

    ingest(night)

    assert list(records(night)) == [DAY + timedelta(days=number) for number in range(-1, 20)]
    assert records(night)[DAY].total.answered == 1


def store_made_up(causeway: Causeway, day: date = DAY, bic: str = ALPHA) -> DayRecord:
    made = DayRecord(bic, "Invented", day, {"AISP": CallCounts(9, 9)}, report="received", made_up=True)
    day_records.store_record(causeway.hub.store, made)
    return made


@pytest.mark.parametrize("unanswered", [[], TO_DOWN], ids=["no calls", "calls of the day before"])
def test_a_synthetic_record_is_not_replaced_if_no_counters_or_reports_exist(
    night: Causeway, unanswered: list[str]
) -> None:
    record = store_made_up(night)
    store_calls(night.hub.store, ALPHA, DAY - timedelta(days=1), unanswered=unanswered)

    ingest(night)

    assert records(night)[DAY] == record
    assert night.hub.statistics.ingest.ingest_days(BANK, [DAY]) == []


@pytest.mark.parametrize(
    ("bic", "members"),
    [
        (ALPHA, {"answered": 1, "name": "Bank of version 1", "report": "not_expected", "consent": None}),
        (BETA, {"answered": 0, "name": "Bank of version 2", "report": "received", "consent": 41_250}),
    ],
    ids=["counters", "a late report"],
)
def test_counters_or_a_late_report_replace_a_synthetic_record(
    night: Causeway, bic: str, members: dict[str, object]
) -> None:
    store_made_up(night, bic=bic)
    if bic == ALPHA:
        store_calls(night.hub.store, ALPHA, DAY, answered=["12:00:00"])
    else:
        advance_to(night, DAY + timedelta(days=9))
        report(night)

    ingest(night)

    found = records(night, bic)[DAY]
    figures = {"answered": found.total.answered, "name": found.name, "report": found.report}
    assert (found.made_up, figures | {"consent": found.consent_duration}) == (False, members)


def test_a_report_of_a_day_before_the_registration_does_not_replace_a_synthetic_record(night: Causeway) -> None:
    """Demonstration banks report the day before the stack was created."""
    before = DAY - timedelta(days=2)
    made = store_made_up(night, before, BETA)
    report(night, before)

    ingest(night)

    assert day_records.records_of_bank(night.hub.store, BETA, before, before) == [made]


def test_a_synthetic_record_causes_no_warning_about_a_missing_report(night: Causeway, lines: Lines) -> None:
    store_made_up(night, bic=BETA)

    ingest(night)

    assert "report missing" not in [line["message"] for line in lines.all()]


def test_records_do_not_change_after_their_bank_is_renamed_or_deactivated(night: Causeway) -> None:
    ingest(night)
    before = stored_records(night)
    night.hub.openbanking.banks.change(BETA, name="Another name", active=False)

    ingest(night)

    assert stored_records(night) == before


def test_a_deactivated_bank_has_records_only_of_days_with_requests(night: Causeway) -> None:
    store_calls(night.hub.store, BETA, DAY, answered=["10:00:00"])
    night.hub.openbanking.banks.change(BETA, active=False)

    ingest(night)

    assert {day: record.report for day, record in records(night, BETA).items()} == {DAY: "not_expected"}


def test_records_of_a_removed_bank_remain_and_its_last_days_can_be_ingested(night: Causeway) -> None:
    ingest(night)
    store_calls(night.hub.store, ALPHA, DAY + timedelta(days=1), answered=["03:00:00"])
    advance_to(night, DAY + timedelta(days=2))
    night.hub.openbanking.banks.remove(ALPHA)

    ingest(night)
    (made,) = night.hub.statistics.ingest.ingest_days(ExpectedBank(ALPHA, "Gone"), [DAY + timedelta(days=1)])

    assert made == Ingested(made.record, is_new=True)
    assert [(record.name, record.total.answered) for record in records(night).values()] == [
        ("Bank of version 1", 0),
        ("Bank of version 1", 0),
        ("Gone", 1),
    ]


@pytest.mark.parametrize("ahead", [0, 1, 400])
def test_an_ingest_of_an_unfinished_day_is_rejected(night: Causeway, ahead: int) -> None:
    day = DAY + timedelta(days=1 + ahead)

    with pytest.raises(DayRefused, match=f"^{day} is not over yet"):
        night.hub.statistics.ingest.ingest_days(BANK, [DAY, day])

    assert stored_records(night) == []


def test_an_ingest_of_a_day_with_expired_counters_is_rejected(night: Causeway) -> None:
    advance_to(night, DAY + timedelta(days=ingesting.OLDEST_INGESTED + 1), "00:00")

    with pytest.raises(DayRefused, match="2026-03-03 is more than 112 days ago") as refused:
        night.hub.statistics.ingest.ingest_days(BANK, [DAY + timedelta(days=1), DAY])

    assert refused.value.day == DAY
    assert stored_records(night) == []


def test_the_counters_of_the_oldest_day_that_can_be_ingested_have_not_expired() -> None:
    reach = timedelta(days=REACH_DAYS)
    latest = datetime.combine(DAY, datetime.max.time(), UTC) + timedelta(days=ingesting.OLDEST_INGESTED)
    first_counters = datetime.combine(DAY - reach, datetime.min.time(), UTC)

    assert latest < first_counters + timedelta(days=RETENTION_DAYS)


def test_the_documentation_states_the_ingest_limits() -> None:
    text = " ".join(section(STATISTICS, "## Daily performance").split())
    limits = {row[0]: row[1] for row in rows(section(OPERATIONS, "## Limits"))}

    assert f"days more than {ingesting.OLDEST_INGESTED} days ago" in text
    assert f"Each of the last {ingesting.WATCHED_DAYS} days that has no record" in text
    assert f"the counters of the {REACH_DAYS} days before" in text
    assert f"kept for {RETENTION_DAYS} days" in text
    assert limits["Oldest day that can be ingested"] == f"{ingesting.OLDEST_INGESTED} days ago"
    assert limits["A run of ingest"].startswith(f"{ingesting.RUN_SECONDS} s")


def test_failed_ingest_of_one_bank_does_not_stop_other_banks_and_is_repeated_by_the_next_run(
    night: Causeway, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_calls(night.hub.store, ALPHA, DAY, answered=["10:00:00"])
    report(night)
    real = night.hub.store.put

    def put(table: str, item: Item, *condition: Any) -> None:
        if item["part"] == f"{ALPHA}#{DAY}":
            raise StoreUnavailable("DynamoDB cannot be reached")
        real(table, item, *condition)

    with monkeypatch.context() as patch:
        patch.setattr(night.hub.store, "put", put)
        with pytest.raises(IngestIncomplete, match=ALPHA) as incomplete:
            ingest(night)
    assert incomplete.value.bics == (ALPHA,)
    assert [line["bic"] for line in lines.all() if line["message"] == "days not ingested"] == [ALPHA]
    assert (DAY in records(night), DAY in records(night, BETA)) == (False, True)
    assert set(day_overviews.read_overviews(night.hub.store, [DAY])[DAY].rows) == {BETA}

    ingest(night)

    assert records(night)[DAY].total.answered == 1
    assert set(day_overviews.read_overviews(night.hub.store, [DAY])[DAY].rows) == {ALPHA, BETA}


def test_an_ingest_run_at_its_time_limit_does_not_start_the_next_bank(
    night: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = night.hub.statistics.ingest.ingest_due

    def due(bank: ExpectedBank) -> list[Ingested]:
        night.clock.advance(ingesting.RUN_SECONDS)
        return real(bank)

    monkeypatch.setattr(night.hub.statistics.ingest, "ingest_due", due)

    with pytest.raises(IngestIncomplete) as incomplete:
        ingest(night)

    (left,) = incomplete.value.bics
    (begun,) = {ALPHA, BETA} - {left}
    assert (DAY in records(night, begun), DAY in records(night, left)) == (True, False)


def test_consecutive_ingest_runs_start_with_different_banks(night: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = night.hub.statistics
    banks = [ExpectedBank(f"BANKGB{number:02}", "A bank") for number in range(10)]
    orders: list[list[str]] = []

    def note_order(bank: ExpectedBank) -> list[Ingested]:
        orders[-1].append(bank.bic)
        return []

    monkeypatch.setattr(statistics.ingest, "ingest_due", note_order)
    for _ in range(5):
        orders.append([])
        statistics.ingest.run(banks)
        night.clock.advance(24 * 3600)

    assert all(sorted(order) == [bank.bic for bank in banks] for order in orders)
    assert len({order[-1] for order in orders}) > 1 < len({order[0] for order in orders})


def test_the_ingest_is_scheduled_every_night_at_01_10(night: Causeway) -> None:
    import app

    scheduled = [each for each in app.app.event_sources if isinstance(each, ScheduledEventConfig)]
    assert {schedule_expression(each) for each in scheduled if each.name == "ingest"} == {"cron(10 1 * * ? *)"}

    run_schedule(app.app.handler_map["ingest"])

    assert DAY in records(night)


def test_a_single_process_uses_cached_records_on_the_next_day_with_the_same_result(
    night: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(night, alone=True)
    before = records(night)[DAY]
    advance_to(night, DAY + timedelta(days=2))
    monkeypatch.setattr(day_records, "records_of_bank", lambda *_: pytest.fail("the records are known"))
    ingest(night, alone=True)
    monkeypatch.undo()
    found = records(night)

    assert found[DAY] == before
    assert DAY + timedelta(days=1) in found
    ingest(night)
    assert records(night) == found


def test_a_single_process_ingests_all_days_after_a_gap(night: Causeway) -> None:
    ingest(night, alone=True)
    advance_to(night, DAY + timedelta(days=5))
    ingest(night, alone=True)

    assert {DAY + timedelta(days=number) for number in range(5)} <= records(night).keys()
