"""The modulus check of British bank accounts, which checks whether sort code and account number match.

The check follows "Validating account numbers" by Pay.UK (formerly VocaLink). The fourteen digits are weighted and
summed, and the sum must be a multiple of the modulus. Pay.UK's table has the weights for each sort code. This module
contains only the ranges of sort codes that are confirmed by published examples. Accounts with other sort codes cannot
be checked and are accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import mul
from typing import NamedTuple

ACCOUNT_DIGITS = 8
_FOREIGN = "45678"

Check = Callable[[tuple[int, ...]], bool]
"""A check of the fourteen products of digits and weights."""


def _mod_10(products: tuple[int, ...]) -> bool:
    return sum(products) % 10 == 0


def _mod_11(products: tuple[int, ...]) -> bool:
    return sum(products) % 11 == 0


def _double_alternate(products: tuple[int, ...]) -> bool:
    """Whether the sum of the digits of all products is a multiple of 10."""
    return sum(sum(divmod(product, 10)) for product in products) % 10 == 0


class _Row(NamedTuple):
    """A range of sort codes from ``first`` to ``last``, with its checks and their weights. All checks must pass.

    If ``foreign`` is true, account numbers that start with 4 to 8 and end with the same digit twice are
    foreign-currency accounts, which cannot be checked (exception 6).
    """

    first: str
    last: str
    checks: tuple[tuple[Check, str], ...]
    foreign: bool = False


_ROWS = (
    _Row("089000", "089999", ((_mod_10, "00000071371371"),)),
    _Row("102400", "107999", ((_mod_11, "00000087654321"),)),
    _Row("202700", "203239", ((_mod_11, "00000007654321"), (_double_alternate, "21212121212121")), foreign=True),
)


def is_valid(sort_code: str, account_number: str) -> bool:
    """Whether a sort code (six digits) and an account number (eight digits) pass the check. True if the account cannot
    be checked.
    """
    row = _find_row(sort_code)
    if row is None:
        return True
    if len(account_number) != ACCOUNT_DIGITS or not (account_number.isascii() and account_number.isdigit()):
        return False
    if row.foreign and account_number[0] in _FOREIGN and account_number[-2] == account_number[-1]:
        return True
    digits = tuple(map(int, sort_code + account_number))
    return all(check(tuple(map(mul, digits, map(int, weights)))) for check, weights in row.checks)


def with_check_digit(sort_code: str, seven_digits: str) -> str | None:
    """Return the lowest valid account number that starts with these seven digits, or ``None`` if there is none."""
    return next((number for last in range(10) if is_valid(sort_code, number := f"{seven_digits}{last}")), None)


def _find_row(sort_code: str) -> _Row | None:
    if not (len(sort_code) == 6 and sort_code.isascii() and sort_code.isdigit()):
        return None
    return next((row for row in _ROWS if row.first <= sort_code <= row.last), None)
