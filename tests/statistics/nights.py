"""What happens before and after a night on which days are ingested."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from chalicelib.foundation.dynamodb.store import Item
from chalicelib.openbanking.flows.bank.expected_reports import expected_banks
from chalicelib.statistics.day_records import TABLE, DayRecord, quarter_subject
from chalicelib.statistics.days import quarter_of
from tests.causeway import Causeway
from tests.statistics.made_up import ALPHA, counted

DAY = date(2026, 3, 3)
"""The first whole day of the service's banks, which are registered on the day before it."""


def turn_to(causeway: Causeway, day: date, time: str = "01:10") -> None:
    moment = datetime.fromisoformat(f"{day}T{time}:00+00:00")
    causeway.clock.advance((moment - causeway.clock.now()).total_seconds())


def ingest(causeway: Causeway) -> None:
    """What the schedule does."""
    causeway.hub.statistics.ingest.run(expected_banks(causeway.hub.openbanking.banks))


def items(causeway: Causeway) -> list[Item]:
    """All day records, as they are kept."""
    return causeway.hub.store.rows(TABLE, ("subject", quarter_subject(quarter_of(DAY))))


def records(causeway: Causeway, bic: str = ALPHA) -> dict[date, DayRecord]:
    """Those of a bank, by day."""
    found = [DayRecord.from_item(item) for item in items(causeway)]
    return {record.day: record for record in found if record.bic == bic}


def report(causeway: Causeway, day: date = DAY, consent: int | None = 41_250, payment: int | None = 23_800) -> None:
    """Have bank Beta report its durations of a day, in milliseconds."""
    body = {"date": day.isoformat(), "consentDuration": consent, "paymentDuration": payment}
    assert causeway.banks[2].call("/daily_performance", body).status == 200


def counted_day(causeway: Causeway, bic: str = ALPHA, day: date = DAY, *, answered: Sequence[str]) -> None:
    """Count calls that a bank answered on a day, at times such as ``10:00:00``."""
    counted(causeway.hub.store, bic, day, answered=answered)
