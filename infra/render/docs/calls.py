"""Renders the calls and webhooks of an OpenAPI document as Markdown: members, examples and refusals."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from infra.render.docs.types import is_named, is_nullable, split_note, type_notation
from infra.render.openapi.introduction import table
from infra.render.openapi.schemas import Json

_WIDTH = 120
_COMMON = "Every call may also return these refusals, as far as they apply to its headers, parameters and body:"
_MOST = 0.6
"""The minimum share of operations that must have a refusal for the refusal to be listed as common."""
_FEW = 2
"""The maximum number of operations for which each operation lists all its refusals."""
_VERSION = re.compile(r"V([12])$")
_CASE = re.compile(r"^- `(?P<code>.+?)`: (?P<when>.+)$", re.MULTILINE)


class Refusal(NamedTuple):
    status: str
    code: str
    when: str


class Operation(NamedTuple):
    """A call, a webhook or an event. ``name`` is its heading."""

    name: str
    body: Json


class CallPages:
    """Renders the operations of one OpenAPI document as Markdown."""

    def __init__(self, document: Json) -> None:
        self._document = document
        paths = document["paths"].items()
        self.calls = [
            Operation(f"{verb.upper()} {path}", body) for path, verbs in paths for verb, body in verbs.items()
        ]
        self.webhooks = [Operation(name, item["post"]) for name, item in document["webhooks"].items()]

    def render(self, operations: Sequence[Operation], level: int = 2) -> str:
        """Render the operations under headings of ``level``, followed by the refusals that most operations share."""
        common = self._common_refusals(operations)
        parts = [part for each in operations for part in self._operation(each, level, common)]
        if common:
            parts += [f"{'#' * level} Common refusals", _COMMON, _refusals(common)]
        return "\n\n".join(parts)

    def headers(self, operations: Sequence[Operation]) -> str:
        """Return the table of the operations' request headers."""
        found = {each["name"]: each for operation in operations for each in self._parameters(operation, "header")}
        rows = [(f"`{name}`", *_describe(each, each["schema"])) for name, each in found.items()]
        return table(("Header", "Type", "Meaning"), rows)

    # -- one operation

    def _operation(self, operation: Operation, level: int, common: Sequence[Refusal]) -> Iterator[str]:
        body = operation.body
        yield f"{'#' * level} `{operation.name}`"
        yield f"{body['summary']}."
        if body["description"].rstrip(".") != body["summary"]:
            yield body["description"]
        yield from self._request(operation)
        yield from self._answers(operation)
        refusals = [each for each in self._refusals(operation) if each not in common]
        if refusals:
            yield _refusals(refusals)

    def _request(self, operation: Operation) -> Iterator[str]:
        headers = [f"`{each['name']}`" for each in self._parameters(operation, "header")]
        if headers:
            yield f"Headers: {', '.join(headers)}."
        rows = [
            (f"`{each['name']}`", _need(each.get("required", False)), *_describe(each, each["schema"]))
            for place in ("path", "query")
            for each in self._parameters(operation, place)
        ]
        if rows:
            yield table(("Parameter", "", "Type", "Meaning"), rows)
        content = operation.body.get("requestBody", {}).get("content", {})
        yield from self._content(content, "Request member")

    def _answers(self, operation: Operation) -> Iterator[str]:
        for status, answer in operation.body["responses"].items():
            described = answer["description"].partition("\n")[0]
            if status.startswith(("2", "3")) or not _CASE.search(answer["description"]):
                yield f"**{'Any other status' if status == 'default' else status}** {described}"
            if status.startswith("2"):
                yield from self._content(answer.get("content", {}), "Response member")

    def _content(self, content: Json, head: str) -> Iterator[str]:
        body = content.get("application/json") or content.get("application/x-www-form-urlencoded")
        if body is None:
            return
        for title, schema in self._variants(body["schema"]):
            rows = list(self._members(schema, ""))
            if rows:
                yield table((f"{head}{title}", "", "Type", "Meaning"), rows)
        for example in body.get("examples", {}).values():
            if example.get("value") and "$ref" not in example:
                yield _example(example["value"])

    # -- schemas

    def _parameters(self, operation: Operation, place: str) -> list[Json]:
        found = [self._resolve(each) for each in operation.body.get("parameters", [])]
        return [each for each in found if each["in"] == place]

    def _resolve(self, schema: Json) -> Json:
        if "$ref" not in schema or is_named(schema):
            return schema
        found: Any = self._document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return {**found, **{name: value for name, value in schema.items() if name not in {"$ref", "properties"}}}

    def _variants(self, schema: Json) -> list[tuple[str, Json]]:
        variants = schema.get("anyOf") or schema.get("oneOf") or [schema]
        found = []
        for each in variants:
            version = _VERSION.search(each.get("$ref", ""))
            found.append((f", version {version[1]}" if version and len(variants) > 1 else "", each))
        return found

    def _members(self, schema: Json, above: str) -> Iterator[tuple[str, str, str, str]]:
        resolved = self._resolve(schema)
        for each in resolved.get("allOf", []):
            yield from self._members(each, above)
        required = resolved.get("required", [])
        for name, member in resolved.get("properties", {}).items():
            found = self._resolve(member)
            notation, meaning = _describe(found, found)
            is_null = name in required and is_nullable(found)
            yield f"`{above}{name}`", _need(name in required), f"{notation} or null" if is_null else notation, meaning
            for inner in (found, found.get("items", {}), *found.get("anyOf", [])):
                yield from self._members(inner, f"{above}{name}.")

    # -- refusals

    def _refusals(self, operation: Operation) -> list[Refusal]:
        return [
            Refusal(status, case["code"], case["when"])
            for status, answer in operation.body["responses"].items()
            for case in _CASE.finditer(answer["description"])
        ]

    def _common_refusals(self, operations: Sequence[Operation]) -> list[Refusal]:
        counts = Counter(refusal for operation in operations for refusal in set(self._refusals(operation)))
        refusing = sum(1 for operation in operations if self._refusals(operation))
        firsts = dict.fromkeys(refusal for operation in operations for refusal in self._refusals(operation))
        return [each for each in firsts if refusing > _FEW and counts[each] > refusing * _MOST]


def _need(required: bool) -> str:
    return "mandatory" if required else "optional"


def _describe(member: Json, schema: Json) -> tuple[str, str]:
    meaning, notation = split_note(schema, member.get("description", ""))
    default = f"Default `{schema['default']}`" if "default" in schema else ""
    return notation or type_notation(schema), ". ".join(filter(None, (meaning, default)))


def _refusals(refusals: Sequence[Refusal]) -> str:
    return table(("Status", "Code", "When"), [(each.status, f"`{each.code}`", each.when) for each in refusals])


def _example(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False)
    return f"```json\n{line if len(line) <= _WIDTH else json.dumps(value, indent=2, ensure_ascii=False)}\n```"
