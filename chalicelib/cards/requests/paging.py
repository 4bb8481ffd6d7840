"""Pages of lists that are at hand as a whole (specification, ``paginator``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.cards.requests.request_context import Outcome


def page(rows: Sequence[Mapping[str, Any]], paginator: tuple[int, int]) -> Outcome:
    """So many of ``rows`` from an offset on, and how many there are in all."""
    item_count, offset = paginator
    return Outcome(rows[offset : offset + item_count], beside={"paginator": {"total_items_count": len(rows)}})
