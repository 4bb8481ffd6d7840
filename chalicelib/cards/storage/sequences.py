"""Ascending identifiers: each process takes blocks of them from the storage.

What of a block is never used is lost, which leaves gaps; no number is given twice. Between processes the order of
numbers is not the order of time. All counters are attributes of one item, and what runs low is filled up together: a
request that needs several kinds of numbers waits once at most.
"""

from __future__ import annotations

import threading
from typing import Literal, get_args

from chalicelib.cards.storage.record import TABLE, Key
from chalicelib.foundation.dynamodb.store import Store, StoreUnavailable

BLOCK = 50
LOW = 20
"""With fewer numbers left a counter is filled up when another one has to be."""
SEQUENCES: Key = (TABLE, {"owner": "sequences", "part": "sequences"})
"""The counters: the highest number of each that a process has got."""

Name = Literal[
    "holder",
    "account",
    "card",
    "card_request",
    "rule",
    "authentication",
    "authorization",
    "external_address",
    "external_payment",
    "mandate",
    "transaction",
    "dispute",
    "addendum",
]


class Sequences:
    """Counters in the table of the cards."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._left: dict[str, range] = {name: range(0) for name in get_args(Name)}

    def next(self, name: Name) -> int:
        """A new identifier, from 1 on. Raises: StoreError."""
        return self.take(name, 1)[0]

    def take(self, name: Name, count: int) -> list[int]:
        """Several new identifiers in ascending order, at most ``BLOCK``. Raises: StoreError."""
        if count > BLOCK:
            raise ValueError(f"at most {BLOCK} identifiers are given at once")
        with self._lock:
            if len(self._left[name]) < count:
                self._fill_up(name)
            left = self._left[name]
            self._left[name] = left[count:]
            return list(left[:count])

    def _fill_up(self, wanted: Name) -> None:
        """Take a new block of a counter and of all that run low; the numbers left of their last one are lost."""
        names = [name for name, left in self._left.items() if name == wanted or len(left) < LOW]
        counted = dict.fromkeys(names, BLOCK)
        try:
            item = self._store.update(*SEQUENCES, add=counted)
        except StoreUnavailable:  # if it was counted, those numbers are lost
            item = self._store.update(*SEQUENCES, add=counted)
        for name in names:
            self._left[name] = range(item[name] - BLOCK + 1, item[name] + 1)
