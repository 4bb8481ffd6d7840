"""Commands for statistics: create, show and export daily records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from chalicelib.bootstrap import Hub
from chalicelib.openbanking.flows.bank.expected_reports import expected_banks
from chalicelib.openbanking.records.bank_record import valid_bic
from chalicelib.statistics import day_records
from chalicelib.statistics import export as layout
from chalicelib.statistics.day_records import DayRecord, measured
from chalicelib.statistics.days import DayRange, clock_time, days_of_quarter, parse_day, yesterday
from chalicelib.statistics.ingest import ExpectedBank, Ingested
from infra.admin import connection
from infra.admin.output import CommandRefused, Report, command, command_group, format_table

group = command_group("Ingest, show and export the daily performance of banks.")

_SHOWN_DAYS = 7
_LOOKED_BACK = timedelta(days=92)
_COLUMNS = (
    *("day", "aspsp_bic", "uptime_percent", "downtime_minutes", "error_response_rate_percent"),
    *("answered", "unanswered", "bank_p95_ms", "hub_p95_ms", "report", "down"),
)
Parsed = TypeVar("Parsed")


class ExportFormat(StrEnum):
    """Export formats."""

    CSV = "csv"
    JSON = "json"


OfBank = Annotated[str | None, typer.Option("--bank", metavar="BIC", help="Only this bank.")]
Day = Annotated[str | None, typer.Option("--day", metavar="DAY", help="A UTC day, such as 2026-11-22.")]
Since = Annotated[str | None, typer.Option("--from", metavar="DAY", help="The first day of a range.")]
Until = Annotated[
    str | None, typer.Option("--to", metavar="DAY", help="The last day of the range; default: yesterday.")
]
Quarter = Annotated[str | None, typer.Option("--quarter", metavar="QUARTER", help="A quarter, such as 2026-Q4.")]


@command(group, "ingest")
def ingest(day: Day = None, since: Since = None, until: Until = None, bank: OfBank = None) -> Report:
    """Create the records of past days, and list the banks whose reports are missing.

    Without a day, the command processes the same days as the nightly run: the last two days, days without a record, and
    days for which a report arrived after the record was created. Repeating the command creates the same records. --bank
    also accepts a removed bank.

    \b
    Examples:
      .venv/bin/python -m infra.admin statistics ingest
      .venv/bin/python -m infra.admin statistics ingest --day 2026-11-21
      .venv/bin/python -m infra.admin statistics ingest --from 2026-10-01 --to 2026-10-31 --bank DEMODEF1
    """
    hub = connection.connect()
    days = _parse_days(hub, day, since, until)
    made: list[Ingested] = []
    named = None if bank is None else _normalize_bic(hub, bank)
    banks = _banks_to_ingest(hub, named, days)
    for each in banks:
        made += hub.statistics.ingest.ingest_days(each, list(days)) if days else hub.statistics.ingest.ingest_due(each)
    if named and not made:
        raise CommandRefused(_explain_no_record(named, banks, days))
    hub.statistics.ingest.build_overviews(expected_banks(hub.openbanking.banks), list(days or ()))
    return _report_ingest(made)


@command(group, "show")
def show(day: Day = None, since: Since = None, until: Until = None, bank: OfBank = None) -> Report:
    """Show daily records, by default for the last seven days. --json includes all exported members.

    A new local stack contains days with made-up data, which are marked in the output.

    \b
    Examples:
      .venv/bin/python -m infra.admin statistics show
      .venv/bin/python -m infra.admin statistics show --bank DEMODEF1 --from 2026-11-01 --to 2026-11-21
    """
    hub = connection.connect()
    latest = yesterday(hub.clock)
    days = _parse_days(hub, day, since, until) or DayRange(latest - timedelta(days=_SHOWN_DAYS - 1), latest)
    found = _find_records(hub, days, bank)
    down = [[f"{clock_time(start)}-{clock_time(end)}" for start, end in record.down] for record in found]
    rows = [{**row, "made_up": each.made_up} for row, each in zip(layout.build_rows(found), found, strict=True)]
    shown = [{**row, "down": spans} for row, spans in zip(rows, down, strict=True)]
    printed = [{**row, "down": ", ".join(spans)} for row, spans in zip(rows, down, strict=True)]
    marked = ("made_up",) if any(each.made_up for each in found) else ()
    table = format_table(printed, (*_COLUMNS, *marked))
    return Report({"days": shown}, table if shown else "There are no records for these days.")


@command(group, "export")
def export(
    quarter: Quarter = None,
    since: Since = None,
    until: Until = None,
    bank: OfBank = None,
    written_as: Annotated[ExportFormat, typer.Option("--format", help="CSV (RFC 4180) or JSON.")] = ExportFormat.CSV,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file instead of standard output.")
    ] = None,
) -> Report:
    """Export the regulatory statistics (RTS article 32(4), EBA/GL/2018/07), one row per day and bank.

    Days with made-up data on a local stack are omitted; their number is printed to standard error.

    \b
    Examples:
      .venv/bin/python -m infra.admin statistics export --quarter 2026-Q4 --output 2026-Q4.csv
      .venv/bin/python -m infra.admin statistics export --quarter 2026-Q4 --format json
      .venv/bin/python -m infra.admin statistics export --from 2026-11-01 --to 2026-11-21 --bank DEMODEF1
    """
    hub = connection.connect()
    if (quarter is None) == (since is None and until is None):
        raise CommandRefused("pass either --quarter, or --from and --to")
    days = _parse_days(hub, None, since, until) or _parse(days_of_quarter, quarter or "")
    records = _find_records(hub, days, bank)
    found = list(layout.build_rows(measured(records)))
    left_out = [record for record in records if record.made_up]
    remark = {"made_up_days_left_out": len({record.day for record in left_out})} if left_out else {}
    if left_out:
        typer.echo(f"{_describe_left_out(left_out)} left out.", err=True)
    text = layout.as_csv(found) if written_as is ExportFormat.CSV else f"{layout.as_json(found)}\n"
    if output is None:
        return Report({"days": found} | remark, text.removesuffix("\n"))  # printing adds it
    try:
        output.write_text(text, "utf-8", newline="")
    except OSError as error:
        raise CommandRefused(f"{output} cannot be written: {error.strerror}") from None
    data = {"file": str(output), "format": written_as.value, "rows": len(found)} | remark
    return Report(data, f"{output} has {_pluralize(len(found), 'row')}.")


def _describe_left_out(records: Sequence[DayRecord]) -> str:
    """Format the omitted days, for example ``90 made-up days of 4 banks (360 rows)``. For a single bank, the number of
    rows equals the number of days.
    """
    days = _pluralize(len({record.day for record in records}), "made-up day")
    banks = len({record.bic for record in records})
    return days if banks == 1 else f"{days} of {banks} banks ({_pluralize(len(records), 'row')})"


def _parse_days(hub: Hub, day: str | None, since: str | None, until: str | None) -> DayRange | None:
    if day is not None and (since, until) != (None, None):
        raise CommandRefused("pass either --day, or --from and --to")
    if until is not None and since is None:
        raise CommandRefused("--to requires --from")
    begins, ends = (day, day) if day is not None else (since, until)
    if begins is None:
        return None
    first = _parse(parse_day, begins)
    last = yesterday(hub.clock) if ends is None else _parse(parse_day, ends)
    if last < first:
        raise CommandRefused(f"{first} is later than {last}")
    if last > hub.clock.now().date():
        raise CommandRefused(f"{last} is in the future")
    return DayRange(first, last)


def _parse(parse: Callable[[str], Parsed], text: str) -> Parsed:
    try:
        return parse(text)
    except ValueError as error:
        raise CommandRefused(str(error)) from None


def _normalize_bic(hub: Hub, text: str) -> str:
    bic = valid_bic(text)
    bank = hub.openbanking.banks.find(bic, active=False)
    return bank.bic if bank else bic


def _banks_to_ingest(hub: Hub, bic: str | None, days: DayRange | None) -> Sequence[ExpectedBank]:
    """Return all registered banks, or the bank ``bic``, which may have been removed."""
    registered = expected_banks(hub.openbanking.banks)
    if bic is None:
        return registered
    named = [each for each in registered if each.bic == bic]
    if named or days is None:
        return named
    earlier = day_records.records_of_bank(hub.store, bic, days.since - _LOOKED_BACK, days.until)
    return [ExpectedBank(bic, earlier[-1].name if earlier else bic)]


def _explain_no_record(bic: str, banks: Sequence[ExpectedBank], days: DayRange | None) -> str:
    if banks and days and days.until < banks[0].since:
        return f"{bic} was registered on {banks[0].since}: there are no records for earlier days"
    return _explain_unknown(bic)


def _find_records(hub: Hub, days: DayRange, bank: str | None) -> list[DayRecord]:
    if bank is None:
        return list(day_records.records_of_all(hub.store, days.since, days.until))
    bic = _normalize_bic(hub, bank)
    found = day_records.records_of_bank(hub.store, bic, days.since, days.until)
    if not found and hub.openbanking.banks.find(bic, active=False) is None:
        raise CommandRefused(_explain_unknown(bic))
    return found


def _explain_unknown(bic: str) -> str:
    return f"there are no data about {bic} for these days"


def _report_ingest(made: Sequence[Ingested]) -> Report:
    changed = sum(each.is_new for each in made)
    missing = [
        {"bic": each.record.bic, "day": each.record.day.isoformat()} for each in made if each.record.report == "missing"
    ]
    text = f"{_pluralize(len(made), 'record')}; created or changed: {changed}."
    if missing:
        text += f"\n\nThese reports are missing:\n\n{format_table(missing, ('bic', 'day'))}"
    return Report({"records": len(made), "changed": changed, "missing_reports": missing}, text)


def _pluralize(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
