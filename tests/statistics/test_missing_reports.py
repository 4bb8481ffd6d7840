"""Daily reports that banks are expected to send, and warnings about missing daily reports."""

from datetime import timedelta

import pytest

from tests.causeway import Causeway
from tests.kit.logs import Lines, metric_values
from tests.statistics.bank_days import ALPHA, BETA, DAY, advance_to, ingest, records, report


def report_metrics(causeway: Causeway, output: str, **about: str) -> dict[str, list[float]]:
    """Return the printed metric values of an ingest run. ``about`` selects a bank instead of the whole stage."""
    names = ("MissingReports", "OverdueReports", "IngestedDays")
    found = {name: metric_values(output, name, Stage=causeway.hub.settings.stage, **about) for name in names}
    return {name: values for name, values in found.items() if values}


def test_a_missing_daily_report_causes_a_log_warning_and_a_metric(
    night: Causeway, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(night)

    output = capsys.readouterr().out
    warned = [line for line in lines.all() if line["message"] == "report missing"]
    assert [(line["level"], line["bic"], line["day"]) for line in warned] == [("WARNING", BETA, "2026-03-03")]
    assert report_metrics(night, output, Bank=BETA) == {"MissingReports": [1], "OverdueReports": [0]}
    assert report_metrics(night, output) == {"MissingReports": [1, 0], "OverdueReports": [0, 0], "IngestedDays": [4]}
    assert [line["records"] for line in lines.all() if line["message"] == "days ingested"] == [4]


def test_a_daily_report_missing_on_the_second_night_is_overdue(
    night: Causeway, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(night)
    capsys.readouterr()
    advance_to(night, DAY + timedelta(days=2))

    ingest(night)

    found = report_metrics(night, capsys.readouterr().out, Bank=BETA)
    assert found == {"MissingReports": [1, 1], "OverdueReports": [1, 0]}


def test_a_received_daily_report_causes_no_warning(
    night: Causeway, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    report(night)

    ingest(night)

    assert "report missing" not in lines.text
    assert report_metrics(night, capsys.readouterr().out) == {
        "MissingReports": [0],
        "OverdueReports": [0],
        "IngestedDays": [4],
    }


def test_reports_are_expected_of_version_2_banks_from_the_day_after_their_registration(night: Causeway) -> None:
    ingest(night)

    before = DAY - timedelta(days=1)
    states = {bic: {day: each.report for day, each in records(night, bic).items()} for bic in (ALPHA, BETA)}
    assert states[ALPHA] == {before: "not_expected", DAY: "not_expected"}
    assert states[BETA] == {before: "not_expected", DAY: "missing"}


def test_a_key_rotation_does_not_change_the_registration_of_a_bank(night: Causeway) -> None:
    for _ in range(2):
        night.hub.openbanking.banks.rotate_api_key(BETA)

    ingest(night)

    assert records(night, BETA)[DAY].report == "missing"


def test_a_bank_without_a_registration_time_counts_as_registered_since_its_oldest_key(night: Causeway) -> None:
    night.hub.store.update("banks", {"bic": BETA}, remove=["registered_at"])

    ingest(night)

    assert list(records(night, BETA)) == [DAY - timedelta(days=1), DAY]


def test_a_daily_report_of_a_day_before_the_registration_creates_no_record(night: Causeway) -> None:
    report(night, DAY - timedelta(days=2))

    ingest(night)

    assert min(records(night, BETA)) == DAY - timedelta(days=1)
