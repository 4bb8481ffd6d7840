"""Confirmation durations, which are stored with each confirmation and reported to the service once a day.

If a bank's protocol version supports the call ``daily_performance``, the bank reports the previous day's averages. For
consents, the duration is from the customer's arrival to confirmation. For payments, the duration is from initiation to
confirmation. Every confirmation has a separate record, ``took#<day>#<kind>#<id>``, so concurrent confirmations do not
conflict. ``told#<day>`` has the time of the next attempt to report the day.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Literal

from chalicelib.demo_bank import hub_client
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.runtime import TABLE, DemoBank, HubUnreachable
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import Item, Operation, Put

ConfirmationKind = Literal["consent", "payment"]

SECONDS = 5
"""The timeout of the report to the service, in seconds."""
RETRY_SECONDS = 900
RETENTION_SECONDS = 40 * 86_400


def put_duration(bank: DemoBank, kind: ConfirmationKind, identifier: str, begun_at: int) -> list[Operation]:
    """Return the write operation that records a confirmation's duration, for the transaction of the confirmation.

    The result is empty at a bank without daily reports.
    """
    if not bank.profile.protocol.reports_performance:
        return []
    now = bank.clock.time()
    record = bank.key(f"{_prefix(datetime.fromtimestamp(now, UTC).date(), kind)}{identifier}")
    return [Put(TABLE, record | {"milliseconds": 1000 * (now - begun_at), "expires_at": now + RETENTION_SECONDS})]


def report_yesterday(bank: DemoBank) -> int | None:
    """Report the previous day, unless already reported. A failed report is retried later.

    Returns the Unix second of the next attempt (after a success, in the far future), or ``None`` without reports.
    """
    if not bank.profile.protocol.reports_performance:
        return None
    day = bank.clock.now().date() - timedelta(days=1)
    earlier_report = bank.store.get(TABLE, bank.key(_report_record_id(day)))
    if earlier_report and bank.clock.time() < earlier_report["again_at"]:
        return int(earlier_report["again_at"])
    consents, payments = _average_durations(bank, day)
    seconds = RETRY_SECONDS
    try:
        hub_client.report_day(bank, day, consents, payments, SECONDS)
        seconds = RETENTION_SECONDS
    except HubRefusal as refusal:
        log.warning("demo bank: day refused", bank=bank.profile.name, code=refusal.code)
    except HubUnreachable:
        log.exception("demo bank: no response to day", bank=bank.profile.name)
    now = bank.clock.time()
    times = {"again_at": now + seconds, "expires_at": now + RETENTION_SECONDS}
    bank.store.put(TABLE, bank.key(_report_record_id(day)) | times)
    return times["again_at"]


def _average_durations(bank: DemoBank, day: date) -> tuple[int | None, int | None]:
    """Return the mean durations of consents and of payments, in milliseconds. A mean is ``None`` without
    confirmations.
    """
    rows = bank.store.rows(TABLE, ("bank", bank.profile.name), sort_prefix=("id", f"took#{day.isoformat()}#"))
    kinds: tuple[ConfirmationKind, ConfirmationKind] = ("consent", "payment")
    consents, payments = ([row for row in rows if row["id"].startswith(_prefix(day, kind))] for kind in kinds)
    return _average(consents), _average(payments)


def _average(rows: Sequence[Item]) -> int | None:
    return round(Fraction(sum(int(row["milliseconds"]) for row in rows), len(rows))) if rows else None


def _prefix(day: date, kind: ConfirmationKind) -> str:
    return f"took#{day.isoformat()}#{kind}#"


def _report_record_id(day: date) -> str:
    return f"told#{day.isoformat()}"
