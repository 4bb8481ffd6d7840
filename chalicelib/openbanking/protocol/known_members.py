"""Members of answers that the tables have: renamed to snake_case, identifiers made text.

Everything else in an answer, at every depth, stays as the bank wrote it, keys that are data too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from chalicelib.foundation.fields.field_rules import IdRule
from chalicelib.foundation.fields.field_types import OpenMessage

Model = type[OpenMessage]
Spelling = Callable[[str], str]
"""How a member that is in snake_case here may also be spelled."""


@dataclass(frozen=True, slots=True)
class _KnownMember:
    """A member of a table: its name, its rule if it is an identifier, and the table of its own members."""

    name: str
    rule: IdRule | None
    inner: Model | None


def normalise(model: Model, answer: dict[str, Any], *, spell: Spelling, repeated: list[str]) -> dict[str, Any]:
    """An answer with the members that ``model`` knows in snake_case and its identifiers as text.

    Args:
        spell: how the bank may also spell these members.
        repeated: gets the places of members that came in both spellings; the one in snake_case counts.
    """
    return _Normaliser(spell, repeated).normalise_object(model, answer, None)


Place = tuple[Any, str | int] | None
"""A path to a member: the path of its parent, and its name or index. Formatted only when needed."""


@dataclass(frozen=True, slots=True)
class _Normaliser:
    """One pass over an answer, along its tables."""

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
    """``transactions.booked.0.amount``."""
    parts: list[str] = []
    while place is not None:
        place, part = place
        parts.append(str(part))
    return ".".join(reversed(parts))


@cache
def _members_by_spelling(model: Model, spell: Spelling) -> Mapping[str, _KnownMember]:
    """The members of a model by each of their spellings."""
    table: dict[str, _KnownMember] = {}
    for name, field in model.model_fields.items():
        parts = [*field.metadata, *_annotation_parts(field.annotation)]
        rule = next((part for part in parts if isinstance(part, IdRule)), None)
        inner = next((part for part in parts if isinstance(part, type) and issubclass(part, OpenMessage)), None)
        table |= dict.fromkeys((name, spell(name)), _KnownMember(name, rule, inner))
    return table


def _annotation_parts(annotation: Any) -> Iterator[Any]:
    """The parts of an annotation: entries of a list, branches of a union, rules of a type."""
    yield annotation
    for argument in get_args(annotation):
        yield from _annotation_parts(argument)
