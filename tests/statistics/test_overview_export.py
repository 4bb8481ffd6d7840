"""The download of all banks: a row for each, exact numbers, and nothing made up."""

from __future__ import annotations

import csv
import io
from collections import Counter
from datetime import date
from decimal import Decimal

from chalicelib.foundation import jsontext
from chalicelib.statistics.call_counts import PERCENTILES, Histogram
from chalicelib.statistics.day_overviews import BankFigures, pack_histogram
from chalicelib.statistics.days import DayRange
from chalicelib.statistics.overview_export import COLUMNS, NAMES, BankDays, as_csv, as_json, build_rows
from infra.render.docs import statistics_columns
from tests.kit.documents import rows as cells
from tests.kit.documents import section

DAYS = DayRange(date(2026, 11, 1), date(2026, 11, 30))
KNOWN = BankDays(
    "ALPHGB21",
    '=HYPERLINK("x"), "A"',
    DAYS,
    BankFigures(30, 28, 0, 61, 1000, 7, pack_histogram(Histogram(Counter({40: 9})))),
)
UNKNOWN = BankDays("BETADEF1", "Bänk B", DAYS, BankFigures())


def test_a_row_has_exact_figures() -> None:
    (row,) = build_rows([KNOWN])

    assert list(row) == list(NAMES)
    assert [row[name] for name in NAMES[:4]] == ["2026-11-01", "2026-11-30", "ALPHGB21", KNOWN.name]
    assert [row[name] for name in NAMES[4:11]] == [
        30,
        28,
        Decimal("99.997"),
        Decimal("1.02"),
        1000,
        7,
        Decimal("0.700"),
    ]
    assert not [name for name, value in row.items() if isinstance(value, float)]
    assert row["bank_p95_ms"] == KNOWN.figures.percentile(95)


def test_unknown_figures_are_empty_in_csv_and_null_in_json() -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv(build_rows([UNKNOWN]))))

    unknown = {"uptime_percent", "downtime_minutes", "requests", "bank_failures", "error_response_rate_percent"}
    unknown |= {f"bank_p{percent}_ms" for percent in PERCENTILES}
    assert {name for name, value in row.items() if value == ""} == unknown
    assert jsontext.loads(as_json(build_rows([UNKNOWN])))["banks"][0]["uptime_percent"] is None


def test_a_bank_name_is_quoted_and_escaped_as_no_formula() -> None:
    text = as_csv(build_rows([KNOWN, UNKNOWN]))

    assert """,ALPHGB21,"'=HYPERLINK(""x""), ""A""\",""" in text
    assert text.count("\r\n") == 3


def test_the_documentation_lists_every_column() -> None:
    documented = cells(section(statistics_columns.render(), "## Overview of all banks"))[2:]

    assert documented == [[column.name, column.meaning] for column in COLUMNS]
