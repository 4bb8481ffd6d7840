"""The commands that create, show and export daily statistics."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from chalicelib.foundation import jsontext, parallel
from chalicelib.statistics import day_records
from chalicelib.statistics.export import NAMES
from infra.admin import connection
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.statistics import bank_days
from tests.statistics.bank_days import ALPHA, BETA, store_calls

COMMANDS = ("ingest", "show", "export")
DAY = date(2026, 3, 3)
TODAY = DAY + timedelta(days=1)
DOWN = [f"10:00:{second:02}" for second in range(5)]


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(parallel, "WIDTH", 1)  # the emulator is not made for threads
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    causeway.clock.advance(2 * 86_400)
    return causeway


@pytest.fixture
def measured(causeway: Causeway) -> Causeway:
    store_calls(causeway.hub.store, ALPHA, DAY, unanswered=DOWN, answered=["10:01:00"])
    assert causeway.banks[2].call("/daily_performance", {"date": str(DAY), "consentDuration": 41_250}).status == 200
    return causeway


@pytest.fixture
def removed(causeway: Causeway) -> Iterator[Causeway]:
    before = causeway.hub.store.get("banks", {"bic": ALPHA})
    assert before is not None
    causeway.hub.openbanking.banks.remove(ALPHA)
    yield causeway
    causeway.hub.store.put("banks", before)


@pytest.mark.parametrize("command", COMMANDS)
def test_statistics_command_help_shows_an_example_and_the_json_option(command: str) -> None:
    text = run("statistics", command, "--help").stdout

    assert f".venv/bin/python -m infra.admin statistics {command}" in text
    assert "--json" in text
    assert command in run("statistics", "--help").stdout


def test_statistics_ingest_records_pending_days_and_lists_missing_reports() -> None:
    first, again = done("statistics", "ingest"), done("statistics", "ingest")

    missing = [{"bic": BETA, "day": "2026-03-03"}]
    assert first == {"records": 4, "changed": 4, "missing_reports": missing}
    assert again == {"records": 4, "changed": 0, "missing_reports": missing}
    assert run("statistics", "ingest").stdout == (
        "4 records; created or changed: 0.\n\nThese reports are missing:\n\nbic       day\nBETADEF1  2026-03-03\n"
    )


def test_statistics_ingest_prints_no_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    done("statistics", "ingest", "--day", "2026-03-03")

    assert "_aws" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "records"),
    [
        (["--day", "2026-03-03"], 2),
        (["--from", "2026-03-02", "--to", "2026-03-03"], 4),
        (["--from", "2026-03-02"], 4),
        (["--day", "2026-03-03", "--bank", BETA.lower()], 1),
        (["--bank", BETA], 2),
    ],
)
def test_statistics_ingest_selects_days_and_a_bank(options: list[str], records: int) -> None:
    assert done("statistics", "ingest", *options)["records"] == records


def test_statistics_ingest_includes_the_last_days_of_a_removed_bank(measured: Causeway, removed: Causeway) -> None:
    assert done("statistics", "ingest", "--day", "2026-03-03")["records"] == 1
    assert done("statistics", "ingest", "--day", "2026-03-03", "--bank", ALPHA)["records"] == 1
    assert refused("statistics", "ingest", "--day", "2026-03-01", "--bank", ALPHA) == (
        f"there are no data about {ALPHA} for these days"
    )

    (row,) = done("statistics", "show", "--bank", ALPHA)["days"]
    assert (row["aspsp_name"], row["answered"]) == (ALPHA, 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--day", "2026-03-04"], "2026-03-04 is not over yet: a day can be ingested after midnight (UTC)"),
        (["--day", "2025-11-11"], "2025-11-11 is more than 112 days ago: its counters have expired"),
        (["--day", "3 March"], "'3 March' is not a day: use the format 2026-11-22"),
        (["--day", "2026-03-03", "--from", "2026-03-02"], "pass either --day, or --from and --to"),
        (["--to", "2026-03-02"], "--to requires --from"),
        (["--from", "2026-03-03", "--to", "2026-03-02"], "2026-03-03 is later than 2026-03-02"),
        (["--from", "2026-03-03", "--to", "9999-12-31"], "9999-12-31 is in the future"),
        (["--from", "2026-03-04"], "2026-03-04 is later than 2026-03-03"),
        (["--day", "20260303"], "'20260303' is not a day: use the format 2026-11-22"),
        (["--day", ""], "'' is not a day: use the format 2026-11-22"),
        (["--from", ""], "'' is not a day: use the format 2026-11-22"),
        (["--from", "2026-03-02", "--to", ""], "'' is not a day: use the format 2026-11-22"),
        (["--day", "2026-03-03", "--to", ""], "pass either --day, or --from and --to"),
        (["--bank", ""], "bic must not be empty"),
    ],
)
def test_statistics_ingest_rejects_invalid_days_with_a_one_line_error_message(
    options: list[str], sentence: str
) -> None:
    assert refused("statistics", "ingest", *options) == sentence


def test_statistics_ingest_refuses_days_before_the_registration_of_a_bank(causeway: Causeway) -> None:
    options = "statistics", "ingest", "--bank", BETA
    assert causeway.banks[2].call("/daily_performance", {"date": "2026-03-01", "consentDuration": 41_250}).status == 200

    assert refused(*options, "--from", "2026-02-27", "--to", "2026-03-01") == (
        f"{BETA} was registered on 2026-03-02: there are no records for earlier days"
    )
    assert done(*options, "--from", "2026-02-27", "--to", "2026-03-02")["records"] == 1


def test_statistics_commands_accept_a_bic_with_branch_code_xxx() -> None:
    assert done("statistics", "ingest", "--day", "2026-03-03", "--bank", f"{ALPHA}XXX")["records"] == 1
    assert len(done("statistics", "show", "--bank", f"{ALPHA}XXX")["days"]) == 1


@pytest.mark.parametrize("command", ["ingest", "show", "export"])
def test_statistics_commands_refuse_an_unknown_bank(command: str) -> None:
    options = "--from", "2026-03-02", "--bank", "NOSUCH2L"

    assert refused("statistics", command, *options) == "there are no data about NOSUCH2L for these days"


def test_statistics_commands_return_an_empty_list_for_a_bank_without_records() -> None:
    assert done("statistics", "show", "--bank", BETA)["days"] == []
    assert done("statistics", "export", "--from", "2026-03-02", "--bank", BETA)["days"] == []


def test_statistics_ingest_reports_unavailable_storage_as_a_one_line_error_message(causeway: Causeway) -> None:
    with causeway.storage_gone("put"):
        assert refused("statistics", "ingest") == "DynamoDB cannot be reached"


def test_statistics_show_lists_records_with_downtimes(measured: Causeway) -> None:
    done("statistics", "ingest")

    shown = done("statistics", "show", "--day", "2026-03-03")["days"]

    assert [(row["aspsp_bic"], row["down"], row["report"]) for row in shown] == [
        (ALPHA, ["10:00:00-10:01:00"], "not_expected"),
        (BETA, [], "received"),
    ]
    assert list(shown[0]) == [*NAMES, "made_up", "down"]
    assert [row["made_up"] for row in shown] == [False, False]
    assert (shown[0]["uptime_percent"], shown[1]["uptime_percent"]) == (99.931, None)
    text = run("statistics", "show").stdout
    assert "10:00:00-10:01:00" in text
    assert len(text.splitlines()) == 1 + 4
    assert run("statistics", "show", "--day", "2026-02-01").stdout == "There are no records for these days.\n"


def test_statistics_show_marks_synthetic_days(causeway: Causeway, measured: Causeway) -> None:
    done("statistics", "ingest")
    assert "made up" not in run("statistics", "show").stdout
    day_records.store_record(causeway.hub.store, replace(bank_days.record(ALPHA, DAY), made_up=True))

    (alpha, _) = done("statistics", "show", "--day", "2026-03-03")["days"]
    heads, first, second = run("statistics", "show", "--day", "2026-03-03").stdout.splitlines()

    assert alpha["made_up"] is True
    assert heads.endswith("  made up")
    assert first.endswith("  yes")
    assert second.endswith("  no")


def test_statistics_export_omits_synthetic_days_and_reports_their_number(measured: Causeway, tmp_path: Path) -> None:
    done("statistics", "ingest", "--day", "2026-03-03")
    for ago in (1, 2):
        invented = replace(bank_days.record(ALPHA, DAY - timedelta(days=ago)), made_up=True)
        day_records.store_record(measured.hub.store, invented)
    options = ["--quarter", "2026-Q1"]

    printed = run("statistics", "export", *options)
    data = json.loads(run("statistics", "export", *options, "--json").stdout)
    written = json.loads(run("statistics", "export", *options, "--output", str(tmp_path / "q1.csv"), "--json").stdout)

    assert printed.stderr == "2 made-up days left out.\n"
    assert len(printed.stdout.splitlines()) == 1 + 2
    assert [row["day"] for row in data["days"]] == ["2026-03-03", "2026-03-03"]
    assert data["made_up_days_left_out"] == written["made_up_days_left_out"] == 2
    assert written["rows"] == 2


def test_statistics_export_counts_synthetic_days_and_rows_of_several_banks(measured: Causeway) -> None:
    for bic in (ALPHA, BETA):
        for ago in (1, 2):
            invented = replace(bank_days.record(bic, DAY - timedelta(days=ago)), made_up=True)
            day_records.store_record(measured.hub.store, invented)

    assert run("statistics", "export", "--quarter", "2026-Q1").stderr == (
        "2 made-up days of 2 banks (4 rows) left out.\n"
    )
    data = json.loads(run("statistics", "export", "--quarter", "2026-Q1", "--json").stdout)
    assert data["made_up_days_left_out"] == 2


def test_statistics_export_writes_a_quarter_as_csv(measured: Causeway) -> None:
    done("statistics", "ingest")

    text = run("statistics", "export", "--quarter", "2026-Q1").stdout_bytes.decode()

    read = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert text.count("\r\n") == text.count("\n") == 5
    assert [(row["aspsp_bic"], row["day"]) for row in read] == [
        (bic, day) for bic in (ALPHA, BETA) for day in ("2026-03-02", "2026-03-03")
    ]
    assert [row["downtime_minutes"] for row in read] == ["", "1.00", "", ""]


def test_statistics_export_writes_json_with_exact_decimals(measured: Causeway) -> None:
    done("statistics", "ingest")
    options = ["--from", "2026-03-03", "--to", "2026-03-03", "--bank", ALPHA]

    text = run("statistics", "export", *options, "--format", "json").stdout
    printed = run("statistics", "export", *options, "--json").stdout

    (row,) = jsontext.loads(text)["days"]
    assert str(row["uptime_percent"]) == "99.931"
    assert jsontext.loads(printed) == jsontext.loads(text)
    assert '"uptime_percent": 99.931,' in printed


def test_statistics_export_writes_to_a_file(measured: Causeway, tmp_path: Path) -> None:
    done("statistics", "ingest")
    options = ["--quarter", "2026-Q1", "--output"]

    data = done("statistics", "export", *options, str(tmp_path / "q1.csv"))
    said = run("statistics", "export", *options, str(tmp_path / "q1.json"), "--format", "json", "--bank", BETA).stdout

    assert data == {"file": str(tmp_path / "q1.csv"), "format": "csv", "rows": 4}
    assert (tmp_path / "q1.csv").read_bytes().count(b"\r\n") == 5
    assert said == f"{tmp_path / 'q1.json'} has 2 rows.\n"
    assert len(json.loads((tmp_path / "q1.json").read_text("utf-8"))["days"]) == 2
    assert refused("statistics", "export", *options, str(tmp_path)) == f"{tmp_path} cannot be written: Is a directory"


def test_statistics_export_covers_days_of_two_quarters(causeway: Causeway) -> None:
    causeway.clock.advance(30 * 86_400)
    done("statistics", "ingest")

    found = done("statistics", "export", "--from", "2026-03-30", "--to", "2026-04-01")["days"]

    assert [(row["aspsp_bic"], row["day"]) for row in found] == [
        (ALPHA, "2026-03-30"),
        (ALPHA, "2026-03-31"),
        (BETA, "2026-03-30"),
        (BETA, "2026-03-31"),
        (ALPHA, "2026-04-01"),
        (BETA, "2026-04-01"),
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "pass either --quarter, or --from and --to"),
        (["--quarter", "2026-Q1", "--from", "2026-03-01"], "pass either --quarter, or --from and --to"),
        (["--quarter", "2026-Q1", "--to", "2026-03-01"], "pass either --quarter, or --from and --to"),
        (["--quarter", "2026-Q5"], "'2026-Q5' is not a quarter: use the format 2026-Q4"),
        (["--quarter", "26Q1"], "'26Q1' is not a quarter: use the format 2026-Q4"),
        (["--to", "2026-03-01"], "--to requires --from"),
        (["--quarter", ""], "'' is not a quarter: use the format 2026-Q4"),
        (["--quarter", "2026-Q1", "--from", ""], "pass either --quarter, or --from and --to"),
    ],
)
def test_statistics_export_needs_either_a_quarter_or_days(options: list[str], sentence: str) -> None:
    assert refused("statistics", "export", *options) == sentence
