"""The figures of all banks for some days, as CSV and JSON: one row per bank.

Names and units are the same as in the export of day records. An unknown value is empty in CSV and ``null`` in JSON,
never 0. Days with synthetic figures are omitted (see ``day_overviews.without_made_up_rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics.call_counts import PERCENTILES
from chalicelib.statistics.day_overviews import BankFigures
from chalicelib.statistics.days import DayRange
from chalicelib.statistics.export import Row, Value, write_csv


@dataclass(frozen=True, slots=True)
class BankDays:
    """A bank's figures for some days."""

    bic: str
    name: str
    days: DayRange
    figures: BankFigures


@dataclass(frozen=True, slots=True)
class BankColumn:
    """A column: its name, meaning, and value for a bank."""

    name: str
    meaning: str
    of: Callable[[BankDays], Value]


def _percentile(percent: int) -> Callable[[BankDays], Value]:
    return lambda bank: bank.figures.percentile(percent)


def _downtime(bank: BankDays) -> Value:
    return bank.figures.unavailability_minutes if bank.figures.used_days else None


def _count_of(number: Callable[[BankFigures], int]) -> Callable[[BankDays], Value]:
    return lambda bank: number(bank.figures) if bank.figures.days else None


COLUMNS: tuple[BankColumn, ...] = (
    BankColumn("from", "First of the days, UTC", lambda bank: bank.days.since.isoformat()),
    BankColumn("to", "Last of the days", lambda bank: bank.days.until.isoformat()),
    BankColumn("aspsp_bic", "BIC of the bank", lambda bank: bank.bic),
    BankColumn("aspsp_name", "Name of the bank", lambda bank: bank.name),
    BankColumn("days", "Days with figures", lambda bank: bank.figures.days),
    BankColumn("used_days", "Days with requests to the bank", lambda bank: bank.figures.used_days),
    BankColumn("uptime_percent", "Part of these days that it was not down", lambda bank: bank.figures.availability),
    BankColumn("downtime_minutes", "Downtime of these days", _downtime),
    BankColumn("requests", "Requests to the bank", _count_of(lambda figures: figures.requests)),
    BankColumn("bank_failures", "Failures caused by the bank", _count_of(lambda figures: figures.failures)),
    BankColumn(
        "error_response_rate_percent", "Requests that failed by its fault", lambda bank: bank.figures.error_rate
    ),
    *(
        BankColumn(f"bank_p{percent}_ms", f"Time at the bank that was enough for {percent} %", _percentile(percent))
        for percent in PERCENTILES
    ),
)
NAMES: Sequence[str] = tuple(column.name for column in COLUMNS)


def build_rows(banks: Iterable[BankDays]) -> Iterable[Row]:
    return ({column.name: column.of(bank) for column in COLUMNS} for bank in banks)


def as_csv(given: Iterable[Row]) -> str:
    """Return the rows as CSV with a header (see ``export.write_csv``)."""
    return write_csv(NAMES, given)


def as_json(given: Iterable[Row]) -> str:
    """Return ``{"banks": […]}`` with an object per row. Numbers have the same digits as in CSV."""
    return jsontext.dumps({"banks": list(given)})
