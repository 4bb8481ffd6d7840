"""Normalise the known members of responses: names to snake_case, identifiers to strings.

Everything else in a response, including keys that are data, is left unchanged at every depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, get_args

from chalicelib.foundation.fields.field_rules import IdRule
from chalicelib.foundation.fields.field_types import OpenMessage
from chalicelib.foundation.lazy_dataclasses import dataclass

Model = type[OpenMessage]
Spelling = Callable[[str], str]
"""Maps a snake_case member name to its alternative spelling."""


@dataclass(frozen=True, slots=True)
class _KnownMember:
    """A member of a table: its name, its rule if it is an identifier, and the model of its own members."""

    name: str
    rule: IdRule | None
    inner: Model | None


def normalise(model: Model, answer: dict[str, Any], *, spell: Spelling, repeated: list[str]) -> dict[str, Any]:
    """A response with the members of ``model`` in snake_case and its identifiers as strings.

    Args:
        spell: the bank's alternative spelling of these members.
        repeated: collects the paths of members present in both spellings; the snake_case one takes precedence.
    """
    return _Normaliser(spell, repeated).normalise_object(model, answer, None)


Place = tuple[Any, str | int] | None
"""The path of a member: its parent's path, and its name or index. Formatted only when needed."""


@dataclass(frozen=True, slots=True)
class _Normaliser:
    """A single pass over a response, following its models."""

    spell: Spelling
    repeated: list[str]

    def normalise_object(self, model: Model, holder: dict[str, Any], place: Place) -> dict[str, Any]:
        table, found = _members_by_spelling(model, self.spell), {}
        for name, value in holder.items():
            known = table.get(name)
            if known is None:
                found[name] = value
            elif name != known.name and known.name in holder:
                self.repeated.append(_format_place((place, known.name)))
            elif known.rule is not None:
                alone = known.rule.beside is not None and holder.get(known.rule.beside) is None
                found[known.name] = known.rule.text(value, alone=alone)
            elif known.inner is not None:
                found[known.name] = self.normalise_value(known.inner, value, (place, known.name))
            else:
                found[known.name] = value
        return found

    def normalise_value(self, model: Model, value: Any, place: Place) -> Any:
        if isinstance(value, dict):
            return self.normalise_object(model, value, place)
        if not isinstance(value, list):
            return value
        return [self.normalise_value(model, each, (place, index)) for index, each in enumerate(value)]


def _format_place(place: Place) -> str:
    """Format a path, e.g. ``transactions.booked.0.amount``."""
    parts: list[str] = []
    while place is not None:
        place, part = place
        parts.append(str(part))
    return ".".join(reversed(parts))


@cache
def _members_by_spelling(model: Model, spell: Spelling) -> Mapping[str, _KnownMember]:
    """A model's members, by each of their spellings."""
    table: dict[str, _KnownMember] = {}
    for name, field in model.model_fields.items():
        parts = [*field.metadata, *_annotation_parts(field.annotation)]
        rule = next((part for part in parts if isinstance(part, IdRule)), None)
        inner = next((part for part in parts if isinstance(part, type) and issubclass(part, OpenMessage)), None)
        table |= dict.fromkeys((name, spell(name)), _KnownMember(name, rule, inner))
    return table


def _annotation_parts(annotation: Any) -> Iterator[Any]:
    """All parts of an annotation: list items, union members, type rules."""
    yield annotation
    for argument in get_args(annotation):
        yield from _annotation_parts(argument)
