"""Card numbers (PANs): new ones, the check digit (ISO/IEC 7812, Luhn), and what is shown of them."""

from __future__ import annotations

import secrets

_FIRST, _LAST = 6, 4
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def new_pan(bin: str, length: int) -> str:
    """A random card number of ``length`` digits that begins with ``bin``; every one is as likely as any other."""
    free = length - len(bin) - 1
    body = f"{bin}{secrets.randbelow(10**free):0{free}}"
    return body + _check_digit(body)


def is_valid(pan: str) -> bool:
    """Whether ``pan`` consists of digits, the last of which checks the others."""
    return pan.isascii() and pan.isdigit() and pan[-1] == _check_digit(pan[:-1])


def mask(pan: str) -> str:
    """The first six and the last four digits, with a star for each between them."""
    return pan[:_FIRST] + "*" * (len(pan) - _FIRST - _LAST) + pan[-_LAST:]


def _check_digit(body: str) -> str:
    """The digit that makes the sum of all a multiple of ten, every second digit from the right counting double."""
    digits = [int(digit) for digit in reversed(body)]
    total = sum(_DOUBLED[digit] for digit in digits[::2]) + sum(digits[1::2])
    return str(-total % 10)
