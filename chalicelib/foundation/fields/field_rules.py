"""The rules of field types: pydantic validation and JSON Schema.

A schema never rejects a valid value. Patterns use ECMA-262 syntax and are exact within Latin-1. Where a check is
stricter (letters of all scripts, check digits), the pattern is wider and the description states the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.lazy_dataclasses import dataclass

Json = dict[str, Any]

UNPRINTABLE = (
    r"\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000"
    r"\ue000-\uf8ff\ufeff\ufff9-\ufffb"
)
"""A regular expression's character class: controls, formatting, private use, and all spaces except U+0020.

It covers the Basic Multilingual Plane only: beyond it, JavaScript needs the ``u`` flag for ranges.
"""

UNWRITTEN = (
    r"\u0000-\u001f\u007f-\u009f\u061c\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000"
    r"\ue000-\uf8ff\ufeff\ufff9-\ufffb"
)
"""The same without what people write: no-break spaces, soft hyphens and joiners (see ``written_text``)."""

BLANK = r" \u00a0\u00ad\u200c\u200d"
"""A regular expression's character class: the characters of names that cannot be seen."""

NO_LETTERS = r"\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7"
"""A regular expression's character class: the non-letters of Latin-1 beyond ASCII."""


@dataclass(frozen=True, slots=True)
class Notation:
    """A type with a length in brackets, in the specification's notation: ``N[20]``."""

    kind: Any
    rule: Callable[[int], Any]

    def __getitem__(self, length: int) -> Any:
        return Annotated[self.kind, self.rule(length)]


@dataclass(frozen=True, slots=True, eq=False)
class TextRule:
    """A string of 1 to ``longest`` characters (``None``: the check includes the length) that passes a check.

    ``schema`` adds members to the JSON Schema; ``codes`` returns all valid strings for its ``enum``.
    """

    check: Callable[[str], str]
    longest: int | None
    schema: Json
    codes: Callable[[], frozenset[str]] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        shortest = None if self.longest is None else 1
        text = core_schema.str_schema(strict=True, min_length=shortest, max_length=self.longest)
        return core_schema.no_info_after_validator_function(self.check, text)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        lengths = {} if self.longest is None else {"minLength": 1, "maxLength": self.longest}
        codes = {"enum": sorted(self.codes())} if self.codes else {}
        return {"type": "string", **lengths, **codes, **self.schema}


class _ValueRule:
    """A value of one of several JSON types that passes a check."""

    __slots__ = ()

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def json_schema(self) -> Json:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return self.json_schema()


NUMERIC = (str, int, Decimal)
"""The types of valid numbers: strings of digits, or JSON numbers without binary fractions. Booleans are rejected."""


_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class NumberRule(_ValueRule):
    """A number with a maximum number of digits.

    If it identifies something, ``named`` is the length that a request can name; a longer one is no identifier.
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
    """A lower bound for the digits of a number written without an exponent."""
    _, digits, exponent = value.as_tuple()
    return max(len(digits) + exponent, -exponent) if isinstance(exponent, int) else 0


_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class AmountRule(_ValueRule):
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


_DIGITS = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True, eq=False)
class DigitsRule(_ValueRule):
    """An identifier of digits, with a maximum length.

    With ``width``, a JSON number is converted to text of at least that many digits, with its leading zeros restored.
    """

    longest: int
    width: int = 0

    def check(self, value: Any) -> Any:
        if not isinstance(value, str | int) or isinstance(value, bool):
            fault("type", "must be digits")
        text = str(value)
        if not text:
            fault("length", "must not be empty")
        if not _DIGITS.fullmatch(text):
            fault("characters", "must be digits only")
        if len(text) > self.longest:
            fault("length", f"must have at most {self.longest} digits")
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
"""The suffix of an identifier's description."""


@dataclass(frozen=True, slots=True, eq=False)
class IdRule(_ValueRule):
    """A bank's identifier: a string, or a whole JSON number that is converted to its digits.

    Attributes:
        longest: the maximum length of the text.
        digits: whether only digits are allowed.
        width: the length to which a number is padded with leading zeros; strings are unchanged.
        beside: the companion member; if it is absent, a number is not padded.
    """

    longest: int
    digits: bool = False
    width: int = 0
    beside: str | None = None

    def check(self, value: Any) -> Any:
        text = self.text(value)
        if not isinstance(text, str):
            fault("type", "must be a string or a whole number")
        if not text:
            fault("length", "must not be empty")
        if len(text) > self.longest:
            fault("length", f"must have at most {self.longest} {'digits' if self.digits else 'characters'}")
        if self.digits and not _DIGITS.fullmatch(text):
            fault("characters", "must be digits only")
        return text if text.isprintable() else fault("characters", "must be printable text")

    def text(self, value: Any, *, alone: bool = False) -> Any:
        """Convert a whole number to text, unpadded if ``alone`` (no companion member); other values are unchanged."""
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


_WHOLE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, eq=False)
class WholeRule(_ValueRule):
    """A whole number from 1 to ``highest``, as a number or a string of digits; converted to ``int``."""

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
