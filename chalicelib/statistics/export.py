"""Day records in the layout of the regulatory statistics (RTS article 32(4), EBA/GL/2018/07), as CSV and JSON.

Exports have one row per day and bank (ASPSP), for the bank's dedicated interface. Unknown values are empty in CSV and
``null`` in JSON, never 0. Exports omit days with synthetic figures (``day_records.measured``).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics.call_counts import COUNTED, PERCENTILES, Latencies, Service
from chalicelib.statistics.day_records import DayRecord

Value = str | int | Decimal | None
Row = dict[str, Value]

INTERFACE = "dedicated"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_COUNTED: Mapping[str, str] = {
    "calls": "TPP requests that concerned the bank",
    "answered": "Requests to the bank that received a response",
    "unanswered": "Requests to the bank that received no response",
    "not_asked": "TPP requests not sent, or given up after 3 s, because the bank was not responding",
    "bank_failures": "Failures caused by the bank",
    "caller_failures": "Failures caused by the TPP or its user",
    "hub_failures": "Failures caused by this service",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, meaning, value for a record, and the guideline that requires it, if any."""

    name: str
    meaning: str
    of: Callable[[DayRecord], Value]
    source: str = ""


def _average(service: Service) -> Callable[[DayRecord], Value]:
    return lambda record: record.latencies.get(service, Latencies()).bank.average


def _percentile(side: str, percent: int) -> Callable[[DayRecord], Value]:
    return lambda record: getattr(record.latency, side).percentile(percent)


def _count(name: str) -> Callable[[DayRecord], int]:
    return lambda record: getattr(record.total, name)


def _downtime(record: DayRecord) -> Value:
    return None if record.availability is None else 100 - record.availability


COLUMNS: tuple[Column, ...] = (
    Column("day", "UTC day, from midnight to midnight", lambda record: record.day.isoformat(), "GL 2.4(b)"),
    Column("aspsp_bic", "BIC of the bank", lambda record: record.bic, "GL 3.1"),
    Column("aspsp_name", "Name of the bank", lambda record: record.name, "GL 3.1"),
    Column("interface", f"Always `{INTERFACE}`", lambda _: INTERFACE, "RTS Art. 32(4)"),
    Column("uptime_percent", "100 less the downtime", lambda record: record.availability, "GL 2.2(a), 2.4(a)"),
    Column("downtime_percent", "Part of the day's seconds that it was down", _downtime, "GL 2.2(b), 2.4(b), 2.4(c)"),
    Column(
        "downtime_minutes",
        "The same in minutes",
        lambda record: None if record.availability is None else record.unavailability_minutes,
        "GL 2.4(b), 2.4(c)",
    ),
    Column("pisp_average_ms", "Average time of a PISP's request at the bank", _average("PISP"), "GL 2.3(a)"),
    Column("aisp_average_ms", "Average time of an AISP's request at the bank", _average("AISP"), "GL 2.3(b)"),
    Column("cbpii_average_ms", "Average time of a confirmation of funds at the bank", _average("CBPII"), "GL 2.3(c)"),
    Column(
        "error_response_rate_percent",
        "Requests that failed by its fault",
        lambda record: record.total.error_rate,
        "GL 2.3(d)",
    ),
    *(Column(name, _COUNTED[name], _count(name)) for name in COUNTED),
    *(
        Column(
            f"{side}_p{percent}_ms",
            f"{time} that was enough for {percent} % of the {counted}",
            _percentile(side, percent),
        )
        for side, time, counted in (("bank", "Time at the bank", "requests"), ("hub", "Time in this service", "calls"))
        for percent in PERCENTILES
    ),
    Column("consent_duration_ms", "`consentDuration` of its report", lambda record: record.consent_duration),
    Column("payment_duration_ms", "`paymentDuration` of its report", lambda record: record.payment_duration),
    Column("report", "`received`, `missing` or `not_expected`", lambda record: record.report),
    Column(
        "report_received_at",
        "When its report came, UTC",
        lambda record: None if record.report_received_at is None else timestamp(record.report_received_at),
    ),
)
NAMES: Sequence[str] = tuple(column.name for column in COLUMNS)


def build_rows(records: Iterable[DayRecord]) -> Iterable[Row]:
    return ({column.name: column.of(record) for column in COLUMNS} for record in records)


def as_csv(given: Iterable[Row]) -> str:
    """Return the rows as CSV with a header (see ``write_csv``)."""
    return write_csv(NAMES, given)


def write_csv(names: Sequence[str], given: Iterable[Row]) -> str:
    """Write rows as CSV (RFC 4180) with the header ``names``. Text is escaped so that spreadsheets do not read it as
    formulas.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows({name: _escape_formula(value) for name, value in row.items()} for row in given)
    return text.getvalue()


def _escape_formula(value: Value) -> Value:
    """Escape text that a spreadsheet would read as a formula, for example in a bank's name."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def as_json(given: Iterable[Row]) -> str:
    """Return ``{"days": […]}`` with an object per row. Numbers have the same digits as in CSV."""
    return jsontext.dumps({"days": list(given)})
