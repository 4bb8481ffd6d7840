"""Day records: their figures, their storage, and their queries by bank and by quarter."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from chalicelib.foundation import parallel
from chalicelib.foundation.dynamodb.store import ConditionFailed
from chalicelib.statistics import day_records
from chalicelib.statistics.call_counts import CallCounts, Histogram, Latencies
from chalicelib.statistics.day_records import OLDEST_DAYS, DailyReport, DayOutOfRange, DayRecord, Summary, measured
from chalicelib.statistics.days import DAY_SECONDS
from tests.causeway import START, Causeway
from tests.statistics.bank_days import ALPHA, BETA, histogram, summarize

DAY = date(2026, 3, 31)
BIC = "ALPHGB21"


def record(bic: str = "ALPHGB21", day: date = DAY, answered: int = 1) -> DayRecord:
    return DayRecord(bic, "Bank", day, {"AISP": CallCounts(answered=answered)})


def store(causeway: Causeway, *records: DayRecord) -> None:
    causeway.hub.store.transact([each.put() for each in records])


def records_of(causeway: Causeway, bic: str = BIC) -> list[DayRecord]:
    return day_records.records_of_bank(causeway.hub.store, bic, DAY, DAY)


@pytest.mark.parametrize(
    ("seconds", "availability", "minutes"),
    [
        (0, "100.000", "0.00"),
        (1, "99.999", "0.02"),
        (61, "99.929", "1.02"),
        (43_200, "50.000", "720.00"),
        (86_400, "0.000", "1440.00"),
    ],
)
def test_availability_is_calculated_exactly_to_a_thousandth_of_a_percent(
    seconds: int, availability: str, minutes: str
) -> None:
    down = ((0, seconds),) if seconds else ()
    made = DayRecord("A", "A", DAY, {"CBPII": CallCounts(unanswered=1)}, {}, down)

    assert (made.availability, made.unavailability_minutes) == (Decimal(availability), Decimal(minutes))


def test_the_error_rate_counts_all_requests_sent_to_the_bank() -> None:
    payments = CallCounts(unanswered=1, not_asked=1, bank_failures=1)
    made = DayRecord("A", "A", DAY, {"AISP": CallCounts(5, 4, 1, 0, bank_failures=1), "PISP": payments})

    assert made.total.error_rate == Decimal("33.333")
    assert record(answered=3).total.error_rate == 0


def test_a_day_without_requests_to_the_bank_has_no_figures() -> None:
    made = DayRecord("A", "A", DAY, {"authorization": CallCounts(calls=4, caller_failures=3, not_asked=1)})

    assert made.availability is None
    assert made.total.error_rate is None
    assert made.latency.bank.percentile(95) is None


def test_a_day_record_is_unchanged_after_storage(causeway: Causeway) -> None:
    latencies = {"AISP": Latencies(histogram(0.2, 17, 20_000), Histogram())}
    counts = {"AISP": CallCounts(1, 2, 3, 4, 5, 6, 7)}
    reported = ("received", 0, 9_999_999_999, 1_772_442_000)
    whole = DayRecord("ALPHGB21", "Bänk", DAY, counts, latencies, ((0, 5), (7, 86_400)), *reported)  # type: ignore[arg-type]
    store(causeway, whole, record("BETADEF1"))

    assert records_of(causeway) == [whole]
    assert records_of(causeway, "BETADEF1") == [record("BETADEF1")]


def test_only_a_synthetic_day_record_contains_the_member_made_up(causeway: Causeway) -> None:
    made_up = replace(record(), made_up=True)
    store(causeway, made_up, record("BETADEF1"))

    assert made_up.to_item()["made_up"] is True
    assert "made_up" not in record("BETADEF1").to_item()
    assert records_of(causeway) == [made_up]
    assert measured([made_up, record("BETADEF1")]) == [record("BETADEF1")]


def test_a_day_record_of_an_earlier_version_counts_as_measured() -> None:
    """Records of earlier versions have no member that marks synthetic figures."""
    item = record().to_item()
    assert item.keys() == {"subject", "part", "bic", "name", "day", "tallies", "latencies", "down", "report"}

    assert DayRecord.from_item(item).made_up is False


def test_a_new_day_record_does_not_replace_an_existing_record(causeway: Causeway) -> None:
    causeway.hub.store.transact([record(answered=1).put_new()])

    with pytest.raises(ConditionFailed):
        causeway.hub.store.transact([record(answered=2).put_new()])
    assert records_of(causeway) == [record(answered=1)]


@pytest.mark.parametrize(
    "down", [(), ((0, 86_400),), ((86_399, 86_400),), tuple((second, second + 1) for second in range(0, 86_400, 2))]
)
def test_a_record_with_the_maximum_number_of_downtimes_fits_into_an_item(
    causeway: Causeway, down: tuple[tuple[int, int], ...]
) -> None:
    made = replace(record(), down=down)
    store(causeway, made)

    assert records_of(causeway) == [made]
    assert len(str(made.to_item())) < 200_000


def test_a_later_record_of_a_day_replaces_the_earlier_record(causeway: Causeway) -> None:
    store(causeway, record(answered=1))
    store(causeway, record(answered=2))

    assert records_of(causeway) == [record(answered=2)]


def test_day_records_are_found_by_bank_and_day_across_quarters(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "WIDTH", 1)  # the emulator is not made for threads
    real = causeway.hub.store.query
    monkeypatch.setattr(causeway.hub.store, "query", lambda *of, **options: real(*of, **options, limit=2))
    days = [DAY + timedelta(days=number) for number in range(-3, 4)]
    for day in days:
        store(causeway, record("ALPHGB21", day), record("ALPHGB2L", day), record("ALPHGB21XXX", day))
    assert day_records.records_of_bank(causeway.hub.store, "ALPHGB21", days[1], days[5]) == [
        record("ALPHGB21", day) for day in days[1:6]
    ]
    assert day_records.records_of_bank(causeway.hub.store, "ALPHGB21", days[5], days[1]) == []
    assert list(day_records.records_of_all(causeway.hub.store, days[2], days[4])) == [
        *(record(bic, day) for bic in ("ALPHGB21", "ALPHGB21XXX", "ALPHGB2L") for day in days[2:4]),
        *(record(bic, days[4]) for bic in ("ALPHGB21", "ALPHGB21XXX", "ALPHGB2L")),
    ]


def test_a_summary_of_days_omits_days_without_requests_from_availability() -> None:
    seconds = DAY_SECONDS // 100
    busy, bad, quiet = (DayRecord(BIC, "A bank", DAY + timedelta(days=number)) for number in range(3))
    busy.tallies["AISP"] = CallCounts(calls=3, answered=3)
    bad = DayRecord(
        BIC, "A bank", bad.day, {"PISP": CallCounts(calls=1, unanswered=1, bank_failures=1)}, {}, ((0, seconds),)
    )
    found = summarize([busy, bad, quiet])

    assert (found.availability, found.downtime) == (Decimal("99.500"), seconds)
    assert (found.total.error_rate, found.total.bank_requests) == (Decimal("25.000"), 4)
    assert summarize([quiet]) == Summary(0, 0, CallCounts(), Latencies())
    assert [summarize([]).availability, summarize([]).downtime, summarize([]).total.error_rate] == [None] * 3


TODAY = START.date()


def store_report(causeway: Causeway, bic: str, day: date, consent: int | None = 1, payment: int | None = 2) -> None:
    causeway.hub.store.transact([causeway.hub.statistics.reports.put_report(DailyReport(bic, day, consent, payment))])


def test_reports_are_read_by_bank_and_days_with_their_time_of_receipt(causeway: Causeway) -> None:
    days = [TODAY - timedelta(days=ago) for ago in range(5)]
    for day in days:
        store_report(causeway, BETA, day, consent=day.day, payment=None)
    store_report(causeway, ALPHA, days[2])

    found = causeway.hub.statistics.reports.of_bank(BETA, days[3], days[1])

    now = causeway.clock.time()
    assert found == [DailyReport(BETA, day, day.day, None, now) for day in (days[3], days[2], days[1])]


def test_a_later_report_replaces_all_figures_of_the_earlier_report(causeway: Causeway) -> None:
    store_report(causeway, BETA, TODAY)
    causeway.clock.advance(60)
    store_report(causeway, BETA, TODAY, consent=None, payment=0)

    (found,) = causeway.hub.statistics.reports.of_bank(BETA, TODAY, TODAY)

    assert found == DailyReport(BETA, TODAY, None, 0, causeway.clock.time())


def test_daily_reports_are_read_in_pages(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    real = causeway.hub.store.query
    for ago in range(3):
        store_report(causeway, BETA, TODAY - timedelta(days=ago))
    monkeypatch.setattr(causeway.hub.store, "query", lambda *of, **options: real(*of, **options, limit=1))

    assert len(causeway.hub.statistics.reports.of_bank(BETA, TODAY - timedelta(days=9), TODAY)) == 3


@pytest.mark.parametrize("ago", [-400, -1, OLDEST_DAYS + 1, 4000])
def test_a_report_of_a_future_or_too_old_day_is_rejected(causeway: Causeway, ago: int) -> None:
    with pytest.raises(DayOutOfRange, match="date must not be"):
        store_report(causeway, BETA, TODAY - timedelta(days=ago))


@pytest.mark.parametrize("ago", [0, 1, OLDEST_DAYS])
def test_reports_of_days_from_the_oldest_allowed_day_to_today_are_accepted(causeway: Causeway, ago: int) -> None:
    store_report(causeway, BETA, TODAY - timedelta(days=ago))
