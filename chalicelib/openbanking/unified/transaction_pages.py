"""A page of transactions: its entries with their stable keys, and the state from which the next page continues."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.unified.answers import TransactionStatus
from chalicelib.openbanking.unified.bank_requests import Members
from chalicelib.openbanking.unified.entries import Problems, read_entries, require_number
from chalicelib.openbanking.unified.rows import Direction, find
from chalicelib.openbanking.unified.stable_keys import DIGEST_BYTES, stable_key, transaction_digest
from chalicelib.openbanking.unified.tables import NativeList, TransactionTable
from chalicelib.openbanking.unified.transaction_cursors import (
    LONGEST_PAGE_KEY,
    MARK_BYTES,
    MOST_EMPTY_PAGES,
    MOST_MARKS,
    NO_DETAIL,
    Mark,
    PageState,
    is_repeat,
    mark_of,
    page_digest,
)

PageFault = Literal["page_repeated", "pages_empty", "page_key_too_long"]


PAGE_FAULTS: Mapping[PageFault, str] = {
    "page_repeated": "the bank's response repeats the page before",
    "pages_empty": f"the bank sent {MOST_EMPTY_PAGES} empty pages in a row",
    "page_key_too_long": f"the bank's page_key has more than {LONGEST_PAGE_KEY} bytes",
}
"""The sentence of each fault."""


class UnusablePage(ValueError):
    """The bank's pages do not end. ``reason_code`` names the fault for programs."""

    def __init__(self, reason_code: PageFault) -> None:
        self.reason_code = reason_code
        super().__init__(PAGE_FAULTS[reason_code])


@dataclass(frozen=True, slots=True)
class TransactionSelection:
    """The transactions of a page that a request asks for.

    ``earliest`` and ``latest`` are the days that the bank itself does not compare. ``unsigned_amounts`` is the bank's
    switch.
    """

    account_id: str
    status: str
    limit: int
    earliest: str | None
    latest: str | None
    unsigned_amounts: bool
    with_native: bool

    def includes(self, transaction: Mapping[str, Any]) -> bool:
        """Whether a transaction is one of those that the request asks for."""
        day = transaction["date"]
        if self.status not in ("all", transaction["status"]):
            return False
        return day is None or ((self.earliest or day) <= day <= (self.latest or day))


def read_page(
    table: TransactionTable, selection: TransactionSelection, page: PageState, answer: Members, problems: Problems
) -> tuple[list[dict[str, Any]], PageState | None]:
    """Return a page's transactions, and the state of the next page or ``None`` at the end.

    ``answer`` has lists where the table says so. Problems of lists that were not asked for are not reported.

    Raises:
        UnusablePage.
    """
    entries = [
        each
        for native in table.lists
        for each in _read_list(table, native, answer, problems if selection.status in native.asked_by else Problems())
    ]
    reader = _PageReader(table, selection, page)
    in_order = sorted(enumerate(entries), key=lambda numbered: numbered[1].status != "booked")
    listed = [reader.read(place, entry) for place, entry in in_order]
    position = table.next_position(selection.limit, page, answer, len(entries))
    return [each for each in listed if each is not None], reader.next_state(position, len(entries))


class _ListedEntry(NamedTuple):
    """An entry of the bank. ``status`` is ``None`` if the entry is not listed."""

    raw: Any
    status: TransactionStatus | None
    value: str


def _read_list(
    table: TransactionTable, native: NativeList, answer: Members, problems: Problems
) -> Iterator[_ListedEntry]:
    amount, found = table.amount.split("."), find(answer, native.path.split("."))
    listed = [*enumerate(found if isinstance(found, list) else ())]
    for entry in read_entries(table.entry, native.name, listed, problems):
        value = None
        if entry.is_usable:
            value = require_number(entry, native.name, table.amount, find(entry.raw, amount), problems)
        yield _ListedEntry(entry.raw, None if value is None else native.status(entry.raw), value or "")


class _PageReader:
    """Builds the transactions of a page, and remembers digests and marks by the place of the entry at the bank."""

    def __init__(self, table: TransactionTable, selection: TransactionSelection, page: PageState) -> None:
        self._table, self._selection, self._page = table, selection, page
        marks = sorted(page.marks, key=lambda mark: mark.ordinal)
        self._last_ordinals = {mark.digest: mark.ordinal for mark in marks}
        self._before = {(mark.digest, mark.detail) for mark in marks if mark.detail != NO_DETAIL}
        self._ordinals: dict[bytes, int] = {}
        self._digests: dict[int, bytes] = {}
        self._marks: dict[int, Mark] = {}

    def read(self, place: int, entry: _ListedEntry) -> dict[str, Any] | None:
        """Return the transaction of an entry; ``None`` if it is not listed or repeats one of the page before."""
        if entry.status is None:
            self._digests[place] = hashlib.sha256(jsontext.dumps(entry.raw).encode()).digest()[:DIGEST_BYTES]
            return None
        content = self._build(entry)
        digest = transaction_digest(self._selection.account_id, content)
        mark, is_repeated = self._mark(digest, content)
        self._digests[place], self._marks[place], self._ordinals[digest] = digest, mark, mark.ordinal
        if is_repeated or not self._selection.includes(content):
            return None
        content["stable_key"] = stable_key(digest, mark.ordinal)
        return {**content, "native": entry.raw} if self._selection.with_native else content

    def _build(self, entry: _ListedEntry) -> dict[str, Any]:
        direction = self._direction(entry.raw, entry.value)
        content = self._table.shape.build_directed(entry.raw, direction)
        content["status"], content["direction"] = entry.status, direction
        return content

    def _mark(self, digest: bytes, content: Mapping[str, Any]) -> tuple[Mark, bool]:
        """Return the mark of a transaction, and whether it repeats one of the page before."""
        amount, has_id = content["amount"], content["transaction_id"] is not None
        details = (content["status"], content["direction"], amount["value"], amount["currency"])
        last = self._ordinals.get(digest) or self._last_ordinals.get(digest[:MARK_BYTES], 0)
        mark = mark_of(digest, details, last, has_id=has_id)
        is_repeated = (mark.digest, mark.detail) in self._before
        return (mark if is_repeated else mark._replace(ordinal=last + 1)), is_repeated

    def _direction(self, entry: Members, value: str) -> Direction | None:
        if value.startswith("-"):
            return "debit"
        if not self._selection.unsigned_amounts:
            return "credit"
        return self._table.unsigned_direction(entry, self._selection.account_id)

    def next_state(self, position: str | None, count: int) -> PageState | None:
        """Return the state of the page after one of ``count`` entries, ``None`` at the end. Raises: UnusablePage."""
        page, digest = self._page, page_digest([self._digests[place] for place in range(count)])
        repeats = page.repeats + 1 if is_repeat(page, digest) else 0
        empty_pages = 0 if count else page.empty_pages + 1
        if repeats > self._table.repeats_allowed or position == page.position:
            raise UnusablePage("page_repeated")
        if position is None:
            return None
        if len(position.encode()) > LONGEST_PAGE_KEY:
            raise UnusablePage("page_key_too_long")
        if empty_pages >= MOST_EMPTY_PAGES:
            raise UnusablePage("pages_empty")
        marks = [self._marks[place] for place in range(max(count - MOST_MARKS, 0), count) if place in self._marks]
        return PageState(position, digest, repeats, empty_pages, marks)
