"""The members of a message's model, from which strategies draw random messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, get_args

from pydantic.fields import FieldInfo

from chalicelib.foundation.fields.field_types import Message, ValueRule


class Member(NamedTuple):
    """A member of a message: the model of its object or of the entries of its list, or the rule of its value."""

    name: str
    model: type[Message] | None
    rule: Any
    is_list: bool
    is_required: bool


@cache
def members_of(model: type[Message]) -> Sequence[Member]:
    """Return the members of a model."""
    return [_member(name, field) for name, field in model.model_fields.items()]


def _member(name: str, field: FieldInfo) -> Member:
    parts = [*field.metadata, *_parts_of(field.annotation)]
    model = next((each for each in parts if isinstance(each, type) and issubclass(each, Message)), None)
    rule = next((each for each in parts if isinstance(each, ValueRule)), None)
    is_list = any(getattr(each, "__origin__", None) is list for each in parts)
    return Member(name, model, rule, is_list, field.is_required())


def _parts_of(annotation: Any) -> Iterator[Any]:
    """Yield the parts of an annotation: members of unions, entries of lists, and rules."""
    yield annotation
    for part in (*get_args(annotation), *getattr(annotation, "__metadata__", ())):
        yield from _parts_of(part)
