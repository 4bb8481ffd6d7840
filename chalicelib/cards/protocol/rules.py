"""Validation rules and JSON Schemas behind the card API's field types.

A number may be a JSON number or a string of digits. It becomes an ``int``, or a string of digits if leading zeros
matter. Its length is the number of digits. Error messages never quote a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.fields.written_text import is_blank, is_written
from chalicelib.foundation.lazy_dataclasses import dataclass

Json = dict[str, Any]


class ValueRule:
    """Validates a value; ``check`` returns the parsed value."""

    __slots__ = ()

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def json_schema(self) -> Json:
        """The JSON Schema of a request value."""
        raise NotImplementedError

    def answer_schema(self) -> Json:
        """The JSON Schema of a response value."""
        return self.json_schema()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)


_DIGITS = re.compile(r"[0-9]*")


def digits_of(value: Any, shortest: int, longest: int, what: str = "digits") -> str:
    """Return the digits of a JSON number or a digit string, and check their number."""
    text = str(value) if type(value) is int and value >= 0 else value
    if type(text) is not str or not _DIGITS.fullmatch(text):
        fault("type", "must be a whole number")
    return text_of(text, shortest, longest, what)


def text_of(value: Any, shortest: int, longest: int, what: str = "characters") -> str:
    """Return a string, and check its length; ``what`` is counted."""
    if type(value) is not str:
        fault("type", "must be a string")
    if not shortest <= len(value) <= longest:
        said = f"exactly {longest}" if shortest == longest else f"{shortest} to {longest}"
        fault("length", f"must have {said} {what if longest > 1 else what.removesuffix('s')}")
    return str(value)


def is_printable(text: str) -> bool:
    return is_written(text) and not is_blank(text)


@dataclass(frozen=True, slots=True, eq=False)
class IntegerRule(ValueRule):
    """An integer with a minimum and maximum number of digits."""

    shortest: int
    longest: int

    def check(self, value: Any) -> int:
        if type(value) is int and 10 ** (self.shortest - 1) <= value < 10**self.longest:
            return value
        return int(digits_of(value, self.shortest, self.longest))

    def json_schema(self) -> Json:
        return {
            "type": ["integer", "string"],
            "minimum": 0 if self.shortest == 1 else 10 ** (self.shortest - 1),
            "maximum": 10**self.longest - 1,
            "pattern": f"^[0-9]{{{self.shortest},{self.longest}}}$",
            "description": "A whole number or a string of digits",
            "examples": [int("1234567890123456789"[: max(self.shortest, min(self.longest, 4))])],
        }

    def answer_schema(self) -> Json:
        return {"type": "integer", "minimum": 0, "maximum": 10**self.longest - 1}


@dataclass(frozen=True, slots=True, eq=False)
class NumericIdRule(ValueRule):
    """A numeric identifier, as a string that keeps leading zeros."""

    shortest: int
    longest: int
    example: str = ""

    def check(self, value: Any) -> str:
        return digits_of(value, self.shortest, self.longest)

    def json_schema(self) -> Json:
        return {
            "type": ["string", "integer"],
            "minimum": 0 if self.shortest == 1 else 10 ** (self.shortest - 1),
            "maximum": 10**self.longest - 1,
            "pattern": f"^[0-9]{{{self.shortest},{self.longest}}}$",
            "description": "Digits; a string keeps leading zeros",
            "examples": [self.example or "4929123412341234123"[: self.longest]],
        }

    def answer_schema(self) -> Json:
        return {"type": "string", "pattern": f"^[0-9]{{{self.shortest},{self.longest}}}$"}


@dataclass(frozen=True, slots=True, eq=False)
class RangeRule(ValueRule):
    """An integer in a range. ``digits`` limits its digits; by default, to the number of digits in ``highest``."""

    lowest: int
    highest: int
    digits: int = 0

    @property
    def longest(self) -> int:
        return self.digits or len(str(self.highest))

    def check(self, value: Any) -> int:
        number = int(digits_of(value, 1, self.longest))
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


@dataclass(frozen=True, slots=True, eq=False)
class PaginatorRule(ValueRule):
    """A page of a list: ``item_count`` entries from the zero-based ``offset``."""

    most: int
    digits: int

    def check(self, value: Any) -> tuple[int, int]:
        if type(value) is not dict:
            fault("type", "must be an object")
        if any(name not in ("item_count", "offset") for name in value):
            fault("unknown", "must have only item_count and offset")
        found = []
        for name in ("item_count", "offset"):
            if value.get(name) is None:
                fault("missing", f"must have {name}")
            found.append(int(digits_of(value[name], 1, self.digits, f"digits in {name}")))
        if not 1 <= found[0] <= self.most:
            fault("value", f"must have an item_count from 1 to {self.most}")
        return found[0], found[1]

    def json_schema(self) -> Json:
        count = {"type": ["integer", "string"], "minimum": 1, "maximum": self.most, "pattern": "^[0-9]{1,11}$"}
        return {
            "type": "object",
            "properties": {
                "item_count": count | {"description": f"Entries per page, at most {self.most}"},
                "offset": IntegerRule(1, self.digits).json_schema()
                | {"description": "Zero-based index of the first entry"},
            },
            "required": ["item_count", "offset"],
            "additionalProperties": False,
            "examples": [{"item_count": 20, "offset": 0}],
        }


@dataclass(frozen=True, slots=True, eq=False)
class OneOfRule(ValueRule):
    """One of several numbers, each with a meaning."""

    meanings: Mapping[int, str]
    digits: int = 1

    def check(self, value: Any) -> int:
        number = int(digits_of(value, 1, self.digits))
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

    def __hash__(self) -> int:
        return hash((tuple(self.meanings), self.digits))


class NumberWordRule(OneOfRule):
    """One of several numbers that responses write as text; requests may write text or a number."""

    __slots__ = ()

    def json_schema(self) -> Json:
        schema = OneOfRule.json_schema(self)
        return schema | {"enum": [*map(str, self.meanings), *self.meanings], "examples": [str(min(self.meanings))]}

    def answer_schema(self) -> Json:
        return OneOfRule.answer_schema(self) | {"type": "string", "enum": [*map(str, self.meanings)]}


@dataclass(frozen=True, slots=True, eq=False)
class CodeWordRule(ValueRule):
    """One of several strings, each with a meaning, of exactly ``length`` characters.

    If ``shortest`` is set, it is the minimum length and ``length`` the maximum, numbers are accepted, and case is
    ignored.
    """

    meanings: Mapping[str, str]
    length: int = 1
    shortest: int = 0

    def check(self, value: Any) -> str:
        if self.shortest and type(value) is int and value >= 0:
            value = str(value)
        word = text_of(value, self.shortest or self.length, self.length)
        if self.shortest:
            word = next((each for each in self.meanings if each.lower() == word.lower()), word)
        if word not in self.meanings:
            fault("value", f"must be {_join_alternatives(self.meanings)}")
        return word

    def json_schema(self) -> Json:
        described = "; ".join(f"{letter} {meaning}" for letter, meaning in self.meanings.items())
        return {"type": "string", "enum": list(self.meanings), "description": described}

    def __hash__(self) -> int:
        return hash(tuple(self.meanings))


@dataclass(frozen=True, slots=True, eq=False)
class CodeRule(ValueRule):
    """A three-digit numeric ISO code, with or without leading zeros."""

    registry: Callable[[], Mapping[int, str]]
    called: str
    example: int

    def check(self, value: Any) -> int:
        code = int(digits_of(value, 1, 3))
        if code not in self.registry():
            fault("value", f"is not a {self.called}")
        return code

    def json_schema(self) -> Json:
        codes = sorted(self.registry())
        spellings = [f"{code:03}" for code in codes] + [str(code) for code in codes if code < 100]
        return {"enum": [*codes, *spellings], "description": f"A {self.called}", "examples": [self.example]}

    def answer_schema(self) -> Json:
        return {"type": "integer", "enum": sorted(self.registry()), "description": f"A {self.called}"}


@dataclass(frozen=True, slots=True, eq=False)
class CharacterRule(ValueRule):
    """A string with a minimum and maximum length, of permitted characters only; ``allowed`` tests them."""

    shortest: int
    longest: int
    allowed: Callable[[str], object]
    reason: str
    pattern: str
    example: str

    def check(self, value: Any) -> str:
        text = text_of(value, self.shortest, self.longest)
        if not self.allowed(text):
            fault("characters", f"must be {self.reason}")
        return text

    def json_schema(self) -> Json:
        example = (self.example * (self.shortest // len(self.example) + 1))[: max(self.shortest, len(self.example))]
        return {
            "type": "string",
            "minLength": self.shortest,
            "maxLength": self.longest,
            "pattern": self.pattern,
            "description": capitalize(self.reason),
            "examples": [example[: self.longest].strip()],
        }


@dataclass(frozen=True, slots=True, eq=False)
class FormRule(CharacterRule):
    """A string in a specific format, named ``called`` in messages.

    ``read`` returns the normalised value, or ``None`` if the format is wrong; ``format`` is its name in JSON Schema.
    """

    read: Callable[[str], str | None]
    called: str
    format: str = ""
    described: str = ""

    def check(self, value: Any) -> str:
        found = self.read(CharacterRule.check(self, value))
        if found is None:
            fault("value", f"must be {self.called}")
        return str(found)

    def json_schema(self) -> Json:
        schema = {"type": "string"} | ({"format": self.format} if self.format else {}) | CharacterRule.json_schema(self)
        if self.shortest == self.longest:  # the pattern says it
            del schema["minLength"], schema["maxLength"]
        return schema | {"description": self.described or capitalize(self.called), "examples": [self.example]}


def capitalize(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def _join_alternatives(values: Any) -> str:
    *first, last = values
    return f"{', '.join(first)} or {last}" if first else str(last)
