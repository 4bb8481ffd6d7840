"""How long customers took to confirm: written down with every confirmation, and told to the service once a day.

A bank whose version has that call reports the averages of the day before (daily_performance): of consents from the
customer's arrival, and of payments from their initiation, each until it was confirmed. Every confirmation is a record
of its own, ``took#<day>#<kind>#<id>``, so that none waits for another; ``told#<day>`` says when the day is to be told
(again).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Literal

from chalicelib.demo_bank import hub_client
from chalicelib.demo_bank.hub_client import HubRefused
from chalicelib.demo_bank.runtime import TABLE, Bank, HubUnreachable
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import Item, Operation, Put

Kind = Literal["consent", "payment"]

SECONDS = 5
"""So long the service may take to answer."""
AGAIN_SECONDS = 900
KEPT_SECONDS = 40 * 86_400


def keeping(bank: Bank, kind: Kind, identifier: str, begun_at: int) -> list[Operation]:
    """The write of a confirmation that happens now, for its transaction; none at a bank that has nothing to report."""
    if not bank.profile.protocol.reports_performance:
        return []
    now = bank.clock.time()
    record = bank.key(f"{_prefix(datetime.fromtimestamp(now, UTC).date(), kind)}{identifier}")
    return [Put(TABLE, record | {"milliseconds": 1000 * (now - begun_at), "expires_at": now + KEPT_SECONDS})]


def report(bank: Bank) -> None:
    """Tell the service of yesterday, if it has not been told yet; a report that fails is sent again after a while."""
    if not bank.profile.protocol.reports_performance:
        return
    day = bank.clock.now().date() - timedelta(days=1)
    told = bank.store.get(TABLE, bank.key(_told(day)))
    if told and bank.clock.time() < told["again_at"]:
        return
    try:
        hub_client.report_day(bank, day, _average(bank, day, "consent"), _average(bank, day, "payment"), SECONDS)
    except HubRefused as refusal:
        log.warning("demo bank: day refused", bank=bank.profile.name, code=refusal.code)
        _note(bank, day, AGAIN_SECONDS)
    except HubUnreachable:
        log.exception("demo bank: day unanswered", bank=bank.profile.name)
        _note(bank, day, AGAIN_SECONDS)
    else:
        _note(bank, day, KEPT_SECONDS)


def _average(bank: Bank, day: date, kind: Kind) -> int | None:
    """Milliseconds; ``None`` if nobody confirmed anything."""
    rows = bank.store.rows(TABLE, ("bank", bank.profile.name), sort_prefix=("id", _prefix(day, kind)))
    return round(Fraction(sum(int(row["milliseconds"]) for row in rows), len(rows))) if rows else None


def _note(bank: Bank, day: date, seconds: int) -> None:
    """The day is not told again before so many seconds have passed."""
    now = bank.clock.time()
    item: Item = bank.key(_told(day)) | {"again_at": now + seconds, "expires_at": now + KEPT_SECONDS}
    bank.store.put(TABLE, item)


def _prefix(day: date, kind: Kind) -> str:
    return f"took#{day.isoformat()}#{kind}#"


def _told(day: date) -> str:
    return f"told#{day.isoformat()}"
