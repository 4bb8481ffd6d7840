"""The performance page: availability and latency of a bank and of this service over a range of days."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from chalice.app import Response

from chalicelib.foundation.http.web import JSON, text_answer
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.statistics import export
from chalicelib.statistics.call_counts import MAIN_PERCENTILE, PERCENTILES, Service
from chalicelib.statistics.day_records import DayRecord, measured, summarize
from chalicelib.statistics.days import DayRange, yesterday
from chalicelib.website.day_fields import read_day
from chalicelib.website.pages import Visit, page
from chalicelib.website.performance_chart import HEIGHT, WIDTH, availability_chart, latency_chart
from chalicelib.website.performance_chart import day as written

DAYS = 30  # days shown by default
LONGEST = 366  # maximum number of days
SPANS = (DAYS, 90, 365)  # ranges offered as links
TIMED_SERVICES: Sequence[Service] = ("AISP", "PISP", "CBPII")
"""The services whose average time at the bank is shown, as regulation requires."""
_QUOTED = 40  # characters of an unknown BIC that are shown again

FORMATS: Mapping[str, tuple[str, Callable[[Iterable[export.Row]], str]]] = {
    "csv": ("text/csv; charset=utf-8", export.as_csv),
    "json": (JSON, export.as_json),
}
"""Download formats: content type and writer."""


@dataclass(frozen=True, slots=True)
class PerformanceQuery:
    """The requested bank and days, or errors by field. ``latest`` is the latest day that can be requested."""

    banks: Sequence[Bank]
    bank: Bank | None
    days: DayRange
    latest: date
    errors: Mapping[str, str]


def show_performance(visit: Visit) -> Response:
    """``GET /performance``: the bank ``bic`` from ``from`` to ``to``; a download with ``format`` csv or json.

    Made-up days are shown and marked; downloads leave them out.
    """
    wanted = _read_query(visit)
    if wanted.bank is None or wanted.errors:
        status = 200 if not wanted.errors else 404 if wanted.errors.keys() == {"bic"} else 400
        return _performance_page(visit, wanted, status=status)
    records = visit.website.statistics.records.of_bank(wanted.bank.bic, wanted.days.since, wanted.days.until)
    if visit.field("format") in FORMATS:
        return _download(visit.field("format"), wanted.bank.bic, wanted.days, records)
    return _performance_page(visit, wanted, records)


def _read_query(visit: Visit) -> PerformanceQuery:
    """Parse the query; it defaults to the first bank and the last 30 complete days."""
    errors: dict[str, str] = {}
    bic = visit.field("bic").strip().upper()
    banks = sorted(visit.website.openbanking.banks.directory(), key=lambda bank: bank.name.casefold())
    bank = next((bank for bank in banks if bic in ("", bank.bic)), None)
    if bic and bank is None:
        found = visit.website.openbanking.banks.find(bic, active=False)  # the other BIC notation, or deactivated
        if found is None:
            errors["bic"] = "There is no bank with this BIC. Choose one from the list."
        else:
            bank = found
            banks = [*(each for each in banks if each.bic != found.bic), bank]
    latest = yesterday(visit.website.shared.clock)
    until = read_day(visit.field, "to", errors) or latest
    since = read_day(visit.field, "from", errors) or _first_day(until, DAYS)
    if "to" not in errors and until > latest:
        errors["to"] = f"The latest complete day is {written(latest)}."
    elif not errors.keys() & {"from", "to"}:
        if since > until:
            errors["from"] = f"This is later than the last day, {written(until)}."
        elif len(DayRange(since, until)) > LONGEST:
            earliest = written(_first_day(until, LONGEST))
            errors["from"] = f"This is more than {LONGEST} days. Start on {earliest} or later."
    return PerformanceQuery(banks, bank, DayRange(since, until), latest, errors)


def _first_day(until: date, days: int) -> date:
    """The first day of a range of ``days`` days that ends on ``until``."""
    return date.fromordinal(max(1, until.toordinal() - days + 1))


def _performance_page(
    visit: Visit, wanted: PerformanceQuery, records: Sequence[DayRecord] = (), *, status: int = 200
) -> Response:
    days, latest = wanted.days, wanted.latest
    shown = wanted.bank if not wanted.errors else None
    given = {"bic": visit.field("bic").strip()[:_QUOTED], "from": days.since.isoformat(), "to": days.until.isoformat()}
    given |= {name: visit.field(name) for name in ("from", "to") if name in wanted.errors}
    return page(
        visit,
        "performance.html",
        status=status,
        banks=wanted.banks,
        bank=wanted.bank,
        shown=shown,
        given=given,
        errors=wanted.errors,
        latest=latest,
        days=days,
        longest=LONGEST,
        spans={count: (_first_day(latest, count).isoformat(), latest.isoformat()) for count in SPANS},
        formats=list(FORMATS),
        percentiles=PERCENTILES,
        main_percentile=MAIN_PERCENTILE,
        services=TIMED_SERVICES,
        records=list(reversed(records)),
        made_up=sum(record.made_up for record in records),
        summary=summarize(records),
        availability=availability_chart(records, days),
        latencies={
            "bank": latency_chart("Time at the bank, by day", records, days, "bank"),
            "hub": latency_chart("Time in this service, by day", records, days, "hub"),
        },
        size=(WIDTH, HEIGHT),
        today=visit.website.statistics.today.of_bank(shown.bic) if shown else None,
    )


def _download(format: str, bic: str, days: DayRange, records: Sequence[DayRecord]) -> Response:
    content_type, write = FORMATS[format]
    name = f"performance-{bic}-{days.since}-{days.until}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return text_answer(write(export.build_rows(measured(records))), content_type, headers=headers)
