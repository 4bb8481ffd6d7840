"""Type notations of the reference: short descriptions of JSON Schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from chalicelib.openbanking.protocol.unified_scopes import UNIFIED_SCOPES

Schema = Mapping[str, Any]


class TypeNote(NamedTuple):
    """Replaces the sentence about a field's rule, at the end of its description, with a short type notation.

    ``pattern`` matches the sentence; ``notation`` is shown as the field's type, and ``meaning`` explains the notation.
    In ``notation``, ``{0}`` stands for the pattern's first group, and ``{longest}`` for the schema's ``maxLength``.
    """

    pattern: str
    notation: str
    sample: str
    meaning: str

    @property
    def column(self) -> str:
        """Return a regular expression that matches a table cell with this type notation."""
        return rf"\| (list of )?{re.sub('[0-9]+', '[0-9]+', self.sample)} \|"


TYPE_NOTES: Sequence[TypeNote] = (
    TypeNote(
        r"An IBAN(?: in capitals without spaces| with the length.*? are accepted)",
        "IBAN",
        "IBAN",
        "Length, structure and check digits follow the rules of its country. Requests may use lower case and spaces",
    ),
    TypeNote(r"A BIC of 8 or 11 characters", "BIC", "BIC", "8 or 11 characters (ISO 9362)"),
    TypeNote(
        r"An amount of money of at most (\d+) digits[^`]*?passed on unchanged",
        "amount {0}",
        "amount 10",
        "An amount of money: a string or a number of at most 10 digits, with a dot before the decimals and "
        "without an exponent. It has no more decimals than the currency, not counting trailing zeros. The bank "
        "receives it exactly as you sent it. [Some JSON parsers lose digits of numbers]"
        "(../concepts/requests.md#amounts), of strings none does",
    ),
    TypeNote(
        r"A number of at most (\d+) digits, with a decimal point if needed",
        "number {0}",
        "number 20",
        "A string or a number of at most 20 digits, with a dot before the decimals. [Some JSON parsers lose digits of "
        "numbers](../concepts/requests.md#amounts)",
    ),
    TypeNote(
        r"Printable text, or a whole number",
        "id {longest}",
        "id 255",
        "An identifier: printable text of 1 to 255 characters. Banks may send it as a whole number; TPPs receive "
        "a string",
    ),
    TypeNote(
        r"At most (\d+) digits(?:, or a whole number|; a string keeps leading zeros)?",
        "digits {0}",
        "digits 8",
        "1 to 8 digits, as a string or a whole number. A string keeps its leading zeros",
    ),
    TypeNote(
        r"The name of a payee: .*",
        "payee {longest}",
        "payee 40",
        "A name of 1 to 40 characters: letters, digits, spaces and ' \u2019 - . , & / ( )",
    ),
    TypeNote(
        r"A name: .*",
        "name {longest}",
        "name 50",
        "A name of 1 to 50 characters: letters, spaces and ' \u2019 - . , & / ( ), without digits",
    ),
    TypeNote(
        r"A country code \(ISO 3166-1 alpha-(\d)\)", "country {0}", "country 2", "An ISO 3166-1 alpha-2 country code"
    ),
    TypeNote(r"A currency code \(ISO 4217\)", "currency", "currency", "An ISO 4217 currency code, such as `EUR`"),
    TypeNote(r"A date, YYYY-MM-DD", "date", "date", "A day, as `YYYY-MM-DD`"),
    TypeNote(
        r"An absolute http or https URL without user information or fragment",
        "address",
        "address",
        "An absolute http or https URL of at most 2,048 characters, without user information or fragment",
    ),
    TypeNote(
        r"A whole number from (\d+) to (\d+)", "integer {0} to {1}", "integer 1 to 99", "A whole number within bounds"
    ),
    TypeNote(r"Printable text", "text {longest}", "text 140", "Printable text of 1 to 140 characters"),
)
_FORMATS = {
    "date": "date",
    "date-time": "timestamp",
    "uuid": "UUID",
    "uri": "address",
    "uri-reference": "address",
    "ipv4": "IP address",
    "ipv6": "IP address",
}
_NAMED = {"Currency": "currency", "CountryAlpha2": "country 2", "CountryAlpha3": "country 3"}
_FEW = 6


def split_note(schema: Schema, description: str) -> tuple[str, str | None]:
    """Return a field's meaning, and the notation of its rule if the description ends with a rule."""
    for note in TYPE_NOTES:
        found = re.search(rf"(?:^|\. ){note.pattern}(?=$|\.)", description)
        if found:
            meaning = description[: found.start()] + description[found.end() :]
            notation = note.notation.format(*found.groups(), longest=schema.get("maxLength", ""))
            return meaning.removeprefix(". "), notation.strip()
    return description, None


def type_notation(schema: Schema) -> str:
    """Return the type of a value with its length or bounds, for example ``text 255``."""
    if _name(schema) in _NAMED:
        return _NAMED[_name(schema)]
    if "const" in schema:
        return f"`{schema['const']}`"
    if set(UNIFIED_SCOPES) == set(schema.get("enum", ())):
        return "[unified scope](#unified-scopes)"
    if "enum" in schema:
        return _choice([value for value in schema["enum"] if value is not None])
    if schema.get("anyOf"):
        variants = [each for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(type_notation({**schema, "anyOf": None, **each}) for each in variants))
    kinds = schema.get("type", "object")
    kind = next(each for each in ([kinds] if isinstance(kinds, str) else kinds) if each != "null")
    return _KINDS[kind](schema)


def is_nullable(schema: Schema) -> bool:
    """Return whether a value can be null."""
    kinds = schema.get("type", ())
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) or {"type": "null"} in schema.get("anyOf", ())


def is_named(schema: Schema) -> bool:
    """Return whether a reference refers to a schema with its own notation, so that the reference is not resolved."""
    return _name(schema) in _NAMED


def _name(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _choice(values: Sequence[Any]) -> str:
    if len(values) > _FEW:
        return "choice"
    *others, last = [f"`{value}`" for value in values]
    return f"{', '.join(others)} or {last}" if others else last


def _text(schema: Schema) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    return f"text {schema['maxLength']}" if "maxLength" in schema else "text"


def _integer(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None and most is None:
        return "integer"
    return f"integer {least} to {most}" if most is not None else f"integer from {least}"


def _list(schema: Schema) -> str:
    items = schema.get("items", {})
    return f"list of {'objects' if '$ref' in items or 'properties' in items else type_notation(items)}"


_KINDS: Mapping[str, Callable[[Schema], str]] = {
    "string": _text,
    "integer": _integer,
    "number": lambda _: "number",
    "boolean": lambda _: "boolean",
    "array": _list,
    "object": lambda _: "object",
}
