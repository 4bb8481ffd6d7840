"""Checks pages of transactions before a program gets their entries: pages must neither repeat nor stay empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from causeway import errors

MOST_EMPTY = 20
"""The number of a bank's pages in a row without a new entry after which its list counts as endless."""
LAST_NUMBER = 999
"""The last page number at a bank of version 1."""
MOST_LEFT_OUT = LAST_NUMBER + 1
"""The same as ``MOST_EMPTY`` for unified pages. The hub may leave out all entries of the pages that a bank of version 1
can number, because they are of other days.
"""


class PageChecker:
    """Checks the pages of one list, in order.

    ``repeats_allowed`` is how often in a row a page may repeat the page before: numbered pages shift when payments
    arrive.
    """

    def __init__(self, *, most_empty: int = MOST_EMPTY, repeats_allowed: int = 0) -> None:
        self._most_empty, self._repeats_allowed = most_empty, repeats_allowed
        self._keys: set[str] = set()
        self._before: Sequence[Any] = ()
        self._repeats = self._without_new = 0

    def check(self, entries: Sequence[Any], ids: Sequence[str | None], next_key: str | None = None) -> bool:
        """Check a page by its entries, their ids, and the key of the next page. Return whether the page does not repeat
        the page before.

        A page of equal entries without ids can follow itself. Raises ``UnusablePages``.
        """
        is_equal, self._before = bool(entries) and entries == self._before, entries
        is_repeated = is_equal and (_are_known(ids) or any(each != entries[0] for each in entries))
        self._repeats = self._repeats + 1 if is_repeated else 0
        self._without_new = self._without_new + 1 if is_equal or not entries else 0
        self._require_progress(next_key, "page_repeated" if entries else "pages_empty")
        return not is_repeated

    def _require_progress(self, next_key: str | None, reason: str) -> None:
        if self._repeats > self._repeats_allowed or next_key in self._keys:
            raise errors.UnusablePages("page_repeated")
        if next_key is not None:
            if self._without_new >= self._most_empty:
                raise errors.UnusablePages(reason)
            self._keys.add(next_key)


def _are_known(ids: Sequence[str | None]) -> bool:
    return all(each and each.strip() for each in ids)
