"""A member has one type for generators: in requests one that the exact schema allows, in responses every one."""

from typing import Any

import pytest

from infra.render.openapi.generators.members import plain_header, simplify

DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


@pytest.mark.parametrize(
    ("exact", "simple"),
    [
        (
            {"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+$"},
            {"type": "string", "pattern": "^[0-9]+$"},
        ),
        ({"enum": [0, 1, "0", "1", None]}, {"type": "string", "enum": ["0", "1"]}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": ["string", "null"], "format": "date", "pattern": DAY}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "uri", "pattern": "^http"}, {"type": "string", "pattern": "^http"}),
        ({"anyOf": [{"type": "string"}, {"type": "array"}, {"type": "null"}]}, {"type": "array", "items": {}}),
        ({"anyOf": [{"$ref": "#/a"}, {"type": "null"}], "description": "A"}, {"$ref": "#/a"}),
        ({"type": "integer", "default": 1}, {"type": "integer", "format": "int64", "description": "Default: 1"}),
    ],
)
def test_what_callers_send_has_one_type(exact: dict[str, Any], simple: dict[str, Any]) -> None:
    assert simplify(exact, "caller") == simple


@pytest.mark.parametrize(
    ("exact", "simple"),
    [
        (
            {"type": ["number", "string"], "maximum": 9, "pattern": "^[0-9]$"},
            {"oneOf": [{"type": "number", "maximum": 9}, {"type": "string", "pattern": "^[0-9]$"}]},
        ),
        ({"enum": ["a", None]}, {"type": "string", "enum": ["a", None], "nullable": True}),
        ({"anyOf": [{"$ref": "#/a"}, {"type": "null"}]}, {"allOf": [{"$ref": "#/a"}], "nullable": True}),
        ({"type": "integer", "maximum": 10**20}, {"type": "integer", "format": "int64"}),
    ],
)
def test_what_callers_receive_keeps_every_type(exact: dict[str, Any], simple: dict[str, Any]) -> None:
    assert simplify(exact, "service") == simple


def test_a_header_is_a_string_with_the_rules_of_its_format() -> None:
    assert plain_header({"type": "string", "enum": ["GET", "POST"]})["pattern"] == "^(?:GET|POST)$"
    assert plain_header({"type": "string", "format": "uuid"}).keys() == {"type", "pattern"}
