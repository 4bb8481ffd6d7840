"""A cardholder's secrets: new PINs, simple PINs, and new 3-D Secure passwords."""

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
    """A new PIN, uniformly distributed over all that are not simple."""
    while is_simple(pin := f"{secrets.randbelow(10**LENGTH):0{LENGTH}}"):
        pass
    return pin


_DRAWN_FROM = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"
"""The alphabet of passwords: letters and digits that look different."""
_LENGTH = 12


def new_password() -> str:
    """A new password of twelve letters and digits, uniformly distributed."""
    drawn, number = "", secrets.randbelow(len(_DRAWN_FROM) ** _LENGTH)
    for _ in range(_LENGTH):
        number, place = divmod(number, len(_DRAWN_FROM))
        drawn += _DRAWN_FROM[place]
    return drawn
