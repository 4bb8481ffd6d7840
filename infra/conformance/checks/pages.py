"""Checks of paged lists: page size, duplicate or missing entries, the last page, and the order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from chalicelib.openbanking.protocol.v1_account_messages import LAST_PAGE
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.caller import Call
from infra.conformance.check import Check
from infra.conformance.checks import content_rows
from infra.conformance.checks.content_rows import Row, answered
from infra.conformance.checks.entries import (
    Entry,
    booked_payments,
    booked_transactions,
    count_absent,
    find_repeated_page,
    find_shared_entry,
    payments,
    transactions,
)
from infra.conformance.checks.judging import RULES, demand
from infra.conformance.evidence import CheckFailed, CheckSkipped, Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

PAGE_LIMIT = 100
_MOST_PAGES = 20
_PARTS = 3
_NUMBERED_REPEATS = 1
"""How often in a row a page of version 1 can repeat the page before: pages shift when payments arrive."""
EntriesOf = Callable[[Mapping[str, Any]], list[Entry]]


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of one webhook's pages."""
    return content_rows.build(version, subject, _ROWS.get(subject.name, ()))


@dataclass(frozen=True, slots=True)
class Pages:
    """Consecutive pages of one list.

    Attributes:
        pages: the pages and the calls that returned them.
        is_complete: whether the last page of the list is included.
    """

    pages: tuple[tuple[Call, Mapping[str, Any]], ...]
    is_complete: bool

    @property
    def last_call(self) -> Call:
        return self.pages[-1][0]

    def evidence(self, number: int) -> Evidence:
        """Return the exchange of a page."""
        return self.pages[number - 1][0].evidence

    def by_page(self, entries_of: EntriesOf) -> list[list[Entry]]:
        """Return the entries of each page."""
        return [entries_of(answer) for _, answer in self.pages]

    def entries(self, entries_of: EntriesOf) -> list[Entry]:
        """Return the entries of all pages."""
        return [each for page in self.by_page(entries_of) for each in page]


# -- reading page after page


def _size(count: int, *, is_all: bool) -> int:
    return max(1, -(-count // _PARTS)) if is_all else PAGE_LIMIT // 2


def numbered_pages(session: Session, subject: Subject, record_count: int = 0) -> Pages:
    """Return the pages of payments of version 1. By default, the page size divides the list into several pages. Raises:
    CheckSkipped, CheckFailed.
    """
    key = ("pages", subject.name, record_count)
    return session.once(key, lambda: read_numbered(session, subject, record_count))


def read_numbered(session: Session, subject: Subject, record_count: int = 0) -> Pages:
    """Read the pages of payments of version 1. Raises: CheckSkipped, CheckFailed."""
    _, first = answered(session, subject)
    size = record_count or _size(len(first["payments"]), is_all=_is_last(first, PAGE_LIMIT))
    found = []
    for number in range(1, _MOST_PAGES + 1):
        found.append(answered(session, subject, record_count=size, current_page=number))
        if _is_last(found[-1][1], size):
            return Pages(tuple(found), is_complete=True)
    return Pages(tuple(found), is_complete=False)


def _is_last(page: Mapping[str, Any], size: int) -> bool:
    applied = str(page["paginator"].get("limit"))
    limit = min(size, int(applied)) if applied.isdecimal() else size
    return len(page["payments"]) < max(limit, 1)


def keyed_pages(session: Session, subject: Subject, booking_status: str = "both", page_size: int = 0) -> Pages:
    """Return the pages of transactions of version 2. By default, the page size divides the list into several pages.

    Raises:
        CheckSkipped, CheckFailed.
    """
    key = ("pages", subject.name, booking_status, page_size)
    return session.once(key, lambda: _read_sized(session, subject, booking_status, page_size))


def _read_sized(session: Session, subject: Subject, booking_status: str, page_size: int) -> Pages:
    _, first = answered(session, subject)
    size = page_size or _size(len(transactions(first)), is_all=not _key_of(first))
    return read_keyed(session, subject, booking_status=booking_status, page_size=size)


def read_keyed(session: Session, subject: Subject, **asked: Any) -> Pages:
    """Read the pages of transactions of version 2. Raises: CheckSkipped, CheckFailed."""
    found: list[tuple[Call, Mapping[str, Any]]] = []
    keys: set[str] = set()
    while len(found) < _MOST_PAGES:
        found.append(answered(session, subject, **asked))
        key = _key_of(found[-1][1])
        if not key or key in keys:
            return Pages(tuple(found), is_complete=not key)
        keys.add(key)
        asked["page_key"] = key
    return Pages(tuple(found), is_complete=False)


def _key_of(answer: Mapping[str, Any]) -> str:
    given = answer.get("page_key")
    return str(given) if isinstance(given, str | int) else ""


# -- pages


def _page(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    page = answer["paginator"]
    if not all(str(page[name]).isdecimal() for name in ("limit", "current_page")):
        raise CheckFailed(call.evidence, "paginator.limit and current_page must be whole numbers")
    limit, current = int(str(page["limit"])), int(str(page["current_page"]))
    if current != call.members["current_page"]:
        raise CheckFailed(call.evidence, "paginator.current_page is not the requested page")
    if not 1 <= limit <= PAGE_LIMIT:
        raise CheckFailed(call.evidence, f"paginator.limit is not from 1 to {PAGE_LIMIT}")
    return demand(len(answer["payments"]) <= limit, call.evidence, "there are more payments than paginator.limit")


def _small_page(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject, record_count=1)
    return demand(len(answer["payments"]) <= 1, call.evidence, "there are more payments than record_count")


def _past_the_end(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject, current_page=LAST_PAGE)
    return demand(not answer["payments"], call.evidence, f"page {LAST_PAGE} is not empty")


def _small_transactions(session: Session, subject: Subject) -> Evidence:
    """Check pages with a small size. ``page_size`` may count booked and pending transactions together or separately."""
    call, answer = answered(session, subject, page_size=1)
    found = answer["transactions"]
    longest = max(len(found.get(name) or ()) for name in ("booked", "pending"))
    return demand(longest <= 1, call.evidence, "there are more booked or more pending transactions than page_size")


def _no_entry_twice(pages: Pages, large: Pages, entries_of: EntriesOf, allowed: int = 0) -> Evidence:
    if len(pages.pages) < 2:
        raise CheckSkipped("there is one page only")
    by_page = pages.by_page(entries_of)
    if number := find_shared_entry(by_page):
        raise CheckFailed(pages.evidence(number), f"page {number} has an entry of page {number - 1}{_FOLLOW}")
    if number := find_repeated_page(by_page, allowed):
        raise CheckFailed(pages.evidence(number), f"page {number} repeats the entries of page {number - 1}{_FOLLOW}")
    more = count_absent(pages.entries(entries_of), large.entries(entries_of)) if large.is_complete else 0
    return demand(not more, pages.last_call.evidence, f"small pages list {more} entries more than large ones{_FOLLOW}")


def _no_entry_lost(pages: Pages, large: Pages, entries_of: EntriesOf) -> Evidence:
    if not large.is_complete or (not pages.is_complete and len(pages.pages) == _MOST_PAGES):
        raise CheckSkipped(f"{_MOST_PAGES} pages do not reach the last")
    wanted = large.entries(entries_of)
    lost = count_absent(wanted, pages.entries(entries_of))
    return demand(not lost, pages.last_call.evidence, f"{lost} of {len(wanted)} entries are on no small page")


def _next_numbered(session: Session, subject: Subject) -> Evidence:
    large = numbered_pages(session, subject, PAGE_LIMIT)
    return _no_entry_twice(numbered_pages(session, subject), large, payments, _NUMBERED_REPEATS)


def _all_numbered(session: Session, subject: Subject) -> Evidence:
    large = numbered_pages(session, subject, PAGE_LIMIT)
    return _no_entry_lost(numbered_pages(session, subject), large, payments)


def _next_keyed(session: Session, subject: Subject) -> Evidence:
    large = keyed_pages(session, subject, "both", PAGE_LIMIT)
    return _no_entry_twice(keyed_pages(session, subject), large, transactions)


def _all_keyed(session: Session, subject: Subject) -> Evidence:
    large = keyed_pages(session, subject, "both", PAGE_LIMIT)
    return _no_entry_lost(keyed_pages(session, subject), large, transactions)


def _last_keyed(session: Session, subject: Subject) -> Evidence:
    pages = keyed_pages(session, subject)
    keys: list[str] = []
    for call, answer in pages.pages:
        if "page_key" in answer and not _key_of(answer):
            raise CheckFailed(call.evidence, "page_key has no key: leave it out of the last page")
        if _key_of(answer) in keys:
            first = keys.index(_key_of(answer)) + 1
            raise CheckFailed(call.evidence, f"page {len(keys) + 1} repeats the page_key of page {first}{_NAME_NEXT}")
        keys.append(_key_of(answer))
    if not pages.is_complete:
        raise CheckSkipped(f"{_MOST_PAGES} pages do not reach the last")
    return pages.last_call.evidence


# -- the order


def _payments_in_order(session: Session, subject: Subject) -> Evidence:
    pages = numbered_pages(session, subject)
    booked = pages.entries(booked_payments)
    return _demand_newest_first(pages, [str(each["date_created"]) for each in booked], "date_created")


def _transactions_in_order(session: Session, subject: Subject) -> Evidence:
    pages = keyed_pages(session, subject)
    return _demand_newest_first(pages, list(_booking_days(pages)), "booking_date")


def _booking_days(pages: Pages) -> Iterator[str]:
    for each in pages.entries(booked_transactions):
        day = each["transaction_amount"].get("booking_date")
        if isinstance(day, str):
            yield day


def _demand_newest_first(pages: Pages, days: list[str], member: str) -> Evidence:
    if len(set(days)) < 2:
        raise CheckSkipped(f"there are no two booked entries with different days as {member}")
    in_order = all(newer >= older for newer, older in pairwise(days))
    return demand(in_order, pages.pages[0][0].evidence, f"an entry comes before one with a later {member}")


_FOLLOW = ": list on each page the entries that follow those of the page before"
_NAME_NEXT = ", so that TPPs read without end: name the next page, or leave page_key out"
_PAGES = RULES.format(section="Webhooks, /account_payments")
_KEYS = RULES.format(section="Webhooks, /v2_account_transactions")
_NO_OVERLAP = "No entry is on two consecutive pages, and no page repeats the page before, with or without ids"
_NO_GAP = "Small pages have together the entries that large pages have"
_NEWEST_FIRST = "Booked entries are listed by their day, newest first; pending ones may come before them"
_ROWS: Mapping[str, tuple[Row, ...]] = {
    "account_payments": (
        (
            "page",
            "answers the requested page with the limit that it applied",
            _PAGES,
            "mandatory",
            f"paginator has the requested page and a limit of at most {PAGE_LIMIT}, and not more payments are listed",
            _page,
        ),
        ("page-size", "respects record_count", "", "mandatory", "At most record_count payments", _small_page),
        ("next-page", "has other payments on the next page", _PAGES, "mandatory", _NO_OVERLAP, _next_numbered),
        ("all-pages", "has every payment on a page", _PAGES, "mandatory", _NO_GAP, _all_numbered),
        ("past-the-end", "has empty pages after the last", _PAGES, "mandatory", "payments is empty", _past_the_end),
        ("order", "lists the newest payments first", _PAGES, "advice", _NEWEST_FIRST, _payments_in_order),
    ),
    "account_transactions": (
        (
            "page-size",
            "respects page_size",
            "",
            "mandatory",
            "At most page_size booked and at most page_size pending transactions, which may also count together",
            _small_transactions,
        ),
        ("next-page", "has other transactions on the next page", _KEYS, "mandatory", _NO_OVERLAP, _next_keyed),
        ("all-pages", "has every transaction on a page", _KEYS, "mandatory", _NO_GAP, _all_keyed),
        (
            "last-page",
            "has no page_key on the last page",
            "",
            "mandatory",
            "The last page has no member page_key, not even null, and no page has the page_key of a page before",
            _last_keyed,
        ),
        ("order", "lists the newest transactions first", _KEYS, "advice", _NEWEST_FIRST, _transactions_in_order),
    ),
}
