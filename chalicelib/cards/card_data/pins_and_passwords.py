"""A cardholder's secrets: generated PINs and 3-D Secure passwords, and the check for simple PINs."""

from __future__ import annotations

import secrets
from itertools import pairwise

LENGTH = 4


def is_simple(pin: str) -> bool:
    """Whether the four-digit ``pin`` has four equal digits or is an ascending or descending sequence.

    Sequences do not wrap around: 8901 is not simple.
    """
    steps = {int(after) - int(before) for before, after in pairwise(pin)}
    return len(steps) == 1 and steps <= {-1, 0, 1}


def random_pin() -> str:
    """Return a random PIN that is not simple. PINs are uniformly distributed."""
    while is_simple(pin := f"{secrets.randbelow(10**LENGTH):0{LENGTH}}"):
        pass
    return pin


_DRAWN_FROM = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"
"""The characters of generated passwords: letters and digits that cannot be mistaken for each other."""
_LENGTH = 12


def new_password() -> str:
    """Return a random password of twelve letters and digits. Passwords are uniformly distributed."""
    drawn, number = "", secrets.randbelow(len(_DRAWN_FROM) ** _LENGTH)
    for _ in range(_LENGTH):
        number, place = divmod(number, len(_DRAWN_FROM))
        drawn += _DRAWN_FROM[place]
    return drawn
