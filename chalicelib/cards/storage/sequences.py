"""Ascending identifiers, which each process reserves in blocks.

Unused numbers of a block are lost, which leaves gaps. No number is issued twice. Numbers from different processes are
not in order of time. All counters are attributes of one item, and counters that are nearly used up are refilled
together. So a request that needs several kinds of numbers waits at most once.
"""

from __future__ import annotations

import secrets
import threading
from math import inf
from typing import Literal, get_args

from chalicelib.cards.storage.record import TABLE
from chalicelib.foundation import context
from chalicelib.foundation.dynamodb.store import NeverSent, Store, StoreUnavailable
from chalicelib.foundation.requests.facts import Key

BLOCK = 50
LOW = 20
"""The number of remaining numbers below which a counter is refilled whenever another counter is refilled."""
SPARE = 5 * 10**10
"""The lowest random identifier. All random identifiers have 11 digits."""
SEQUENCES: Key = (TABLE, {"owner": "sequences", "part": "sequences"})
"""The counters. The value of a counter is the highest number that any process has reserved."""

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
    """The identifier counters in the cards table."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self.left: dict[str, range] = {name: range(0) for name in get_args(Name)}

    def next(self, name: Name) -> int:
        """Return a new identifier. Identifiers start at 1. Raises: StoreError."""
        return self.take(name, 1)[0]

    def take(self, name: Name, count: int) -> list[int]:
        """Return several new identifiers in ascending order, at most ``BLOCK``.

        Waits for another thread that reserves a block, within the request's time limit. Raises: StoreError.
        """
        if count > BLOCK:
            raise ValueError(f"at most {BLOCK} identifiers can be taken at once")
        seconds = context.seconds_left()
        if not self._lock.acquire(timeout=max(0.0, seconds) if seconds < inf else -1):
            raise NeverSent("no identifier was free within the time limit of the request")
        try:
            if len(self.left[name]) < count:
                self.fill_up(name)
            left = self.left[name]
            self.left[name] = left[count:]
            return list(left[:count])
        finally:
            self._lock.release()

    def spare(self, name: Name) -> int:
        """Return an identifier without a storage call. The identifier is from the block, or a random number far above
        all counted numbers.
        """
        if self._lock.acquire(blocking=False):
            try:
                left = self.left[name]
                self.left[name] = left[1:]
                if left:
                    return left[0]
            finally:
                self._lock.release()
        return SPARE + secrets.randbelow(SPARE)

    def fill_up(self, wanted: Name) -> None:
        """Reserve new blocks for this counter and for all nearly used counters. The remaining numbers of the old blocks
        are lost.
        """
        names = [name for name, left in self.left.items() if name == wanted or len(left) < LOW]
        counted = dict.fromkeys(names, BLOCK)
        try:
            item = self._store.update(*SEQUENCES, add=counted)
        except StoreUnavailable:  # if it was counted, those numbers are lost
            item = self._store.update(*SEQUENCES, add=counted)
        for name in names:
            self.left[name] = range(item[name] - BLOCK + 1, item[name] + 1)
