"""A report, page after page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cards.issuer import Envelope


def paged(report: Callable[..., Envelope], name: str, item_count: int, **members: Any) -> list[list[int]]:
    """The numbers of the rows of each page; ``name`` is the member that has them."""
    pages: list[list[int]] = []
    last: dict[str, int] = {}
    while True:
        answer = report(item_count=item_count, **members, **last)
        assert answer.status == "success", answer.raw
        pages.append([row[name] for row in answer.data])
        if answer.members["has_more_records"] == "N":
            return pages
        last = {"last_id": pages[-1][-1]}
