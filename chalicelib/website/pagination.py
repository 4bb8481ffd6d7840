"""Lists in numbered pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chalicelib.foundation.lazy_dataclasses import dataclass

PAGE = 20


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list: its rows, its number from 1, the number of pages, and the total number of rows."""

    rows: Sequence[Any]
    number: int
    pages: int
    total: int


def paginate(rows: Sequence[Any], asked: str) -> ListPage:
    """Return the page with the requested number, or the closest existing page."""
    pages = max(1, -(-len(rows) // PAGE))
    number = clamp_page_number(asked, pages)
    return ListPage(rows[(number - 1) * PAGE : number * PAGE], number, pages, len(rows))


def clamp_page_number(asked: str, last: int) -> int:
    """Limit the requested number to the range 1 to ``last``. An invalid number counts as 1."""
    if not (asked.isascii() and asked.isdigit()):
        return 1
    digits = asked.lstrip("0")
    return last if len(digits) > len(str(last)) else min(max(int(digits or "0"), 1), last)
