"""Card numbers (PANs): generation, check digit (ISO/IEC 7812, Luhn), and masking."""

from __future__ import annotations

import secrets

_FIRST, _LAST = 6, 4
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def new_pan(bin: str, length: int) -> str:
    """Return a random card number of ``length`` digits that starts with ``bin``. Numbers are uniformly distributed."""
    free = length - len(bin) - 1
    body = f"{bin}{secrets.randbelow(10**free):0{free}}"
    return body + _check_digit(body)


def is_valid(pan: str) -> bool:
    """Whether ``pan`` consists of digits and has the correct check digit."""
    return pan.isascii() and pan.isdigit() and pan[-1] == _check_digit(pan[:-1])


def mask(pan: str) -> str:
    """Return the number with an asterisk for each digit between the first six and the last four."""
    return pan[:_FIRST] + "*" * (len(pan) - _FIRST - _LAST) + pan[-_LAST:]


def _check_digit(body: str) -> str:
    """The Luhn check digit of ``body``."""
    digits = [int(digit) for digit in reversed(body)]
    total = sum(_DOUBLED[digit] for digit in digits[::2]) + sum(digits[1::2])
    return str(-total % 10)
