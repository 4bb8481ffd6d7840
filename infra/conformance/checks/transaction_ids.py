"""Checks of the ids of payments and transactions: blank and shared ids, and ids that change between two reads."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.foundation.clock import timestamp
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.check import Check
from infra.conformance.checks import content_rows
from infra.conformance.checks.content_rows import Row, answered
from infra.conformance.checks.entries import (
    Entry,
    booked_payments,
    booked_transactions,
    booking_day,
    content_of,
    entry_id,
    is_day,
)
from infra.conformance.checks.judging import RULES, demand, join_first
from infra.conformance.checks.pages import (
    PAGE_LIMIT,
    EntriesOf,
    Pages,
    keyed_pages,
    numbered_pages,
    read_keyed,
    read_numbered,
)
from infra.conformance.evidence import CheckSkipped, Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

_READ_AGAIN = "the same request is repeated"


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of the ids in a webhook's lists."""
    return content_rows.build(version, subject, _ROWS.get(subject.name, ()))


# -- blank and shared ids


def _payment_ids(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    entries = {f"payments.{index}": each for index, each in enumerate(answer["payments"])}
    return _demand_own_ids(entries, call.evidence)


def _transaction_ids(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    entries = {
        f"transactions.{status}.{index}": each
        for status in ("booked", "pending")
        for index, each in enumerate(answer["transactions"].get(status) or ())
        if status == "booked" or each.get("transaction_id") is not None
    }
    return _demand_own_ids(entries, call.evidence)


def _demand_own_ids(entries: Mapping[str, Entry], evidence: Evidence) -> Evidence:
    uses = Counter(map(entry_id, entries.values()))
    wrong = [
        f"{place} {'has an id of another entry' if entry_id(each) else 'has no id'}"
        for place, each in entries.items()
        if not entry_id(each) or uses[entry_id(each)] > 1
    ]
    said = f"{join_first(wrong)}: give each booked entry an id of its own, by which TPPs recognise it"
    return demand(not wrong, evidence, said)


# -- ids that change


def _stable_payment_ids(session: Session, subject: Subject) -> Evidence:
    first, small = numbered_pages(session, subject, PAGE_LIMIT), numbered_pages(session, subject)
    day = _closed_day(session, map(_day_created, first.entries(booked_payments)))
    again = read_numbered(session, subject, PAGE_LIMIT)
    others = {_READ_AGAIN: again, f"record_count is {small.last_call.members['record_count']}": small}

    def of_day(answer: Mapping[str, Any]) -> list[Entry]:
        return [each for each in booked_payments(answer) if _day_created(each) == day]

    return _demand_stable(day, first, others, of_day)


def _day_created(payment: Entry) -> str | None:
    return payment["date_created"] if is_day(payment["date_created"]) else None


def _stable_transaction_ids(session: Session, subject: Subject) -> Evidence:
    listed = keyed_pages(session, subject, "both", PAGE_LIMIT)
    day = _closed_day(session, map(booking_day, listed.entries(booked_transactions)))
    first, again = (_read_day(session, subject, day, PAGE_LIMIT) for _ in range(2))
    size = max(1, len(first.entries(booked_transactions)) // 2)
    small = _read_day(session, subject, day, size)
    others = {_READ_AGAIN: again, f"page_size is {size}": small, "other days are read, too": listed}
    return _demand_stable(day, first, others, booked_transactions)


def _read_day(session: Session, subject: Subject, day: str, size: int) -> Pages:
    asked = {"booking_status": "booked", "date_from": day, "date_to": day, "page_size": size}
    return read_keyed(session, subject, **asked)


def _closed_day(session: Session, days: Iterable[str | None]) -> str:
    """Return the first day before today with the most booked entries. The bank's clock may be ahead of ours."""
    known = [day for day in days if day is not None]
    today = max([timestamp(session.hub.clock.time())[:10], *known])
    closed = Counter(day for day in known if day < today)
    if not closed:
        raise CheckSkipped("no booked entry is of a day before today")
    return max(sorted(closed), key=lambda day: closed[day])


def _demand_stable(day: str, first: Pages, others: Mapping[str, Pages], entries_of: EntriesOf) -> Evidence:
    """Require that other reads have the ids of the first. ``others`` says in words how their requests differ."""
    known = _ids_by_content(first.entries(entries_of))
    if not any(id_ for ids in known.values() for id_ in ids):
        raise CheckSkipped(f"no booked entry of {day} has an id")
    for how, other in others.items():
        found = _ids_by_content(other.entries(entries_of))
        changed = [ids for content, ids in known.items() if not _is_part(ids, found.get(content, ids))]
        said = f"{_total(changed)} of {_total(known.values())} entries of {day} have another id when {how}"
        demand(not changed, other.last_call.evidence, f"{said}: keep the id of an entry in every list")
    return first.last_call.evidence


def _ids_by_content(entries: Iterable[Entry]) -> Mapping[str, Counter[str]]:
    """Return the ids of entries by their content, which equal entries share."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for each in entries:
        found[content_of(each)][entry_id(each)] += 1
    return found


def _total(counted: Iterable[Counter[str]]) -> int:
    return sum(each.total() for each in counted)


def _is_part(ids: Counter[str], others: Counter[str]) -> bool:
    return ids <= others or others <= ids


_OWN_RULE = "Every booked entry has an id that no other entry has; none is blank"
_STABLE_RULE = "Of a day that is over, entries have the same ids when it is read again, and on pages of another size"
_HISTORY = RULES.format(section="Webhooks, the account's history")
_ROWS: Mapping[str, tuple[Row, ...]] = {
    "account_payments": (
        ("ids", "has an id for each entry", _HISTORY, "advice", _OWN_RULE, _payment_ids),
        ("stable-ids", "keeps ids in every list", _HISTORY, "advice", _STABLE_RULE, _stable_payment_ids),
    ),
    "account_transactions": (
        ("ids", "has an id for each entry", _HISTORY, "advice", _OWN_RULE, _transaction_ids),
        ("stable-ids", "keeps ids in every list", _HISTORY, "advice", _STABLE_RULE, _stable_transaction_ids),
    ),
}
