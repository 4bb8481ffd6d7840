"""Identifiers in ascending order: each process takes them from the storage a block at a time.

What of a block is never used is lost, which leaves gaps; no number is given twice. Between processes the order of
numbers is not the order of time.
"""

from __future__ import annotations

import threading
from typing import Literal

from chalicelib.cards.record import TABLE
from chalicelib.foundation.store import Store, StoreUnavailable

BLOCK = 50

Name = Literal["holder", "account", "card", "card_request", "rule", "authentication", "authorization"]


class Sequences:
    """Counters in the table of the cards, one item each."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._left: dict[str, range] = {}

    def next(self, name: Name) -> int:
        """A new identifier, from 1 on. Raises: StoreError."""
        return self.take(name, 1)[0]

    def take(self, name: Name, count: int) -> list[int]:
        """Several in ascending order. Raises: StoreError."""
        with self._lock:
            left = self._left.get(name, range(0))
            if len(left) < count:
                left = self._block(name, max(BLOCK, count))
            self._left[name] = left[count:]
            return list(left[:count])

    def _block(self, name: Name, size: int) -> range:
        key = {"owner": f"sequence#{name}", "part": "sequence"}
        try:
            item = self._store.update(TABLE, key, add={"last": size})
        except StoreUnavailable:  # if it was counted, those numbers are lost
            item = self._store.update(TABLE, key, add={"last": size})
        last: int = item["last"]
        return range(last - size + 1, last + 1)
