"""The lines of a contract: one for each operation, member, type, length, obligation, value and error code.

A line consists of a location in the API, two spaces, and the facts about this location. Descriptions and examples are
omitted. The members of a body are listed with its operation. The members of a schema to which other members refer are
listed once, with the schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
EVERY = "every"
"""The label of members that are part of all alternatives of a body."""
LONG_PATTERN = 60
"""Maximum length of a pattern in a line. Longer patterns are listed once, at the end, under a name derived from their
content.
"""
LONG_LIST = 60
"""Maximum number of values that are listed on separate lines. Longer lists, such as the ISO countries and currencies,
are on one line.
"""
_COMPONENTS = "#/components/"
_SPANS = {"length": ("minLength", "maxLength"), "range": ("minimum", "maximum"), "items": ("minItems", "maxItems")}
_RULES = ("if", "then", "not")
_APART = {
    *("type", "enum", "const", "properties", "required", "items", "$ref", "anyOf", "oneOf", "allOf", *_RULES),
    *("description", "examples", "title", "discriminator", "x-group"),
    *(name for names in _SPANS.values() for name in names),
}


def contract(document: Schema) -> list[str]:
    """Return the lines of an OpenAPI document in order, without duplicates."""
    return list(dict.fromkeys(_Contract(document).lines()))


class _Contract:
    def __init__(self, document: Schema) -> None:
        self._document = document
        self._named: set[str] = set()
        self._patterns: dict[str, str] = {}

    def lines(self) -> Iterator[str]:
        for path, operations in self._document["paths"].items():
            for method, operation in operations.items():
                yield from self._operation(f"{method.upper()} {path}", operation)
        for name, operations in self._document.get("webhooks", {}).items():
            for operation in operations.values():
                yield from self._operation(f"webhook {name}", operation)
        yield from self._named_schemas()
        yield from (f"pattern {name}  {pattern}" for name, pattern in sorted(self._patterns.items()))

    def _named_schemas(self) -> Iterator[str]:
        """Return the schemas that members refer to, in the document's order, including nested schemas."""
        schemas = self._document["components"]["schemas"]
        written: dict[str, list[str]] = {}
        while pending := self._named - written.keys():
            written |= {name: list(self._value(name, schemas[name], "")) for name in sorted(pending)}
        for name in schemas:
            yield from written.get(name, ())

    def _operation(self, name: str, operation: Schema) -> Iterator[str]:
        yield name
        for demand in operation.get("security", ()):
            yield f"{name} security  {' and '.join(sorted(demand)) or 'none'}"
        for parameter in map(self._resolve, operation.get("parameters", ())):
            place = f"{name} request {parameter['in']} {parameter['name']}"
            yield from self._value(place, parameter["schema"], _obligation(parameter.get("required", False)))
        if body := operation.get("requestBody"):
            found = self._resolve(body)
            obligation = _obligation(found.get("required", False))
            yield from self._content(f"{name} request body", found, "", obligation, inline=True)
        headers: dict[str, Any] = {}
        for status, response in operation["responses"].items():
            found = self._resolve(response)
            headers |= found.get("headers", {})
            yield from self._content(f"{name} response {status}", found, "none", inline=status.startswith("2"))
        for header, value in headers.items():
            yield from self._value(f"{name} response header {header}", self._resolve(value)["schema"], "")

    def _content(
        self, place: str, holder: Schema, without: str, obligation: str = "", *, inline: bool
    ) -> Iterator[str]:
        contents = holder.get("content", {})
        if not contents:
            yield f"{place}  {without}"
        for kind, content in contents.items():
            yield from self._value(
                place, content.get("schema", {}), ", ".join(filter(None, (kind, obligation))), inline=inline
            )

    def _value(self, place: str, schema: Schema, obligation: str, *, inline: bool = False) -> Iterator[str]:
        """Yield the lines of a value. If ``inline`` is true, list the members of a named schema directly below the
        value.
        """
        alternatives = schema.get("oneOf") or schema.get("anyOf") or ()
        if "$ref" in schema and inline:
            yield from self._value(place, self._resolve(schema), obligation, inline=True)
        elif "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            self._named.add(name)
            yield _line(place, name, obligation)
            yield from self._narrowed_values(place, schema)
        elif alternatives and not all(map(_is_rule, alternatives)):
            yield from self._alternatives(place, schema, obligation, inline=inline)
        else:
            yield _line(place, *self._qualities(schema), obligation)
            yield from self._inside(place, schema, inline=inline)

    def _narrowed_values(self, place: str, schema: Schema) -> Iterator[str]:
        for name, member in schema.get("properties", {}).items():
            yield from (_line(f"{place}.{name}", f"value {each}") for each in _values(member))

    def _alternatives(self, place: str, schema: Schema, obligation: str, *, inline: bool) -> Iterator[str]:
        labels = {reference: label for label, reference in schema.get("discriminator", {}).get("mapping", {}).items()}
        alternatives = schema.get("oneOf") or schema["anyOf"]
        shared = self._shared_members(alternatives) if inline and len(alternatives) > 2 else {}
        for name, (member, demanded) in shared.items():
            yield from self._value(f"{place}({EVERY}).{name}", member, demanded)
        for alternative in alternatives:
            reference = alternative.get("$ref", "")
            label = labels.get(reference, _label(reference))
            found = self._resolve(alternative) if inline else alternative
            if shared:
                members = {name: each for name, each in found["properties"].items() if name not in shared}
                found = {**found, "properties": members}
            yield from self._value(f"{place}({label})" if label else place, found, obligation, inline=inline)

    def _shared_members(self, alternatives: Sequence[Schema]) -> dict[str, tuple[Schema, str]]:
        found = [_obligated_members(self._resolve(each)) for each in alternatives]
        return {name: member for name, member in found[0].items() if all(each.get(name) == member for each in found)}

    def _inside(self, place: str, schema: Schema, *, inline: bool) -> Iterator[str]:
        yield from (_line(place, f"value {each}") for each in _values(schema))
        for name, (member, demanded) in _obligated_members(schema).items():
            yield from self._value(f"{place}.{name}", member, demanded)
        if items := schema.get("items"):
            yield from self._value(f"{place}[]", items, "")
        for part in schema.get("allOf", ()):
            if "$ref" in part:
                yield from self._value(place, part, "", inline=inline)
            else:
                yield _line(place, f"rule {_compact(part)}")
        if rule := {name: schema[name] for name in (*_RULES, "anyOf", "oneOf") if name in schema}:
            yield _line(place, f"rule {_compact(rule)}")

    def _qualities(self, schema: Schema) -> Iterator[str]:
        kinds = schema.get("type", "")
        yield kinds if isinstance(kinds, str) else " or ".join(kinds)
        yield f"= {_compact(schema['const'])}" if "const" in schema else ""
        for word, (least, most) in _SPANS.items():
            if least in schema or most in schema:
                yield f"{word} {schema.get(least, '')}..{schema.get(most, '')}"
        for name, value in schema.items():
            if name == "additionalProperties":
                yield "" if value is True else "no other members" if value is False else f"others {_compact(value)}"
            elif name == "pattern":
                yield f"pattern {self._pattern(value)}"
            elif name not in _APART:
                yield f"{name} {value if isinstance(value, str) else _compact(value)}"

    def _pattern(self, pattern: str) -> str:
        if len(pattern) <= LONG_PATTERN:
            return pattern
        name = hashlib.sha256(pattern.encode()).hexdigest()[:8]
        self._patterns[name] = pattern
        return name

    def _resolve(self, holder: Schema) -> Schema:
        if "$ref" not in holder:
            return holder
        kind, _, name = holder["$ref"].removeprefix(_COMPONENTS).partition("/")
        found: Schema = self._document["components"][kind][name]
        return found


def _obligated_members(schema: Schema) -> dict[str, tuple[Schema, str]]:
    required = schema.get("required", ())
    return {name: (each, _obligation(name in required)) for name, each in schema.get("properties", {}).items()}


def _obligation(is_required: bool) -> str:
    return "required" if is_required else "optional"


def _values(schema: Schema) -> Iterator[str]:
    """Return the enumerated values as JSON, one value per line. A number that may also be sent as text is listed as one
    value.
    """
    by_text: dict[str, list[str]] = {}
    for value in schema.get("enum", ()):
        by_text.setdefault(str(value), []).append(_compact(value))
    texts = [" or ".join(each) for each in by_text.values()]
    yield from [", ".join(texts)] if len(texts) > LONG_LIST else texts


def _label(reference: str) -> str:
    name = reference.rpartition("/")[2]
    action = name.removesuffix("Response")
    return name if action == name else action[0].lower() + action[1:]


def _is_rule(schema: Schema) -> bool:
    return "required" in schema and not {"$ref", "type", "enum", "const"} & schema.keys()


def _line(place: str, *said: str) -> str:
    return f"{place}  {', '.join(filter(None, said)) or 'any'}"


def _compact(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace(f"{_COMPONENTS}schemas/", "")
