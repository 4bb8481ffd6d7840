"""Lists that are shown page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PAGE = 20


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list: its rows, its number from 1, how many pages there are, and how many rows in all."""

    rows: Sequence[Any]
    number: int
    pages: int
    total: int


def paginate(rows: Sequence[Any], asked: str) -> ListPage:
    """The page that was asked for; the nearest one for a number that is out of range."""
    pages = max(1, -(-len(rows) // PAGE))
    number = clamp_page_number(asked, pages)
    return ListPage(rows[(number - 1) * PAGE : number * PAGE], number, pages, len(rows))


def clamp_page_number(asked: str, last: int) -> int:
    """The number from 1 to ``last`` that is nearest to what was asked for; 1 for what is no number."""
    if not (asked.isascii() and asked.isdigit()):
        return 1
    digits = asked.lstrip("0")
    return last if len(digits) > len(str(last)) else min(max(int(digits or "0"), 1), last)
