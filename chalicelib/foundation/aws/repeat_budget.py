"""A limit of the repeats of throttled calls: many threads that repeat theirs would multiply the traffic."""

from __future__ import annotations

import threading

CAPACITY, COST = 500, 5
"""The tokens of a process, and those of a repeat: the figures of AWS's SDKs,
https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html.
"""


class RepeatBudget:
    """Tokens that repeats take, and successful calls give back. Safe for use by several threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = self._left = capacity
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take the tokens of one repeat; false if there are too few, and the call must not be repeated."""
        with self._lock:
            if self._left < COST:
                return False
            self._left -= COST
            return True

    def give_back(self, repeats: int) -> None:
        """Give back the tokens of the repeats of a call that succeeded; without repeats one token, to refill."""
        if self._left < self._capacity:  # another thread's change is noticed by the next call
            with self._lock:
                self._left = min(self._capacity, self._left + (COST * repeats or 1))


REPEATS = RepeatBudget()
"""The budget of this process."""
