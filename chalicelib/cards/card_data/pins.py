"""PINs: which of them are too simple, and new ones."""

from __future__ import annotations

import secrets
from itertools import pairwise

LENGTH = 4


def is_simple(pin: str) -> bool:
    """Whether ``pin``, of four digits, is all the same digit, or counts up or down by one throughout (decisions: PIN).

    Counting does not go around: 8901 is no such PIN.
    """
    steps = {int(after) - int(before) for before, after in pairwise(pin)}
    return len(steps) == 1 and steps <= {-1, 0, 1}


def random_pin() -> str:
    """A new PIN: every one that is not simple is as likely as any other."""
    while is_simple(pin := f"{secrets.randbelow(10**LENGTH):0{LENGTH}}"):
        pass
    return pin
