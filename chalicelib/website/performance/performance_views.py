"""The performance pages over a range of days: the overview of all banks, and a bank's availability and latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from chalice.app import Response

from chalicelib.foundation.http.web import JSON, text_answer
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.bank_record import Bank, sort_by_name
from chalicelib.statistics import export, overview_export
from chalicelib.statistics.call_counts import MAIN_PERCENTILE, PERCENTILES, Service
from chalicelib.statistics.day_overviews import DayOverview, read_overviews, without_made_up_rows
from chalicelib.statistics.day_records import DayRecord, measured, records_of_bank
from chalicelib.statistics.days import DayRange, first_day, yesterday
from chalicelib.statistics.overview_export import BankDays
from chalicelib.statistics.periods import split_into_periods, summarize_periods, summarize_reports
from chalicelib.website.form_fields import read_day
from chalicelib.website.pages import Visit, page
from chalicelib.website.pagination import paginate
from chalicelib.website.performance.performance_chart import (
    HEIGHT,
    WIDTH,
    availability_chart,
    latency_chart,
    report_chart,
)
from chalicelib.website.performance.performance_overview import (
    SPARKLINE_HEIGHT,
    SPARKLINE_WIDTH,
    draw_sparkline,
    worst_first,
)
from chalicelib.website.performance.performance_text import count_days
from chalicelib.website.performance.performance_text import day as written

DAYS = 30  # days shown by default
LONGEST = 366  # maximum number of days
SPANS = (DAYS, 90, 365)  # ranges offered as links
TIMED_SERVICES: Sequence[Service] = ("AISP", "PISP", "CBPII")
"""The services whose average time at the bank is shown, as regulation requires."""
_QUOTED = 40  # characters of an unknown BIC that are shown again

FORMATS: Mapping[str, str] = {"csv": "text/csv; charset=utf-8", "json": JSON}
"""Download formats and their content types."""


@dataclass(frozen=True, slots=True)
class PerformanceQuery:
    """The requested bank and days, or the errors by field. ``latest`` is the last permitted day."""

    banks: Sequence[Bank]
    bank: Bank | None
    days: DayRange
    latest: date
    errors: Mapping[str, str]


def show_performance(visit: Visit) -> Response:
    """``GET /performance``: show all banks, or the bank ``bic``, from ``from`` to ``to``.

    With ``format`` csv or json, return a download with a row for each bank, or for each day of the bank. The page marks
    synthetic days; downloads omit them.
    """
    wanted = _read_query(visit)
    if wanted.errors:
        is_unknown = wanted.errors.keys() == {"bic"} and visit.field("bic").strip() != ""
        return _performance_page(visit, wanted, status=404 if is_unknown else 400)
    if wanted.bank is None:
        overviews = read_overviews(visit.website.shared.store, wanted.days)
        if visit.field("format") in FORMATS:
            return _download_banks(visit.field("format"), wanted, overviews)
        return _performance_page(visit, wanted, **_overview(visit, wanted, overviews))
    store, days = visit.website.shared.store, wanted.days
    records = records_of_bank(store, wanted.bank.bic, days.since, days.until)
    if visit.field("format") in FORMATS:
        return _download_days(visit.field("format"), wanted.bank, wanted.days, records)
    return _performance_page(visit, wanted, **_bank_figures(visit, wanted.bank, wanted.days, records))


def _read_query(visit: Visit) -> PerformanceQuery:
    """Parse the query. By default, the page shows all banks and the last 30 complete days."""
    errors: dict[str, str] = {}
    banks = sort_by_name(visit.website.openbanking.banks.directory())
    bank = _read_bank(visit, banks, errors)
    if bank and bank not in banks:
        banks = [*(each for each in banks if each.bic != bank.bic), bank]
    latest = yesterday(visit.website.shared.clock)
    until = read_day(visit.field, "to", errors) or latest
    since = read_day(visit.field, "from", errors) or first_day(until, DAYS)
    if "to" not in errors and until > latest:
        errors["to"] = f"The latest complete day is {written(latest)}."
    elif not errors.keys() & {"from", "to"}:
        if since > until:
            errors["from"] = f"This is later than the last day, {written(until)}."
        elif len(DayRange(since, until)) > LONGEST:
            earliest = written(first_day(until, LONGEST))
            errors["from"] = f"This is more than {LONGEST} days. Start on {earliest} or later."
    return PerformanceQuery(banks, bank, DayRange(since, until), latest, errors)


def _read_bank(visit: Visit, banks: Sequence[Bank], errors: dict[str, str]) -> Bank | None:
    """Read the requested bank. Returns ``None`` without a bank, and adds an error to ``errors`` for an unknown bank."""
    bic = visit.field("bic").strip().upper()
    if not bic:
        return None
    listed = next((bank for bank in banks if bank.bic == bic), None)
    # the other BIC notation, or deactivated
    found = listed or visit.website.openbanking.banks.find(bic, active=False)
    if found is None:
        errors["bic"] = "There is no bank with this BIC. Choose one from the list."
    return found


def _performance_page(visit: Visit, wanted: PerformanceQuery, *, status: int = 200, **values: Any) -> Response:
    """Render the page with the form and, without errors, the ``values`` of the overview or of the bank."""
    days, latest = wanted.days, wanted.latest
    given = {"bic": visit.field("bic").strip()[:_QUOTED], "from": days.since.isoformat(), "to": days.until.isoformat()}
    given |= {name: visit.field(name) for name in ("from", "to") if name in wanted.errors}
    return page(
        visit,
        "performance.html",
        status=status,
        banks=wanted.banks,
        bank=wanted.bank,
        given=given,
        errors=wanted.errors,
        latest=latest,
        days=days,
        longest=LONGEST,
        spans={count: (first_day(latest, count).isoformat(), latest.isoformat()) for count in SPANS},
        main_percentile=MAIN_PERCENTILE,
        **{"shown": None, "lines": None} | values,
    )


def _overview(visit: Visit, wanted: PerformanceQuery, overviews: Mapping[date, DayOverview]) -> dict[str, Any]:
    """Return the context of the overview. A page has only the figures of the banks that it lists, in the order of the
    whole overview.
    """
    statistics, days = visit.website.statistics, wanted.days
    lines = paginate(worst_first(wanted.banks, overviews), visit.field("page"))
    return {
        "lines": lines,
        "sparklines": {line.bank.bic: draw_sparkline(line.bank.bic, overviews, days) for line in lines.rows},
        "sparkline_size": (SPARKLINE_WIDTH, SPARKLINE_HEIGHT),
        "down_now": statistics.open_downtimes.bics() if wanted.banks else frozenset(),
        "formats": list(FORMATS),
        "has_measured": any(overview.rows for overview in without_made_up_rows(overviews).values()),
        "has_figures": any(overview.rows for overview in overviews.values()),
        "has_latest": wanted.latest in overviews,
        "made_up": any(line.figures.made_up_days for line in lines.rows),
        "unit": "day" if len(days.periods) == len(days) else "week",
    }


def _bank_figures(visit: Visit, bank: Bank, days: DayRange, records: Sequence[DayRecord]) -> dict[str, Any]:
    """The context of a bank's page."""
    periods = split_into_periods(records, days)
    return {
        "shown": bank,
        "formats": list(FORMATS),
        "percentiles": PERCENTILES,
        "services": TIMED_SERVICES,
        "records": records,
        "periods": [period for period in reversed(periods) if period.records],
        "unit": "day" if len(periods) == len(days) else "week",
        "made_up": sum(record.made_up for record in records),
        "counted_days": count_days(records, days),
        "summary": summarize_periods(periods),
        "reports": summarize_reports(records),
        "availability": availability_chart(periods),
        "latencies": {
            "bank": latency_chart("Time at the bank", periods, "bank"),
            "hub": latency_chart("Time in this service", periods, "hub"),
        },
        "reported": report_chart(periods),
        "size": (WIDTH, HEIGHT),
        "today": visit.website.statistics.today.of_bank(bank.bic),
    }


def _download_days(format: str, bank: Bank, days: DayRange, records: Sequence[DayRecord]) -> Response:
    rows = export.build_rows(measured(records))
    text = export.as_csv(rows) if format == "csv" else export.as_json(rows)
    return _file(text, format, f"performance-{bank.bic}", days)


def _download_banks(format: str, wanted: PerformanceQuery, overviews: Mapping[date, DayOverview]) -> Response:
    """Return a download of the banks on all pages, in the order of the pages."""
    lines = worst_first(wanted.banks, without_made_up_rows(overviews))
    banks = (BankDays(line.bank.bic, line.bank.name, wanted.days, line.figures) for line in lines)
    rows = overview_export.build_rows(banks)
    text = overview_export.as_csv(rows) if format == "csv" else overview_export.as_json(rows)
    return _file(text, format, "performance", wanted.days)


def _file(text: str, format: str, name: str, days: DayRange) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}-{days.since}-{days.until}.{format}"'}
    return text_answer(text, FORMATS[format], headers=headers)
