"""Passwords of 3-D Secure that are drawn for a card."""

from __future__ import annotations

import secrets

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
