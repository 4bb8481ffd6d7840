"""The synthetic days of a new stack are plausible, deterministic and marked, and never replace measured days."""

from datetime import date, timedelta

import pytest

from chalicelib.demo_bank.profiles import PROFILES
from chalicelib.statistics import day_records
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DAY_SECONDS, hours_of
from chalicelib.statistics.ingest import ExpectedBank
from infra.local.bank_days import DAYS, BankBehaviour, made_up_days, store_made_up_days
from tests.causeway import Causeway
from tests.statistics.bank_days import hourly, record, summarize
from tests.website.web_user import WebUser

LATEST = date(2026, 3, 1)
"""The day before the current day of the service."""
BIC, OTHER = "ALPHGB21", "BETADEF1"
BEHAVIOURS = {BIC: BankBehaviour(), OTHER: BankBehaviour(outages=9, longest=150, slowness=2.4, failed_share=0.06)}


def days(bic: str = BIC, latest: date = LATEST, *, reports: bool = False) -> list[DayRecord]:
    return made_up_days(ExpectedBank(bic, "A bank", is_active=True, reports=reports), BEHAVIOURS[bic], latest)


def stored(causeway: Causeway, bic: str = BIC) -> list[DayRecord]:
    return day_records.records_of_bank(
        causeway.hub.store, bic, LATEST - timedelta(days=400), LATEST + timedelta(days=1)
    )


def test_ninety_synthetic_days_end_yesterday_and_are_marked() -> None:
    made = days()

    assert [each.day for each in made] == [LATEST - timedelta(days=ago) for ago in range(DAYS - 1, -1, -1)]
    assert DAYS == 90
    assert all(each.made_up for each in made)


def test_synthetic_days_are_deterministic() -> None:
    assert [each.to_item() for each in days()] == [each.to_item() for each in days()]
    assert [each.total for each in days()] != [each.total for each in days(OTHER)]


@pytest.mark.parametrize("bic", list(BEHAVIOURS))
def test_the_figures_of_a_synthetic_day_are_consistent(bic: str) -> None:
    for each in days(bic):
        for service, counts in each.tallies.items():
            assert counts.calls == counts.answered + counts.unanswered + counts.not_asked
            assert counts.bank_failures >= counts.unanswered
            assert each.latencies[service].hub.count == counts.calls
            succeeded = counts.answered - counts.caller_failures - (counts.bank_failures - counts.unanswered)
            assert each.latencies[service].bank.count == succeeded > 0
        assert (each.total.unanswered >= 5) == bool(each.down)
        assert all(0 < since < until < DAY_SECONDS for since, until in each.down)


def test_synthetic_bank_days_have_quiet_weekends_slow_days_and_three_downtimes() -> None:
    made = days()
    calls = {each.day.weekday(): each.total.calls for each in made}
    usual = [each.latency.bank.percentile(50) or 0 for each in made]

    assert max(calls[5], calls[6]) < min(calls[day] for day in range(5))
    assert len([each for each in made if each.down]) == 3
    assert 99 < (summarize(made).availability or 0) < 100
    assert len([each for each in usual if each > sorted(usual)[len(usual) // 2] * 3 // 2]) == 4


def test_fault_banks_have_lower_availability_and_more_errors() -> None:
    assert (summarize(days(OTHER)).availability or 0) < (summarize(days()).availability or 0)
    assert (summarize(days(OTHER)).total.error_rate or 0) > 10 * (summarize(days()).total.error_rate or 0)


def test_only_banks_with_mandatory_reports_have_synthetic_reports() -> None:
    assert {(each.report, each.consent_duration, each.report_received_at) for each in days()} == {
        ("not_expected", None, None)
    }
    for each in days(reports=True):
        assert each.report == "received"
        assert (each.consent_duration or 0) > (each.payment_duration or 0) > 0
        assert each.report_received_at is not None
        assert 0 < each.report_received_at - hours_of(each.day)[0] - DAY_SECONDS < 3600


def test_synthetic_statistics_are_stored_only_for_the_specified_banks(causeway: Causeway) -> None:
    store_made_up_days(causeway.hub, {OTHER: BEHAVIOURS[OTHER], "NOBKGB2L": BankBehaviour()})

    assert stored(causeway) == []
    made = stored(causeway, OTHER)
    assert made == made_up_days(ExpectedBank(OTHER, made[0].name, reports=True), BEHAVIOURS[OTHER], LATEST)


def test_synthetic_days_never_replace_measured_or_earlier_synthetic_days(causeway: Causeway) -> None:
    measured = record(BIC, LATEST, hourly(BIC, hours_of(LATEST)[0], answered=3))
    day_records.store_record(causeway.hub.store, measured)

    store_made_up_days(causeway.hub, BEHAVIOURS)
    first = stored(causeway)
    store_made_up_days(causeway.hub, dict.fromkeys(BEHAVIOURS, BankBehaviour(slowness=9)))

    assert first[-1] == measured
    assert len(first) == DAYS
    assert stored(causeway) == first


def test_every_demonstration_bank_has_synthetic_days(causeway: Causeway) -> None:
    """A visitor may select any demonstration bank."""
    from infra.local.first_data import behaviours

    assert set(behaviours()) == {profile.bic for profile in PROFILES}


def test_the_performance_page_marks_synthetic_days_and_offers_no_download(causeway: Causeway) -> None:
    store_made_up_days(causeway.hub, BEHAVIOURS)
    visitor = WebUser(causeway)
    visitor.get(f"/performance?bic={BIC}&from={LATEST - timedelta(days=89)}&to={LATEST}")

    assert "All of these days are made up." in visitor.last.text
    assert visitor.last.text.count("<i>made up</i>") == 2 * DAYS
    assert "format=csv" not in visitor.last.text
    assert "No download: downloads have measured days only" in visitor.last.text
    csv = visitor.get(f"/performance?bic={BIC}&from={LATEST - timedelta(days=89)}&to={LATEST}&format=csv").text
    assert csv.count("\n") == 1
