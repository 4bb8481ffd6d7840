"""The members of answers that the tables know: renamed to snake_case, and identifiers made text.

Everything else in an answer, at every depth, stays as the bank wrote it, keys that are data too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic.alias_generators import to_camel

from chalicelib.foundation.field_rules import IdRule
from chalicelib.foundation.fields import OpenMessage

Model = type[OpenMessage]


@dataclass(frozen=True, slots=True)
class _Known:
    """A member of a table: its name, its rule if it identifies something, and the table of what is inside it."""

    name: str
    rule: IdRule | None
    inner: Model | None


def normalise(model: Model, answer: dict[str, Any], *, camel: bool, repeated: list[str]) -> dict[str, Any]:
    """An answer with the members that ``model`` knows in snake_case and its identifiers as text.

    Args:
        camel: whether the bank may also spell these members in camelCase.
        repeated: gets the places of members that came in both spellings; the one in snake_case counts.
    """
    return _normalise_object(model, answer, camel, repeated, "")


def _normalise_object(
    model: Model, holder: dict[str, Any], camel: bool, repeated: list[str], place: str
) -> dict[str, Any]:
    table, found = _table(model, camel), {}
    for name, value in holder.items():
        known = table.get(name)
        if known is None:
            found[name] = value
        elif name != known.name and known.name in holder:
            repeated.append(f"{place}{known.name}")
        elif known.rule is not None:
            alone = known.rule.beside is not None and holder.get(known.rule.beside) is None
            found[known.name] = known.rule.text(value, alone=alone)
        elif known.inner is not None:
            found[known.name] = _normalise_value(known.inner, value, camel, repeated, f"{place}{known.name}.")
        else:
            found[known.name] = value
    return found


def _normalise_value(model: Model, value: Any, camel: bool, repeated: list[str], place: str) -> Any:
    if isinstance(value, dict):
        return _normalise_object(model, value, camel, repeated, place)
    if not isinstance(value, list):
        return value
    return [_normalise_value(model, each, camel, repeated, f"{place}{index}.") for index, each in enumerate(value)]


@cache
def _table(model: Model, camel: bool) -> Mapping[str, _Known]:
    """The members of a model by each of their spellings."""
    table: dict[str, _Known] = {}
    for name, field in model.model_fields.items():
        parts = [*field.metadata, *_parts(field.annotation)]
        rule = next((part for part in parts if isinstance(part, IdRule)), None)
        inner = next((part for part in parts if isinstance(part, type) and issubclass(part, OpenMessage)), None)
        table |= dict.fromkeys({name, to_camel(name)} if camel else {name}, _Known(name, rule, inner))
    return table


def _parts(annotation: Any) -> Iterator[Any]:
    """Everything that an annotation is made of: a list's entries, the branches of a union, the rules of a type."""
    yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)
