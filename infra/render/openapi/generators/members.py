"""Simplifies the schemas of members: one type, no null in requests, either a format or a pattern.

What callers send is narrowed, so that the exact schema allows it, too. What the service sends is never narrowed, so
that a client reads every response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from infra.render.openapi.schemas import Json

Sender = Literal["caller", "service"]
"""Who sends a value: a caller of the service, also in responses to webhooks, or the service itself."""

FORMATS = ("date", "date-time", "uuid")
"""The formats for which generators have types. Every value with such a format matches the exact document's pattern."""
_GROUP = "[0-9A-Fa-f]{1,4}"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_IPV6 = [
    f"(?:{_GROUP}:){{7}}{_GROUP}",
    f"(?:{_GROUP}:){{1,7}}:",
    f":(?::{_GROUP}){{1,7}}",
    *(f"(?:{_GROUP}:){{1,{count}}}(?::{_GROUP}){{1,{7 - count}}}" for count in range(1, 7)),
]
PATTERNS: Mapping[str, str] = {
    "uuid": "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
    "ipv4": f"^{_IPV4}$",
    "ipv6": f"^(?:{'|'.join(_IPV6)})$",
}
"""Patterns that replace formats. A header is a plain string, so that generators do not convert it."""
_PREFERRED = ("object", "array", "string", "integer")
_OF_STRINGS = ("minLength", "maxLength", "pattern", "format")
_OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_KINDS: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
_NULL: Json = {"type": "null"}
_MOST = 2**63 - 1


def simplify(schema: Json, sender: Sender) -> Json:
    """Return a schema without what generators do not take."""
    found = {name: _simplify_inside(name, value, sender) for name, value in schema.items() if not _is_left_out(name)}
    for rule in _RULES[sender]:
        found = rule(found)
    return found


def plain_header(schema: Json) -> Json:
    """Return the schema of a header as that of a string, with the rules of ``schema`` as a pattern."""
    patterns = [schema["pattern"]] if "pattern" in schema else []
    patterns += [
        PATTERNS[each["format"]] for each in (schema, *schema.get("anyOf", ())) if each.get("format") in PATTERNS
    ]
    patterns += [f"^(?:{'|'.join(schema['enum'])})$"] if "enum" in schema else []
    kept: Json = {name: schema[name] for name in ("minLength", "maxLength") if name in schema}
    return {"type": "string", **kept, **({"pattern": "|".join(patterns)} if patterns else {})}


def _is_left_out(name: str) -> bool:
    return name in ("examples", "example") or name.startswith("x-")


def _simplify_inside(name: str, value: Any, sender: Sender) -> Any:
    if name == "properties":
        return {member: simplify(each, sender) for member, each in value.items()}
    if name in ("anyOf", "oneOf", "allOf"):
        alternatives = value if sender == "service" else [each for each in value if each != _NULL]
        return [each if each == _NULL else simplify(each, sender) for each in alternatives]
    return simplify(value, sender) if name in ("items", "additionalProperties") and isinstance(value, dict) else value


# -- Rules


def _default_as_text(schema: Json) -> Json:
    """Describe a default, since generators take a member with a default for a mandatory one."""
    found = dict(schema)
    if "default" not in found:
        return found
    default = found.pop("default")
    return found | {"description": ". ".join([*filter(None, [found.get("description")]), f"Default: {default}"])}


def _const_as_enum(schema: Json) -> Json:
    found = dict(schema)
    return found | {"enum": [found.pop("const")]} if "const" in found else found


def _without_null(schema: Json) -> Json:
    found = dict(schema)
    if "enum" in found:
        found["enum"] = [value for value in found["enum"] if value is not None]
    if isinstance(found.get("type"), list):
        found["type"] = _only([kind for kind in found["type"] if kind != "null"])
    return found


def _null_as_nullable(schema: Json) -> Json:
    branches, kinds = schema.get("anyOf", []), schema.get("type", [])
    if _NULL not in branches and "null" not in kinds and None not in schema.get("enum", []):
        return schema
    found = _without_null(schema) | {"nullable": True}
    if "enum" in found:
        found["enum"].append(None)
    rest = [branch for branch in branches if branch != _NULL]
    found |= {"anyOf": rest} if rest else {}
    return _merge(found, "anyOf") if len(rest) == 1 else found


def _one_alternative(schema: Json) -> Json:
    """Keep one of the types that a caller may send."""
    branches = schema.get("anyOf", [])
    if not branches or "properties" in schema or all("$ref" in branch for branch in branches[1:]):
        return _merge(schema, "anyOf") if len(branches) == 1 else schema
    best = min(branches, key=lambda branch: _PREFERRED.index(branch.get("type", "integer")))
    return _merge(schema | {"anyOf": [best]}, "anyOf")


def _numbers_as_strings(schema: Json) -> Json:
    found = dict(schema)
    texts = [value for value in found.get("enum", ()) if isinstance(value, str)]
    if texts or (isinstance(found.get("type"), list) and "string" in found["type"]):
        found |= {"type": "string", **({"enum": texts} if texts else {})}
    return {name: value for name, value in found.items() if found.get("type") != "string" or name not in _OF_NUMBERS}


def _types_as_alternatives(schema: Json) -> Json:
    """Describe a value of several types: the service passes on what a bank or a programme has sent."""
    if not isinstance(schema.get("type"), list):
        return schema
    found = {name: value for name, value in schema.items() if name not in ("type", *_OF_STRINGS, *_OF_NUMBERS)}
    return found | {"oneOf": [_of_type(schema, kind) for kind in schema["type"]]}


def _typed_enum(schema: Json) -> Json:
    if "enum" not in schema or "type" in schema:
        return schema
    return {
        "type": _only(list(dict.fromkeys(_KINDS[type(each)] for each in schema["enum"] if each is not None))),
        **schema,
    }


def _enum_alone(schema: Json) -> Json:
    return {
        name: value
        for name, value in schema.items()
        if "enum" not in schema or name not in (*_OF_STRINGS, *_OF_NUMBERS)
    }


def _bare_reference(schema: Json) -> Json:
    """Drop what OpenAPI 3.0 ignores beside a reference."""
    return {"$ref": schema["$ref"]} if "$ref" in schema else schema


def _format_or_pattern(schema: Json) -> Json:
    kind, found = schema.get("format"), dict(schema)
    if kind in FORMATS:
        found.pop("pattern", None)
    elif found.get("type") == "string" and kind is not None:
        found |= {"pattern": PATTERNS[kind]} if kind in PATTERNS else {}
        found.pop("format")
    return found


def _typed_items(schema: Json) -> Json:
    return {"items": {}, **schema} if schema.get("type") == "array" else schema


def _exclusive_bounds(schema: Json) -> Json:
    bound = schema.get("exclusiveMinimum")
    return schema if bound is None else schema | {"minimum": bound, "exclusiveMinimum": True}


def _long_numbers(schema: Json) -> Json:
    """Drop bounds that generators cannot express."""
    found = {name: value for name, value in schema.items() if name not in _OF_NUMBERS or abs(value) <= _MOST}
    is_whole = schema.get("type") == "integer" and "enum" not in schema
    return found | ({"format": "int64"} if is_whole else {})


def _open_by_default(schema: Json) -> Json:
    return {name: value for name, value in schema.items() if (name, value) != ("additionalProperties", True)}


_Rules = Sequence[Callable[[Json], Json]]
_COMMON: _Rules = (
    _typed_enum,
    _enum_alone,
    _bare_reference,
    _format_or_pattern,
    _typed_items,
    _exclusive_bounds,
    _long_numbers,
    _open_by_default,
)
_RULES: Mapping[Sender, _Rules] = {
    "caller": (_default_as_text, _const_as_enum, _without_null, _one_alternative, _numbers_as_strings, *_COMMON),
    "service": (_default_as_text, _const_as_enum, _null_as_nullable, _types_as_alternatives, *_COMMON),
}


def _only(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _merge(schema: Json, key: str) -> Json:
    """Replace the only alternative by its keywords. A reference has no other keywords in OpenAPI 3.0."""
    found = dict(schema)
    branch: Json = found.pop(key)[0]
    if "$ref" in branch:
        return {"allOf": [branch], "nullable": True} if found.get("nullable") else branch
    return branch | found


def _of_type(schema: Json, kind: str) -> Json:
    names = _OF_STRINGS if kind == "string" else _OF_NUMBERS
    found = {"type": kind, **{name: schema[name] for name in names if name in schema}}
    return _long_numbers(_exclusive_bounds(found))
