"""Conversions of a bank's values to the unified API's values. Each returns ``None`` for a value of another type.

Digits are never changed, and text is never shortened. Empty and blank text counts as absent. The first sentence of a
conversion's docstring is its description in the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

from pydantic_core import PydanticCustomError

from chalicelib.foundation.fields.decimal_rules import NumberRule
from chalicelib.foundation.fields.written_text import is_blank
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.british_accounts import account_of_iban

MOST_DIGITS = 100
"""The most digits of a number, written without an exponent."""
_NUMBER = NumberRule(MOST_DIGITS)
_DIGITS = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_LONGEST_TIME = 64
_DAY = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[T ]{_TIME})?")

Converter = Callable[[Any], Any]


def text(value: object) -> str | None:
    """Return text unchanged."""
    if not isinstance(value, str) or not value.strip():
        return None
    return value if value.isascii() or not is_blank(value) else None


def number(value: object) -> str | None:
    """Return a number's digits, without an exponent. A number of more than 100 digits is none."""
    if type(value) is str and len(value) <= MOST_DIGITS and _DIGITS.fullmatch(value):
        return value
    try:
        _NUMBER.check(value)
    except PydanticCustomError:
        return None
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def unsigned(value: object) -> str | None:
    """Return a number's digits, without sign or exponent."""
    found = number(value)
    return found.removeprefix("-") if found is not None else None


def identifier(value: object) -> str | None:
    """Return text, also of a JSON number."""
    return text(value) if isinstance(value, str) else number(value)


def boolean(value: object) -> bool | None:
    """Return a truth value unchanged."""
    return value if isinstance(value, bool) else None


def texts(value: object) -> list[str] | None:
    """Return the entries of a list that are text. A list with other entries only is none."""
    found = [each for each in value if text(each)] if isinstance(value, list) else None
    return found if found or value == [] else None


def iban(value: object) -> str | None:
    """Return capitals without spaces."""
    found = text(value)
    return found if found is None or (found.isalnum() and found.isupper()) else "".join(found.split()).upper()


def sort_code_of_iban(value: object) -> str | None:
    """Return characters 9 to 14 of a British IBAN."""
    found = account_of_iban(iban(value) or "")
    return found.sort_code if found else None


def account_number_of_iban(value: object) -> str | None:
    """Return characters 15 to 22 of a British IBAN."""
    found = account_of_iban(iban(value) or "")
    return found.number if found else None


def day(value: object) -> str | None:
    """Return the day, without a time."""
    return _read_day(value) if isinstance(value, str) and len(value) <= _LONGEST_TIME else None


@lru_cache(maxsize=1024)
def _read_day(text: str) -> str | None:
    found = _DAY.fullmatch(text)
    try:
        return date.fromisoformat(found[1]).isoformat() if found else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class OneOf:
    """The conversion of a code to a word. Any other code becomes ``other``."""

    meanings: Mapping[str, str]
    other: str

    def __call__(self, value: Any) -> str:
        return self.meanings.get(value, self.other) if isinstance(value, str) else self.other


def shortest(digits: str) -> str:
    """Return a number in its shortest notation without an exponent: ``42.9``, ``100``, ``0``."""
    whole, _, fraction = digits.partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
