"""The export layouts: one row per day and bank, or one row per bank. Numbers are exact. Unknown figures are empty."""

import csv
import io
from collections import Counter
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.statistics import export, overview_export
from chalicelib.statistics.call_counts import PERCENTILES, CallCounts, Histogram, Latencies
from chalicelib.statistics.day_overviews import BankFigures, pack_histogram
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.days import DayRange
from chalicelib.statistics.export import COLUMNS, NAMES, as_csv, as_json, build_rows
from chalicelib.statistics.overview_export import BankDays
from infra.render.docs import statistics_columns
from tests.kit.documents import rows as cells
from tests.kit.documents import section
from tests.statistics.bank_days import histogram

UNKNOWN = DayRecord("ALPHGB21", 'Bank "A", London', date(2026, 11, 21))


KNOWN = DayRecord(
    "BETADEF1",
    "Bänk\nB",
    date(2026, 11, 22),
    {
        "AISP": CallCounts(9, 7, 5, 1, bank_failures=6, caller_failures=2, hub_failures=1),
        "PISP": CallCounts(answered=3),
    },
    {"AISP": Latencies(histogram(1.25), histogram(100, 200.5)), "PISP": Latencies(histogram(), histogram(1000))},
    ((0, 61), (86_399, 86_400)),
    "received",
    41_250,
    None,
    1_772_442_000,
)


NOVEMBER = DayRange(date(2026, 11, 1), date(2026, 11, 30))
FIGURES = BankFigures(30, 28, 0, 61, 1000, 7, pack_histogram(Histogram(Counter({40: 9}))))
KNOWN_BANK = BankDays("ALPHGB21", '=HYPERLINK("x"), "A"', NOVEMBER, FIGURES)
UNKNOWN_BANK = BankDays("BETADEF1", "Bänk B", NOVEMBER, BankFigures())


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_an_export_row_begins_with_the_figures_required_by_regulation() -> None:
    (row,) = build_rows([KNOWN])

    assert list(row) == list(NAMES)
    assert [*row.values()][:4] == ["2026-11-22", "BETADEF1", "Bänk\nB", "dedicated"]
    availability, times = (Decimal("99.928"), Decimal("0.072"), Decimal("1.03")), (Decimal("1000.0"), Decimal("150.3"))
    assert [*row.values()][4:11] == [*availability, *times, None, Decimal("40.000")]


def test_an_export_row_has_counts_percentiles_and_the_report_of_the_bank() -> None:
    (row,) = build_rows([KNOWN])

    counts = {"calls": 9, "answered": 10, "unanswered": 5, "not_asked": 1}
    failures = {"bank_failures": 6, "caller_failures": 2, "hub_failures": 1}
    assert {name: row[name] for name in NAMES[11:18]} == counts | failures
    assert row["bank_p50_ms"] == Decimal("215.3")
    assert row["bank_p99_ms"] == Decimal("1024.0")
    assert row["hub_p95_ms"] == Decimal("1.3")
    assert [row[name] for name in NAMES[-4:]] == [41_250, None, "received", "2026-03-02T09:00:00+00:00"]


@pytest.mark.parametrize("until", [1, 43_200, 86_400, 28_801])
def test_uptime_and_downtime_sum_to_100_percent(until: int) -> None:
    (row,) = build_rows([DayRecord("A", "A", KNOWN.day, {"AISP": CallCounts(answered=1)}, {}, ((0, until),))])

    assert row["uptime_percent"] + row["downtime_percent"] == 100  # type: ignore[operator]


def test_unknown_figures_are_empty_in_csv_and_null_in_json() -> None:
    (row,) = read_csv(as_csv(build_rows([UNKNOWN])))
    (given,) = jsontext.loads(as_json(build_rows([UNKNOWN])))["days"]

    counts = set(NAMES[11:18])
    assert {name for name, value in row.items() if value == ""} == {name for name in given if given[name] is None}
    assert {name for name, value in given.items() if value is not None} - counts == {
        "day",
        "aspsp_bic",
        "aspsp_name",
        "interface",
        "report",
    }


def test_an_exported_csv_is_parsed_to_the_written_values() -> None:
    text = as_csv(build_rows([UNKNOWN, KNOWN]))
    read = read_csv(text)

    assert text.startswith(",".join(NAMES) + "\r\n")
    assert text.endswith("\r\n")
    assert '"Bank ""A"", London"' in text
    assert [row["aspsp_name"] for row in read] == [UNKNOWN.name, KNOWN.name]
    assert [list(row) for row in read] == [list(NAMES)] * 2


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_a_bank_name_that_begins_with_a_formula_character_is_escaped_in_csv(name: str) -> None:
    given = list(build_rows([DayRecord("A", name, KNOWN.day)]))
    (read,) = read_csv(as_csv(given))

    assert read["aspsp_name"] == f"'{name}"
    assert jsontext.loads(as_json(given))["days"][0]["aspsp_name"] == name


def test_exported_json_and_csv_have_the_same_digits() -> None:
    (row,) = read_csv(as_csv(build_rows([KNOWN])))
    (given,) = jsontext.loads(as_json(build_rows([KNOWN])))["days"]

    assert {name: "" if value is None else str(value) for name, value in given.items()} == row
    assert type(given["uptime_percent"]) is jsontext.Number
    assert '"uptime_percent":99.928,' in as_json(build_rows([KNOWN]))


def test_an_export_without_records_contains_only_the_column_names() -> None:
    assert as_csv(build_rows([])) == ",".join(NAMES) + "\r\n"
    assert as_json(build_rows([])) == '{"days":[]}'


@pytest.mark.parametrize(
    ("layout", "exported"),
    [(export, KNOWN), (export, UNKNOWN), (overview_export, KNOWN_BANK), (overview_export, UNKNOWN_BANK)],
    ids=["known day", "unknown day", "known bank", "unknown bank"],
)
def test_no_export_column_contains_a_binary_float(layout: Any, exported: Any) -> None:
    (row,) = layout.build_rows([exported])
    assert not [name for name, value in row.items() if isinstance(value, float)]


def test_the_documentation_lists_every_export_column_with_its_regulatory_source() -> None:
    documented = cells(section(statistics_columns.render(), "## Days of a bank"))[2:]

    no_source = "\N{EN DASH}"
    assert documented == [
        [column.name, column.meaning.replace("`", ""), column.source or no_source] for column in COLUMNS
    ]


def test_the_documentation_lists_every_export_column_of_the_overview() -> None:
    documented = cells(section(statistics_columns.render(), "## Overview of all banks"))[2:]

    assert documented == [[column.name, column.meaning] for column in overview_export.COLUMNS]


def test_an_export_row_of_the_overview_has_exact_figures() -> None:
    (row,) = overview_export.build_rows([KNOWN_BANK])

    assert list(row) == list(overview_export.NAMES)
    figures = [30, 28, Decimal("99.997"), Decimal("1.02"), 1000, 7, Decimal("0.700")]
    assert [*row.values()][:11] == ["2026-11-01", "2026-11-30", "ALPHGB21", KNOWN_BANK.name, *figures]
    assert row["bank_p95_ms"] == FIGURES.percentile(95)


def test_unknown_figures_of_the_overview_are_empty_in_csv_and_null_in_json() -> None:
    (row,) = read_csv(overview_export.as_csv(overview_export.build_rows([UNKNOWN_BANK])))
    (given,) = jsontext.loads(overview_export.as_json(overview_export.build_rows([UNKNOWN_BANK])))["banks"]

    unknown = {"uptime_percent", "downtime_minutes", "requests", "bank_failures", "error_response_rate_percent"}
    assert {name for name, value in row.items() if value == ""} == unknown | {
        f"bank_p{each}_ms" for each in PERCENTILES
    }
    assert given["uptime_percent"] is None


def test_a_bank_name_like_a_formula_is_quoted_and_escaped_in_the_overview() -> None:
    text = overview_export.as_csv(overview_export.build_rows([KNOWN_BANK, UNKNOWN_BANK]))

    assert """,ALPHGB21,"'=HYPERLINK(""x""), ""A""\",""" in text
    assert text.count("\r\n") == 3
