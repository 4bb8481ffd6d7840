"""Validation rules of lists and objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic_core import PydanticCustomError

from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.field_types import Json, ValueRule, capitalize, text_of
from chalicelib.foundation.fields.problems import Kind, fault
from chalicelib.foundation.fields.written_text import is_blank, is_written
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ListRule(ValueRule):
    """A list of values: a JSON array, a comma-separated string, or a single value. An empty list counts as absent."""

    entry: ValueRule
    most: int
    different: bool = True

    def check(self, value: Any) -> tuple[Any, ...] | None:
        if type(value) is list:
            entries = value
        elif type(value) is str:
            entries = [part.strip() for part in value.split(",")] if value.strip() else []
        else:
            entries = [value]
        if len(entries) > self.most:
            fault("length", f"must have at most {self.most} entries")
        checked = tuple(map(self._entry, entries))
        if self.different and len(set(checked)) != len(checked):
            fault("value", "must not contain duplicates")
        return checked or None

    def _entry(self, value: Any) -> Any:
        try:
            return self.entry.check(value)
        except PydanticCustomError as error:
            return fault(cast(Kind, error.type), f"contains an invalid entry: it {(error.context or {})['reason']}")

    def json_schema(self) -> Json:
        entry = self.entry.json_schema()
        return {
            "anyOf": [
                {"type": "array", "items": entry, "maxItems": self.most, "uniqueItems": self.different},
                entry,
                {"type": "string", "pattern": r"^ *([^ ,]+( *, *[^ ,]+)*)? *$"},
            ],
            "description": f"A list of at most {self.most} entries: an array or a comma-separated string",
            "examples": [(entry.get("examples") or entry["enum"])[:1]],
        }


@dataclass(frozen=True, slots=True, eq=False)
class SeriesRule(ValueRule):
    """A string of comma-separated entries. The function ``form`` validates and normalises each entry."""

    longest: int
    form: Callable[[str], str | None]
    reason: str
    pattern: str
    example: str

    def check(self, value: Any) -> tuple[str, ...]:
        entries = []
        for part in text_of(value, self.longest, 1).split(","):
            entry = self.form(part.strip())
            if entry is None:
                fault("value", f"must be {self.reason}")
            entries.append(entry)
        return tuple(dict.fromkeys(entries))

    def json_schema(self) -> Json:
        return {
            "type": "string",
            "minLength": 1,
            "maxLength": self.longest,
            "pattern": self.pattern,
            "description": capitalize(self.reason),
            "examples": [self.example],
        }


@dataclass(frozen=True, slots=True, eq=False)
class TextsRule(ValueRule):
    """A JSON array of printable strings with a maximum total length in characters."""

    longest: int

    def check(self, value: Any) -> tuple[str, ...]:
        if type(value) is not list or any(type(entry) is not str for entry in value):
            fault("type", "must be a list of strings")
        if not value or any(map(is_blank, value)):
            fault("length", "must have at least one entry and no empty ones")
        if sum(map(len, value)) > self.longest:
            fault("length", f"must have at most {self.longest} characters in total")
        if not all(map(is_written, value)):
            fault("characters", "must be printable text")
        return tuple(dict.fromkeys(entry.strip() for entry in value))

    def json_schema(self) -> Json:
        return {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "minLength": 1, "maxLength": self.longest},
            "description": f"Texts of at most {self.longest} characters in total",
            "examples": [["Corner Shop", "Riverside Books"]],
        }


@dataclass(frozen=True, slots=True, eq=False)
class ObjectRule(ValueRule):
    """A free-form JSON object, whose size as compact UTF-8 JSON is limited."""

    longest: int

    def check(self, value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            fault("type", "must be an object")
        if not value or len(jsontext.dumps(value).encode()) > self.longest:
            fault("length", f"must have at least one member and at most {self.longest} bytes as JSON")
        return cast(dict[str, Any], value)

    def json_schema(self) -> Json:
        return {
            "type": "object",
            "minProperties": 1,
            "description": f"An object of at most {self.longest} bytes as JSON",
            "examples": [{"invoice_number": "2041"}],
        }
