"""Renders conditions between fields of a card action as JSON Schema and as text.

A field is present if it is not null, blank or an empty list. ``Given`` is the JSON Schema of this condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chalicelib.cards.protocol.card_messages import DELIVERY_BLOCK
from chalicelib.cards.protocol.holder_messages import HOLDER_BLOCK
from chalicelib.cards.protocol.message import Condition, Excludes, Ignores, Late, Needs, NeedsOne, Request, When

Json = dict[str, Any]
RequestModel = type[Request]

GIVEN = "Given"
GIVEN_SCHEMA: Json = {
    "description": "Present: not null, not blank, and not an empty list",
    "not": {
        "anyOf": [
            {"type": "null"},
            {"type": "string", "pattern": "^ *$"},
            {"type": "array", "items": {}, "maxItems": 0},
        ]
    },
}
_GIVEN: Json = {"$ref": f"#/components/schemas/{GIVEN}"}
BLOCKS = {"the description of a new holder": HOLDER_BLOCK, "the delivery and bulk block": DELIVERY_BLOCK}
"""Groups of request fields by description. The API ignores either all or none of the fields in a group."""


# -- JSON Schema


def as_schema(model: RequestModel, condition: Condition) -> Json:
    """Return the schema of the conditions between a request's fields."""
    match condition:
        case NeedsOne(fields):
            return {"anyOf": [_is_given(field) for field in fields]}
        case Excludes(field, other):
            return {"not": _is_given(field, other)}
        case Needs(fields, when):
            return {"if": _all([*map(_holds, when), *_not_ignored(model, when)]), "then": _is_given(*fields)}


def _is_given(*fields: str) -> Json:
    return {"required": list(fields), "properties": dict.fromkeys(fields, _GIVEN)}


def _holds(when: When) -> Json:
    if when.value is None:
        return _is_given(when.field) if when.present else {"not": _is_given(when.field)}
    values = [when.value, str(when.value)]
    if when.value == when.default:
        return {"properties": {when.field: {"enum": [*values, None]}}}
    return {"required": [when.field], "properties": {when.field: {"enum": values}}}


def _not_ignored(model: RequestModel, whens: Iterable[When]) -> Iterator[Json]:
    """Restrict a condition to requests in which the fields of the condition are not ignored."""
    fields = {when.field for when in whens}
    yield from ({"not": _holds(ignores.when)} for ignores in model.ignored if fields & ignores.fields)


def _all(schemas: list[Json]) -> Json:
    return schemas[0] if len(schemas) == 1 else {"allOf": schemas}


# -- Words


def as_sentences(model: RequestModel) -> list[str]:
    """Return the conditions as sentences, including sentences about ignored fields."""
    late = [_sentences_on_late_checks(model.late)] if model.late else []
    return [*map(_sentence, model.conditions), *map(_ignored_fields, model.ignored), *late]


def _sentence(condition: Condition) -> str:
    match condition:
        case NeedsOne(fields):
            return f"At least one of {_join_words(fields, 'or')} is required."
        case Excludes(field, other):
            return f"`{field}` must not be sent with `{other}`."
        case Needs(fields, when):
            return f"{_join_words(fields)} {'are' if len(fields) > 1 else 'is'} required when {_when(when)}."


def _ignored_fields(ignores: Ignores) -> str:
    named = _name_blocks(ignores.fields)
    whole, verb = " and ".join(named), "are" if len(named) > 1 else "is"
    return f"{whole[0].upper()}{whole[1:]} {verb} ignored without validation when {_when((ignores.when,))}."


def _sentences_on_late_checks(late: Late) -> str:
    named = " and ".join(_name_blocks(late.fields))
    return f"When {_when((late.when,))}, the card's current type determines whether {named} are used or ignored."


def _name_blocks(fields: frozenset[str]) -> list[str]:
    named, left = [], set(fields)
    for name, block in BLOCKS.items():
        if left >= set(block):
            named.append(name)
            left -= set(block)
    return named + [f"`{field}`" for field in sorted(left)]


def _when(whens: tuple[When, ...]) -> str:
    valued = {when.field for when in whens if when.value is not None}
    return " and ".join(_clause(when) for when in whens if when.value is not None or when.field not in valued)


def _clause(when: When) -> str:
    if when.value is None:
        return f"`{when.field}` is {'present' if when.present else 'absent'}"
    return f"`{when.field}` is {when.value}"


def _join_words(fields: tuple[str, ...], word: str = "and") -> str:
    *first, last = (f"`{field}`" for field in fields)
    return f"{', '.join(first)} {word} {last}" if first else last
