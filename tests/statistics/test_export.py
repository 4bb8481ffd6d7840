"""The layout of the regulatory statistics: a row per day and bank, exact numbers, and nothing made up."""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal

from chalicelib.foundation import jsontext
from chalicelib.statistics.call_counts import CallCounts, Histogram, Latencies
from chalicelib.statistics.day_records import DayRecord
from chalicelib.statistics.export import COLUMNS, NAMES, as_csv, as_json, build_rows
from infra.render.docs import statistics_columns
from tests.kit.documents import rows as cells
from tests.kit.documents import section

UNKNOWN = DayRecord("ALPHGB21", 'Bank "A", London', date(2026, 11, 21))


def took(*milliseconds: float) -> Histogram:
    histogram = Histogram()
    for each in milliseconds:
        histogram.add(each)
    return histogram


KNOWN = DayRecord(
    "BETADEF1",
    "Bänk\nB",
    date(2026, 11, 22),
    {
        "AISP": CallCounts(9, 7, 5, 1, bank_failures=6, caller_failures=2, hub_failures=1),
        "PISP": CallCounts(answered=3),
    },
    {"AISP": Latencies(took(1.25), took(100, 200.5)), "PISP": Latencies(took(), took(1000))},
    ((0, 61), (86_399, 86_400)),
    "received",
    41_250,
    None,
    1_772_442_000,
)


def test_a_row_begins_with_the_figures_required_by_regulation() -> None:
    (row,) = build_rows([KNOWN])

    assert list(row) == list(NAMES)
    assert [row[name] for name in NAMES[:11]] == [
        "2026-11-22",
        "BETADEF1",
        "Bänk\nB",
        "dedicated",
        Decimal("99.928"),
        Decimal("0.072"),
        Decimal("1.03"),
        Decimal("1000.0"),
        Decimal("150.3"),
        None,
        Decimal("40.000"),
    ]


def test_a_row_has_counts_percentiles_and_the_report_of_the_bank() -> None:
    (row,) = build_rows([KNOWN])

    assert {name: row[name] for name in NAMES[11:18]} == {
        "calls": 9,
        "answered": 10,
        "unanswered": 5,
        "not_asked": 1,
        "bank_failures": 6,
        "caller_failures": 2,
        "hub_failures": 1,
    }
    assert row["bank_p50_ms"] == Decimal("215.3")
    assert row["bank_p99_ms"] == Decimal("1024.0")
    assert row["hub_p95_ms"] == Decimal("1.3")
    assert [row[name] for name in NAMES[-4:]] == [41_250, None, "received", "2026-03-02T09:00:00+00:00"]


def test_uptime_and_downtime_add_up_to_100_percent() -> None:
    for until in (1, 43_200, 86_400, 28_801):
        record = DayRecord("A", "A", KNOWN.day, {"AISP": CallCounts(answered=1)}, {}, ((0, until),))
        (row,) = build_rows([record])
        assert row["uptime_percent"] + row["downtime_percent"] == 100  # type: ignore[operator]


def test_unknown_figures_are_empty_in_csv_and_null_in_json() -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv(build_rows([UNKNOWN]))))
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


def test_csv_is_parsed_to_the_written_values() -> None:
    text = as_csv(build_rows([UNKNOWN, KNOWN]))
    read = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

    assert text.startswith(",".join(NAMES) + "\r\n")
    assert text.endswith("\r\n")
    assert '"Bank ""A"", London"' in text
    assert [row["aspsp_name"] for row in read] == [UNKNOWN.name, KNOWN.name]
    assert [list(row) for row in read] == [list(NAMES)] * 2


def test_a_bank_name_that_begins_like_a_formula_is_escaped_in_csv() -> None:
    for name in ("=1+1", "+1", "-1", "@SUM(A1)"):
        given = list(build_rows([DayRecord("A", name, KNOWN.day)]))
        (read,) = csv.DictReader(io.StringIO(as_csv(given), newline=""))

        assert read["aspsp_name"] == f"'{name}"
        assert jsontext.loads(as_json(given))["days"][0]["aspsp_name"] == name


def test_json_and_csv_have_the_same_digits() -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv(build_rows([KNOWN])), newline=""))
    (given,) = jsontext.loads(as_json(build_rows([KNOWN])))["days"]

    assert {name: "" if value is None else str(value) for name, value in given.items()} == row
    assert type(given["uptime_percent"]) is jsontext.Number
    assert '"uptime_percent":99.928,' in as_json(build_rows([KNOWN]))


def test_an_export_without_records_has_the_column_names_only() -> None:
    assert as_csv(build_rows([])) == ",".join(NAMES) + "\r\n"
    assert as_json(build_rows([])) == '{"days":[]}'


def test_no_column_is_a_binary_float() -> None:
    for record in (KNOWN, UNKNOWN):
        (row,) = build_rows([record])
        assert not [name for name, value in row.items() if isinstance(value, float)]


def test_the_documentation_lists_every_column_with_its_regulatory_source() -> None:
    documented = cells(section(statistics_columns.render(), "## Days of a bank"))[2:]

    nobody = "\N{EN DASH}"
    assert documented == [[column.name, column.meaning.replace("`", ""), column.source or nobody] for column in COLUMNS]
