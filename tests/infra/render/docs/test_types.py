"""The short notation of types in the documentation."""

from typing import Any

import pytest

from chalicelib.openbanking.protocol.unified_scopes import UNIFIED_SCOPES
from infra.render.docs.types import TYPE_NOTES, split_note, type_notation


@pytest.mark.parametrize(
    ("schema", "notation"),
    [
        ({"type": "string", "maxLength": 35}, "text 35"),
        ({"type": ["string", "null"]}, "text"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "integer", "minimum": 1, "maximum": 999}, "integer 1 to 999"),
        ({"type": "integer", "minimum": 0}, "integer from 0"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"type": "array", "items": {"$ref": "#/x/Book"}}, "list of objects"),
        ({"const": "Bearer"}, "`Bearer`"),
        ({"enum": ["booked", "pending", "both"]}, "`booked`, `pending` or `both`"),
        ({"enum": ["one", None]}, "`one`"),
        ({"enum": list("abcdefg")}, "choice"),
        ({"enum": [*UNIFIED_SCOPES]}, "[unified scope](#unified-scopes)"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, "integer or text"),
        ({"$ref": "#/components/schemas/Currency"}, "currency"),
        ({"type": "boolean"}, "boolean"),
        ({"properties": {}}, "object"),
    ],
)
def test_a_schema_has_a_short_type_notation(schema: dict[str, Any], notation: str) -> None:
    assert type_notation(schema) == notation


@pytest.mark.parametrize(
    ("description", "schema", "meaning", "notation"),
    [
        ("The first day. A date, YYYY-MM-DD", {}, "The first day", "date"),
        ("At most 8 digits; a string keeps leading zeros", {}, "", "digits 8"),
        ("The account's name. Printable text", {"maxLength": 70}, "The account's name", "text 70"),
        ("Which bank. A BIC of 8 or 11 characters", {}, "Which bank", "BIC"),
        ("A number of at most 3 digits, with a decimal point if needed. `1`: Yes", {}, "`1`: Yes", "number 3"),
        ("The reference", {}, "The reference", None),
    ],
)
def test_a_type_rule_in_a_field_description_is_replaced_by_a_type_notation(
    description: str, schema: dict[str, Any], meaning: str, notation: str | None
) -> None:
    assert split_note(schema, description) == (meaning, notation)


@pytest.mark.parametrize("note", TYPE_NOTES, ids=lambda note: note.sample)
def test_every_type_note_has_a_meaning_and_a_matching_sample(note: Any) -> None:
    assert note.meaning
    assert note.notation.format("7", "9", longest="7").split()[0] == note.sample.split()[0]
