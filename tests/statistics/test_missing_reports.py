"""Which banks have a report to make of a day, and who is told when it is missing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.figures import counted
from tests.log_lines import Lines
from tests.statistics.made_up import BETA
from tests.statistics.nights import DAY, ingest, records, report, turn_to
from tests.world import World


def told(world: World, output: str, **about: str) -> dict[str, list[float]]:
    """The values of the run's metrics in what was printed: of the stage as a whole, or ``about`` a bank."""
    names = ("MissingReports", "OverdueReports", "IngestedDays")
    found = {name: counted(output, name, Stage=world.hub.settings.stage, **about) for name in names}
    return {name: values for name, values in found.items() if values}


# -- Telling


def test_missing_reports_are_told_in_the_log_and_as_a_metric(
    night: World, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(night)

    output = capsys.readouterr().out
    warned = [line for line in lines.all() if line["message"] == "report missing"]
    assert [(line["level"], line["bic"], line["day"]) for line in warned] == [("WARNING", BETA, "2026-03-03")]
    assert told(night, output, Bank=BETA) == {"MissingReports": [1], "OverdueReports": [0]}
    assert told(night, output) == {"MissingReports": [1, 0], "OverdueReports": [0, 0], "IngestedDays": [4]}
    assert [line["records"] for line in lines.all() if line["message"] == "days ingested"] == [4]


def test_a_report_that_is_missing_in_the_second_night_is_overdue(
    night: World, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(night)
    capsys.readouterr()
    turn_to(night, DAY + timedelta(days=2))

    ingest(night)

    found = told(night, capsys.readouterr().out, Bank=BETA)
    assert found == {"MissingReports": [1, 1], "OverdueReports": [1, 0]}


def test_nobody_is_told_of_a_report_that_is_there(
    night: World, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    report(night)

    ingest(night)

    assert "report missing" not in lines.text
    assert told(night, capsys.readouterr().out) == {"MissingReports": [0], "OverdueReports": [0], "IngestedDays": [4]}


# -- Who has one to make


def test_version_1_has_no_report_to_make(night: World) -> None:
    ingest(night)

    assert {record.report for record in records(night).values()} == {"not_expected"}


def test_a_bank_has_no_report_to_make_of_the_day_that_it_was_registered_on(night: World) -> None:
    ingest(night)

    made = records(night, BETA)
    assert {day: record.report for day, record in made.items()} == {
        DAY - timedelta(days=1): "not_expected",
        DAY: "missing",
    }


def test_new_keys_do_not_make_a_bank_a_newly_registered_one(night: World) -> None:
    for _ in range(2):
        night.hub.openbanking.banks.rotate_api_key(BETA)

    ingest(night)

    assert records(night, BETA)[DAY].report == "missing"


def test_a_bank_of_which_it_is_not_known_when_it_was_registered_was_so_since_its_older_key(night: World) -> None:
    night.hub.store.update("banks", {"bic": BETA}, remove=["registered_at"])

    ingest(night)

    assert list(records(night, BETA)) == [DAY - timedelta(days=1), DAY]


def test_days_before_its_registration_have_no_record_whatever_a_bank_reports(night: World) -> None:
    report(night, DAY - timedelta(days=2))

    ingest(night)

    assert min(records(night, BETA)) == DAY - timedelta(days=1)
