"""IBAN validation in microseconds, because a bulk payment can contain a thousand IBANs.

The structures of all countries and the Belgian bank codes come from python-stdnum. The validation of python-stdnum
takes at least 20 microseconds, because it compiles the country's pattern each time. This module compiles each pattern
once, and reimplements the national checks. Tests compare all results with the results of python-stdnum.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from operator import mul
from typing import Any, NamedTuple

_value = {character: str(int(character, 36)) for character in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}.__getitem__
_CHARACTERS = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}
_BETWEEN = (
    r"\u0009-\u000d \u0085\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\u00ad\u2010-\u2015\u2212-"
)
"""A regular expression character class: the spaces and hyphens that people write or paste between characters."""
LONGEST_PASTED = 64
"""The most characters of an IBAN as people paste it: 34, the word IBAN, spaces and hyphens."""
PASTED = f"^[A-Za-z0-9:{_BETWEEN}]+$"
"""A regular expression for an IBAN as people paste it, in the syntax of JSON Schema."""
_WORD = re.compile(f"[{_BETWEEN}]*IBAN:?", re.IGNORECASE | re.ASCII)
_SEPARATORS = re.compile(f"[{_BETWEEN}]+")


def read_iban(text: str) -> str | None:
    """Return the IBAN in a text, in capitals without spaces; ``None`` if there is no valid IBAN.

    The text may be as people paste it: with spaces, hyphens and lower-case letters, and after the word IBAN.
    """
    compact = compact_iban(text)
    return compact if compact.isascii() and is_iban(compact) else None


def compact_iban(text: str) -> str:
    """Return a text that should be an IBAN in capitals, without spaces, hyphens and the word IBAN before it.

    A text with other characters than ASCII letters and digits is returned unchanged, so that none becomes a letter.
    """
    word = _WORD.match(text)
    compact = _SEPARATORS.sub("", text[word.end() :] if word else text)
    return compact.upper() if compact.isascii() else text


def is_iban(number: str) -> bool:
    """Whether an IBAN (capitals, no spaces) has its country's structure and valid check digits."""
    country = _country(number[:2])
    if country is None or not country.fits(number):
        return False
    account = number[4:]
    if account.isdigit():
        digits = account
    elif account[4:].isdigit():
        digits = _bank(account[:4]) + account[4:]
    else:
        digits = _digits(account)
    if int(digits + country.digits + number[2:4]) % 97 != 1:
        return False
    return country.check is None or country.check(account)


def make_iban(country: str, bban: str) -> str:
    """Prepend the country and computed check digits (ISO 13616) to a national account number in capitals and digits.

    The account number is not validated. Use ``is_iban``.
    """
    return f"{country}{98 - int(_digits(bban + country)) * 100 % 97:02}{bban}"


class _Country(NamedTuple):
    """A country's IBAN structure, the country code converted to digits, and the check of national account numbers, if
    any.
    """

    fits: Callable[[str], Any]
    digits: str
    check: Callable[[str], bool] | None


@lru_cache(maxsize=256)
def _country(code: str) -> _Country | None:
    structure = _structures().get(code)
    if structure is None:
        return None
    parts = re.findall(r"([0-9]+)!([nac])", structure)
    account = "".join(f"{_CHARACTERS[kind]}{{{count}}}" for count, kind in parts)
    fits = re.compile(f"{code}[0-9]{{2}}{account}").fullmatch
    return _Country(fits, _digits(code), NATIONAL_CHECKS.get(code))


def _digits(text: str) -> str:
    return "".join(map(_value, text))


_bank = lru_cache(maxsize=1024)(_digits)  # many countries' account numbers start with four letters


@cache
def _structures() -> dict[str, str]:
    """Return IBAN structures after country code and check digits, as in the registry: ``{"DE": "8!n10!n"}``."""
    from stdnum import numdb  # imported late: the registry is large and few requests need it

    return {country: properties["bban"] for _, country, _, properties, _ in numdb.get("iban").prefixes}


def _is_belgian(account: str) -> bool:
    return int(account[-2:]) == (int(account[:-2]) % 97 or 97) and _is_belgian_bank(account[:3])


@cache
def _is_belgian_bank(code: str) -> bool:
    from stdnum import numdb

    return bool(numdb.get("be/banks").info(code)[0][1])


_SPANISH_WEIGHTS = (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)  # the powers of two, modulo 11


def _is_spanish(account: str) -> bool:
    """Whether both check digits match: the first covers bank and branch (8 digits), the second the account (10)."""
    bank = _weighted_sum(account[:8], _SPANISH_WEIGHTS[2:])
    number = _weighted_sum(account[10:], _SPANISH_WEIGHTS)
    return account[8:10] == f"{bank if bank < 2 else 11 - bank}{number if number < 2 else 11 - number}"


def _weighted_sum(digits: str, weights: tuple[int, ...]) -> int:
    weighted: int = sum(map(mul, digits.encode(), weights)) - ord("0") * sum(weights)
    return weighted % 11


def _is_montenegrin(account: str) -> bool:
    return int(account) % 97 == 1


_NORWEGIAN_WEIGHTS = (6, 7, 8, 9, 4, 5, 6, 7, 8, 9)


def _is_norwegian(account: str) -> bool:
    """Whether the last digit is the check digit: by the Luhn formula for bank code 0000, otherwise a weighted sum."""
    if not account.startswith("0000"):
        return account[10:] == str(_weighted_sum(account[:10], _NORWEGIAN_WEIGHTS))
    digits = list(map(int, account))
    return sum(digits[-1::-2] + [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]) % 10 == 0


NATIONAL_CHECKS: dict[str, Callable[[str], bool]] = {
    "BE": _is_belgian,
    "ES": _is_spanish,
    "ME": _is_montenegrin,
    "NO": _is_norwegian,
}
