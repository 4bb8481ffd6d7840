"""The members of a bank's entry that unified reads validate: mandatory members and identifiers.

Faults of other members are never fatal (``Problem.is_fatal``), so they do not make an entry unusable.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Any, get_args, get_origin

from pydantic import ConfigDict, create_model
from pydantic.fields import FieldInfo

from chalicelib.foundation.fields.field_types import Message, annotation_parts
from chalicelib.openbanking.protocol.bank_identifiers import is_identifier_rule


class _ValidatedMembers(Message):
    model_config = ConfigDict(extra="ignore")


@cache
def validated_model(model: type[Message]) -> type[Message]:
    """Return a model of the validated members of ``model``, which finds the same fatal problems in the same order."""
    fields = {name: field for name, field in model.model_fields.items() if _is_validated(field)}
    members: dict[str, Any] = {name: (_validated_type(field.annotation), field) for name, field in fields.items()}
    return create_model(model.__name__, __base__=_ValidatedMembers, **members)


def _is_validated(field: FieldInfo) -> bool:
    return field.is_required() or _has_identifier(field)


def _has_identifier(field: FieldInfo) -> bool:
    parts = [*field.metadata, *annotation_parts(field.annotation)]
    models = (part for part in parts if _is_model(part))
    return any(map(is_identifier_rule, parts)) or any(
        _has_identifier(inner) for model in models for inner in model.model_fields.values()
    )


def _is_model(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, Message)


def _validated_type(annotation: Any) -> Any:
    """Return a type with the models of validated members in place of its models."""
    if _is_model(annotation):
        return validated_model(annotation)
    if get_origin(annotation) is list:
        return list[_validated_type(get_args(annotation)[0])]  # type: ignore[misc]
    if isinstance(annotation, UnionType):
        return reduce(or_, map(_validated_type, get_args(annotation)))
    return annotation
