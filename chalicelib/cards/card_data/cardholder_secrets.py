"""Secrets that a cardholder knows: new PINs, PINs that are too simple, and new passwords of 3-D Secure."""

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


_DRAWN_FROM = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"
"""What passwords are drawn from: letters and digits that are not taken for each other."""
_LENGTH = 12


def new_password() -> str:
    """Twelve letters and digits, each password as likely as any other."""
    drawn, number = "", secrets.randbelow(len(_DRAWN_FROM) ** _LENGTH)
    for _ in range(_LENGTH):
        number, place = divmod(number, len(_DRAWN_FROM))
        drawn += _DRAWN_FROM[place]
    return drawn
