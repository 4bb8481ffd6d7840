"""Validation rules for numbers and amounts. Valid values retain their notation. Functions return the exact value of a
notation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Context, Decimal, FloatOperation, Inexact
from functools import reduce
from typing import Any

from chalicelib.foundation.fields.field_types import Json, ValueRule
from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.lazy_dataclasses import dataclass

NUMERIC = (str, int, Decimal)
"""The types of valid numbers: strings of digits, and JSON numbers that were not parsed as binary fractions. Booleans
are rejected.
"""


_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class NumberRule(ValueRule):
    """A number with a maximum number of digits.

    For an identifier, ``named`` is the maximum length in a request. A longer number is not an identifier.
    """

    longest: int
    named: int | None = None

    def check(self, value: Any) -> Any:
        if self.named is not None and len(str(value)) > self.named:
            fault("identifier", f"must have at most {self.named} digits")
        if not isinstance(value, NUMERIC) or isinstance(value, bool):
            fault("type", "must be a number")
        if isinstance(value, Decimal) and _digits(value) > self.longest:  # avoids writing out 1e999999999
            fault("length", f"must have at most {self.longest} digits")
        text = f"{value:f}" if isinstance(value, Decimal) else str(value)
        if not _NUMBER.fullmatch(text):
            fault("type", "must be a number")
        if sum(map(str.isdigit, text)) > self.longest:
            fault("length", f"must have at most {self.longest} digits")
        return value

    def json_schema(self) -> Json:
        most = 10**self.longest - 1
        return {
            "type": ["number", "string"],
            "minimum": -most,
            "maximum": most,
            "maxLength": self.longest + 2,
            "pattern": rf"^-?(?=(?:\.?[0-9]){{1,{self.longest}}}$)[0-9]+(?:\.[0-9]+)?$",
            "description": f"A number of at most {self.longest} digits, with a decimal point if needed",
            "examples": [int("12345678"[: self.longest])],
        }


def _digits(value: Decimal) -> int:
    """Return a lower bound for the digits of a number written without an exponent."""
    _, digits, exponent = value.as_tuple()
    return max(len(digits) + exponent, -exponent) if isinstance(exponent, int) else 0


_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class AmountRule(ValueRule):
    """An amount of money greater than zero, with a maximum number of digits."""

    longest: int

    def check(self, value: Any) -> Any:
        if isinstance(value, str):
            text = value
        elif isinstance(value, int | Decimal) and not isinstance(value, bool):
            text = str(value)
        else:
            fault("type", "must be an amount of money")
        if not _AMOUNT.fullmatch(text):
            fault("value", "must be an amount: digits with an optional decimal point")
        if len(text) > self.longest and len(text) - ("." in text) > self.longest:
            fault("length", f"must have at most {self.longest} digits")
        if not text.strip("0."):
            fault("value", "must be greater than zero")
        return value

    def json_schema(self) -> Json:
        return {
            "type": ["number", "string"],
            "exclusiveMinimum": 0,
            "maximum": 10**self.longest - 1,
            "maxLength": self.longest + 1,
            "pattern": rf"^(?=.*[1-9])(?=(?:\.?[0-9]){{1,{self.longest}}}$)[0-9]+(?:\.[0-9]+)?$",
            "description": f"An amount of money of at most {self.longest} digits, with a decimal point if needed and "
            "no exponent; a string or a number, passed on unchanged",
            "examples": ["12.50" if self.longest > 3 else "1"],
        }


class AmountTextRule(AmountRule):
    """An amount of money as a string of digits; a JSON number is rejected."""

    __slots__ = ()

    def check(self, value: Any) -> Any:
        return AmountRule.check(self, value) if isinstance(value, str) else fault("type", "must be a string")

    def json_schema(self) -> Json:
        text = ("maxLength", "pattern", "examples")
        return {
            "type": "string",
            **{name: value for name, value in AmountRule.json_schema(self).items() if name in text},
            "description": f"An amount of money of at most {self.longest} digits, with a decimal point if needed and "
            "no exponent; passed on unchanged",
        }


def decimal(value: object) -> Decimal:
    """Return the exact value of a number that ``NumberRule`` or ``AmountRule`` accepts."""
    assert isinstance(value, NUMERIC)
    return Decimal(value)


def exact_sum(values: Iterable[object]) -> Decimal:
    """Return the exact sum of numbers that ``NumberRule`` or ``AmountRule`` accepts. ``sum`` rounds to 28 digits."""
    return reduce(_EXACT.add, map(_exact, values), Decimal())


_EXACT = Context(prec=1000, traps=[Inexact, FloatOperation])
_exact: Callable[[Any], Decimal] = _EXACT.create_decimal
