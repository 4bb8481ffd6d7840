"""Generates instances of the schemas in OpenAPI documents."""

import re
from collections.abc import Mapping
from datetime import UTC
from functools import cache
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
Strategy = st.SearchStrategy[Any]
_MOST = 10**12
_TEXTS = st.text("Aeß Ł09-'.,/", max_size=40)
_DECIMALS = st.from_regex(r"-?[0-9]{1,6}(\.[0-9]{1,3})?", fullmatch=True)
_OF_FORMATS: Mapping[str, Strategy] = {
    "date": st.dates().map(str),
    "date-time": st.datetimes(timezones=st.just(UTC)).map(lambda time: time.isoformat(timespec="seconds")),
    "uuid": st.uuids().map(str),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
}


def instances(schema: Json, document: Json) -> Strategy:
    """Return a strategy for instances of a schema. Conditions between the members of an object are ignored."""
    if "$ref" in schema:
        return instances(referenced(document, schema["$ref"]), document)
    strategy = _without_null(schema, document)
    return st.none() | strategy if schema.get("nullable") else strategy


def referenced(document: Json, reference: str) -> Json:
    found: Json = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def _without_null(schema: Json, document: Json) -> Strategy:
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema and "properties" not in schema:
            return st.one_of([instances({**_own(schema), **each}, document) for each in schema[key]])
    if "allOf" in schema and "properties" not in schema:
        parts = st.tuples(*(instances(each, document) for each in schema["allOf"]))
        return parts.map(
            lambda values: values[0] if len(values) == 1 else {k: v for each in values for k, v in each.items()}
        )
    kinds = schema.get("type", "object" if "properties" in schema else "any")
    return st.one_of([_OF_TYPES[kind](schema, document) for kind in (kinds if isinstance(kinds, list) else [kinds])])


def _own(schema: Json) -> Json:
    return {key: schema[key] for key in ("type", "maxLength") if key in schema}


def _string(schema: Json, _: Json) -> Strategy:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 10**6)
    if schema.get("format") in _OF_FORMATS:
        return _OF_FORMATS[schema["format"]].filter(lambda text: shortest <= len(text) <= longest)
    return _texts(re.sub(r"\$(?=$|\|)", r"\\Z", schema.get("pattern", "")), shortest, longest)


@cache
def _texts(pattern: str, shortest: int, longest: int) -> Strategy:
    matching = re.compile(pattern)
    fitted = _matches(pattern).map(lambda text: (text * shortest if len(text) < shortest else text)[:longest])
    return fitted.filter(lambda text: len(text) >= shortest and matching.search(text))


def _matches(pattern: str) -> Strategy:
    """Return a strategy for texts that usually match a pattern, and that is faster than that for all matches."""
    if "(?=" in pattern:
        return _DECIMALS
    return st.from_regex(pattern) if pattern and "[^\\u" not in pattern else _TEXTS


def _number(schema: Json, _: Json) -> Strategy:
    lowest = schema["exclusiveMinimum"] + 1 if "exclusiveMinimum" in schema else schema.get("minimum", -_MOST)
    return st.integers(int(max(lowest, -_MOST)), int(min(schema.get("maximum", _MOST), _MOST)))


def _array(schema: Json, document: Json) -> Strategy:
    most = min(schema.get("maxItems", 3), 3)
    entries = instances(schema.get("items", {}), document)
    by = repr if schema.get("uniqueItems") else None
    return st.lists(entries, min_size=schema.get("minItems", 0), max_size=most, unique_by=by)


def _object(schema: Json, document: Json) -> Strategy:
    if "properties" not in schema:
        most = min(schema.get("maxProperties", 2), 2)
        values = schema.get("additionalProperties", True)
        entries = instances(values, document) if isinstance(values, dict) else _TEXTS
        return st.dictionaries(_TEXTS, entries, min_size=schema.get("minProperties", 0), max_size=most)
    members = {name: instances(each, document) for name, each in schema.get("properties", {}).items()}
    required = set(schema.get("required", ()))
    return st.fixed_dictionaries(
        {name: each for name, each in members.items() if name in required},
        optional={name: each for name, each in members.items() if name not in required},
    )


_OF_TYPES: Mapping[str, Any] = {
    "string": _string,
    "integer": _number,
    "number": _number,
    "array": _array,
    "object": _object,
    "boolean": lambda *_: st.booleans(),
    "null": lambda *_: st.none(),
    "any": lambda *_: st.sampled_from(["text", 1, None, [], {}]),
}
