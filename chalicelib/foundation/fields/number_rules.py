"""Validation rules of whole numbers, identifiers, and codes from a list or a registry.

A number may be a JSON number or a string of digits. Its length is the number of digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.foundation.fields.field_types import UNPRINTABLE, Json, ValueRule, check_length, text_of
from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.lazy_dataclasses import dataclass

_DIGITS = re.compile(r"[0-9]*")


def digits_of(value: Any, longest: int, shortest: int = 1, unit: str = "digits") -> str:
    """Return the digits of a JSON number or a digit string, after checking how many there are."""
    text = str(value) if type(value) is int and value >= 0 else value
    if type(text) is not str or not _DIGITS.fullmatch(text):
        fault("type", "must be a whole number")
    if not shortest <= len(text) <= longest:
        check_length(len(text), longest, shortest, unit)
    return text


def _digit_bounds(longest: int, shortest: int) -> Json:
    return {
        "minimum": 0 if shortest == 1 else 10 ** (shortest - 1),
        "maximum": 10**longest - 1,
        "pattern": f"^[0-9]{{{shortest},{longest}}}$",
    }


@dataclass(frozen=True, slots=True, eq=False)
class IntegerRule(ValueRule):
    """An integer with a minimum and maximum number of digits."""

    longest: int
    shortest: int = 1

    def check(self, value: Any) -> int:
        if type(value) is int and 10 ** (self.shortest - 1) <= value < 10**self.longest:
            return value
        return int(digits_of(value, self.longest, self.shortest))

    def json_schema(self) -> Json:
        return {
            "type": ["integer", "string"],
            **_digit_bounds(self.longest, self.shortest),
            "description": "A whole number or a string of digits",
            "examples": [int("1234567890123456789"[: max(self.shortest, min(self.longest, 4))])],
        }

    def answer_schema(self) -> Json:
        return {"type": "integer", "minimum": 0, "maximum": 10**self.longest - 1}


@dataclass(frozen=True, slots=True, eq=False)
class NumericIdRule(ValueRule):
    """A numeric identifier, as a string that retains leading zeros."""

    longest: int
    shortest: int = 1
    example: str = ""

    def check(self, value: Any) -> str:
        return digits_of(value, self.longest, self.shortest)

    def json_schema(self) -> Json:
        return {
            "type": ["string", "integer"],
            **_digit_bounds(self.longest, self.shortest),
            "description": "Digits; a string keeps leading zeros",
            "examples": [self.example or "4929123412341234123"[: self.longest]],
        }

    def answer_schema(self) -> Json:
        return {"type": "string", "pattern": f"^[0-9]{{{self.shortest},{self.longest}}}$"}


@dataclass(frozen=True, slots=True, eq=False)
class RangeRule(ValueRule):
    """An integer in a range. ``digits`` limits the number of digits. The default is the number of digits of
    ``highest``.
    """

    highest: int
    lowest: int
    digits: int = 0

    @property
    def longest(self) -> int:
        return self.digits or len(str(self.highest))

    def check(self, value: Any) -> int:
        number = int(digits_of(value, self.longest))
        if not self.lowest <= number <= self.highest:
            fault("value", f"must be from {self.lowest} to {self.highest}")
        return number

    def json_schema(self) -> Json:
        return {
            "type": ["integer", "string"],
            "minimum": self.lowest,
            "maximum": self.highest,
            "pattern": f"^[0-9]{{1,{self.longest}}}$",
            "description": f"A whole number from {self.lowest} to {self.highest}",
            "examples": [min(100, self.highest)],
        }

    def answer_schema(self) -> Json:
        return {"type": "integer", "minimum": self.lowest, "maximum": self.highest}


_WHOLE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, eq=False)
class WholeRule(ValueRule):
    """A whole number from 1 to ``highest``, as a number or a string of digits. It is converted to ``int``."""

    highest: int

    def check(self, value: Any) -> int:
        text = str(value)
        if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= self.highest:
            fault("value", f"must be a whole number from 1 to {self.highest}")
        return int(text)

    def json_schema(self) -> Json:
        return {
            "type": "integer",
            "minimum": 1,
            "maximum": self.highest,
            "description": f"A whole number from 1 to {self.highest}",
            "examples": [self.highest],
        }


@dataclass(frozen=True, slots=True, eq=False)
class DigitsRule(ValueRule):
    """An identifier of digits, with a maximum length.

    If ``width`` is set, a JSON number is converted to text of at least that many digits, with its leading zeros
    restored.
    """

    longest: int
    width: int = 0

    def check(self, value: Any) -> Any:
        if not isinstance(value, str | int) or isinstance(value, bool):
            fault("type", "must be digits")
        text = str(value)
        if not _DIGITS.fullmatch(text):
            fault("characters", "must be digits only")
        if not 1 <= len(text) <= self.longest:
            check_length(len(text), self.longest, unit="digits")
        return text.zfill(self.width) if self.width and isinstance(value, int) else value

    def json_schema(self) -> Json:
        zeros = f"a number is padded to {self.width} digits" if self.width else "a string keeps leading zeros"
        return {
            "type": ["string", "integer"],
            "minLength": 1,
            "maxLength": self.longest,
            "pattern": "^[0-9]+$",
            "minimum": 0,
            "maximum": 10**self.longest - 1,
            "description": f"At most {self.longest} digits; {zeros}",
            "examples": ["12345678"[: self.longest]],
        }


OR_A_NUMBER = ", or a whole number"
"""The text that ends the description of an identifier that may also be a whole number."""


@dataclass(frozen=True, slots=True, eq=False)
class IdRule(ValueRule):
    """An identifier from a bank: a string, or a whole JSON number that is converted to its digits.

    Attributes:
        longest: the maximum length of the text.
        digits: whether only digits are allowed.
        width: the length to which a number is padded with leading zeros; strings are unchanged.
        beside: the name of another member. If that member is absent, numbers are not padded.
    """

    longest: int
    digits: bool = False
    width: int = 0
    beside: str | None = None

    def check(self, value: Any) -> Any:
        text = self.text(value)
        if not isinstance(text, str):
            fault("type", "must be a string or a whole number")
        if not 1 <= len(text) <= self.longest:
            check_length(len(text), self.longest, unit="digits" if self.digits else "characters")
        if self.digits and not _DIGITS.fullmatch(text):
            fault("characters", "must be digits only")
        return text if text.isprintable() else fault("characters", "must be printable text")

    def text(self, value: Any, *, alone: bool = False) -> Any:
        """Convert a whole number to text. The number is not padded if ``alone`` is true. Other values are unchanged."""
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        return str(value) if alone or value < 0 else str(value).zfill(self.width)

    def json_schema(self) -> Json:
        text: Json = {"pattern": f"^[^{UNPRINTABLE}]*$", "description": f"Printable text{OR_A_NUMBER}"}
        digits: Json = {
            "pattern": "^[0-9]+$",
            "minimum": 0,
            "maximum": 10**self.longest - 1,
            "description": f"At most {self.longest} digits{OR_A_NUMBER}",
        }
        return {
            "type": ["string", "integer"],
            "minLength": 1,
            "maxLength": self.longest,
            **(digits if self.digits else text),
            "examples": ["12345678"[: self.longest]],
        }


@dataclass(frozen=True, slots=True, eq=False)
class OneOfRule(ValueRule):
    """One of several numbers, each of which has a meaning."""

    meanings: Mapping[int, str]
    digits: int = 1

    def check(self, value: Any) -> int:
        number = int(digits_of(value, self.digits))
        if number not in self.meanings:
            fault("value", f"must be {_join_alternatives(map(str, self.meanings))}")
        return number

    def json_schema(self) -> Json:
        numbers = list(self.meanings)
        return {
            "enum": [*numbers, *map(str, numbers)],
            "description": "; ".join(f"{number} {meaning}" for number, meaning in self.meanings.items()),
            "examples": numbers[:1],
        }

    def answer_schema(self) -> Json:
        return {"type": "integer", "enum": list(self.meanings), "description": self.json_schema()["description"]}


class NumberWordRule(OneOfRule):
    """One of several numbers. Responses contain the number as text, and requests may contain text or a number."""

    __slots__ = ()

    def json_schema(self) -> Json:
        schema = OneOfRule.json_schema(self)
        return schema | {"enum": [*map(str, self.meanings), *self.meanings], "examples": [str(min(self.meanings))]}

    def answer_schema(self) -> Json:
        return OneOfRule.answer_schema(self) | {"type": "string", "enum": [*map(str, self.meanings)]}


@dataclass(frozen=True, slots=True, eq=False)
class CodeWordRule(ValueRule):
    """One of several strings of exactly ``length`` characters, each of which has a meaning.

    If ``shortest`` is set, the length is between ``shortest`` and ``length``, numbers are accepted, and case is
    ignored.
    """

    meanings: Mapping[str, str]
    length: int = 1
    shortest: int = 0

    def check(self, value: Any) -> str:
        if self.shortest and type(value) is int and value >= 0:
            value = str(value)
        word = text_of(value, self.length, self.shortest or self.length)
        if self.shortest:
            word = next((each for each in self.meanings if each.lower() == word.lower()), word)
        if word not in self.meanings:
            fault("value", f"must be {_join_alternatives(self.meanings)}")
        return word

    def json_schema(self) -> Json:
        described = "; ".join(f"{letter} {meaning}" for letter, meaning in self.meanings.items())
        return {"type": "string", "enum": list(self.meanings), "description": described}


@dataclass(frozen=True, slots=True, eq=False)
class CodeRule(ValueRule):
    """A three-digit numeric ISO code, with or without leading zeros."""

    registry: Callable[[], Mapping[int, str]]
    called: str
    example: int

    def check(self, value: Any) -> int:
        code = int(digits_of(value, 3))
        if code not in self.registry():
            fault("value", f"is not a {self.called}")
        return code

    def json_schema(self) -> Json:
        codes = sorted(self.registry())
        spellings = [f"{code:03}" for code in codes] + [str(code) for code in codes if code < 100]
        return {"enum": [*codes, *spellings], "description": f"A {self.called}", "examples": [self.example]}

    def answer_schema(self) -> Json:
        return {"type": "integer", "enum": sorted(self.registry()), "description": f"A {self.called}"}


def _join_alternatives(values: Any) -> str:
    *first, last = values
    return f"{', '.join(first)} or {last}" if first else str(last)
