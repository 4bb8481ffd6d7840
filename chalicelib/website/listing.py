"""Lists that are shown page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PAGE = 20


@dataclass(frozen=True, slots=True)
class Part:
    """One page of a list: its rows, its number from 1, how many pages there are, and how many rows in all."""

    rows: Sequence[Any]
    number: int
    pages: int
    total: int


def cut(rows: Sequence[Any], asked: str) -> Part:
    """The page that was asked for; the nearest one for a number that is none, or out of range."""
    pages = max(1, -(-len(rows) // PAGE))
    number = min(max(int(asked), 1), pages) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 1
    return Part(rows[(number - 1) * PAGE : number * PAGE], number, pages, len(rows))
