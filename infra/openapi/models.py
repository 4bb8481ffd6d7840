"""Models as they are found in the protocol: what nests in them, what they are called, and an example of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from infra.openapi import meanings

Model = type[BaseModel]


def module_of(model: Model) -> str:
    """The last part of the module's name, of ``v1_messages`` without what all versions share: ``v1``."""
    return model.__module__.rpartition(".")[2].removesuffix("_messages")


def names_of(model: Model) -> list[str]:
    """The model's name and those of its bases."""
    return [base.__name__ for base in model.__mro__]


def nested_models(model: Model) -> dict[str, Model]:
    """The models inside a model, by name, at any depth, and itself."""
    found = {model.__name__: model}
    for inner in _inner(model):
        found |= nested_models(inner)
    return found


def _inner(model: Model) -> Iterator[Model]:
    for field in model.model_fields.values():
        yield from models_in(field.annotation)


def models_in(annotation: Any) -> Iterator[Model]:
    """The models that an annotation names: those of ``list[Item] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def is_list(annotation: Any) -> bool:
    """Whether a field holds several values."""
    return any(get_origin(each) is list or each is list for each in (annotation, *get_args(annotation)))


def meaning(model: Model, member: str) -> meanings.Meaning:
    """The member's meaning and example. Raises: LookupError, when nobody wrote it down."""
    found = meanings.find(meanings.MEANINGS, module_of(model), names_of(model), member)
    if found is None:
        raise LookupError(f"{module_of(model)}.{model.__name__}.{member} has no meaning: add it to meanings.py")
    text, example = found
    return text, example


def table(model: Model, member: str) -> dict[Any, str]:
    """The table that the member's values come from, if there is one."""
    return dict(meanings.find(meanings.TABLES, module_of(model), names_of(model), member) or {})


def alias(model: Model, member: str) -> str:
    """How a member is spelled on the wire."""
    return model.model_fields[member].alias or member


def example(model: Model) -> dict[str, Any]:
    """One valid object of a model."""
    keys = [f"{module_of(model)}.{name}" for name in names_of(model)]
    left_out = next((meanings.LEFT_OUT[key] for key in keys if key in meanings.LEFT_OUT), frozenset())
    members = [name for name in model.model_fields if name not in left_out]
    values = {alias(model, name): _member_example(model, name) for name in members}
    return {name: value for name, value in values.items() if value is not None}


def _member_example(model: Model, member: str) -> Any:
    _, value = meaning(model, member)
    annotation = model.model_fields[member].annotation
    inner = next(models_in(annotation), None)
    if value is not None or inner is None:
        return value
    made = example(inner)
    return [made] if "list[" in str(annotation) else made
