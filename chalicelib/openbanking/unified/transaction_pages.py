"""A page of transactions: its entries with their stable keys, and the state from which the next page continues."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.unified.answers import TransactionStatus
from chalicelib.openbanking.unified.bank_requests import Members
from chalicelib.openbanking.unified.entries import Problems, read_entries
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
    booked_first = sorted(enumerate(entries), key=_is_not_booked)
    listed = [reader.read(place, *entry) for place, entry in booked_first]
    position = table.next_position(selection.limit, page, answer, len(entries))
    return [each for each in listed if each is not None], reader.next_state(position, len(entries))


_StatedEntry = tuple[Any, TransactionStatus | None]
"""An entry of the bank, and its status; ``None`` if it is not listed."""


def _read_list(
    table: TransactionTable, native: NativeList, answer: Members, problems: Problems
) -> Iterator[_StatedEntry]:
    found = find(answer, native.path.split("."))
    listed = enumerate(found if isinstance(found, list) else ())
    for _, entry, is_usable in read_entries(table.entry, native.name, listed, table.amount, problems):
        yield entry, native.status(entry) if is_usable else None


def _is_not_booked(numbered: tuple[int, _StatedEntry]) -> bool:
    return numbered[1][1] != "booked"


class _PageReader:
    """Builds the transactions of a page, and remembers them by the place of the entry at the bank."""

    def __init__(self, table: TransactionTable, selection: TransactionSelection, page: PageState) -> None:
        self._table, self._selection, self._page = table, selection, page
        self._amount = table.amount.split(".")
        marks = sorted(page.marks, key=lambda mark: mark.ordinal)
        self._last_ordinals = {mark.digest: mark.ordinal for mark in marks}
        self._before = {(mark.digest, mark.detail) for mark in marks if mark.detail != NO_DETAIL}
        self._ordinals: dict[bytes, int] = {}
        self._digests: dict[int, bytes] = {}
        self._transactions: dict[int, tuple[dict[str, Any], int]] = {}

    def read(self, place: int, entry: Any, status: TransactionStatus | None) -> dict[str, Any] | None:
        """Return the transaction of an entry; ``None`` if it is not listed or repeats one of the page before."""
        if status is None:
            self._digests[place] = hashlib.sha256(jsontext.dumps(entry).encode()).digest()[:DIGEST_BYTES]
            return None
        content = self._build(entry, status)
        self._digests[place] = digest = transaction_digest(self._selection.account_id, content)
        before = self._last_ordinals.get(digest[:MARK_BYTES], 0)
        is_repeated = before > 0 and mark_of(digest, content, before)[:2] in self._before
        ordinal = (self._ordinals.get(digest) or before) + (not is_repeated)
        self._ordinals[digest], self._transactions[place] = ordinal, (content, ordinal)
        if is_repeated or not self._selection.includes(content):
            return None
        content["stable_key"] = stable_key(digest, ordinal)
        return {**content, "native": entry} if self._selection.with_native else content

    def _build(self, entry: Members, status: TransactionStatus) -> dict[str, Any]:
        direction = self._direction(entry)
        content = self._table.shape.build_directed(entry, direction)
        content["status"], content["direction"] = status, direction
        return content

    def _direction(self, entry: Members) -> Direction | None:
        if str(find(entry, self._amount)).startswith("-"):
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
        return PageState(position, digest, repeats, empty_pages, [*self._last_marks(count)])

    def _last_marks(self, count: int) -> Iterator[Mark]:
        for place in range(max(count - MOST_MARKS, 0), count):
            if place in self._transactions:
                yield mark_of(self._digests[place], *self._transactions[place])
