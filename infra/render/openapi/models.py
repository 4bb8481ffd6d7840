"""Helpers for protocol models: nested models, names and examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, Field, create_model
from pydantic.alias_generators import to_snake

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.openbanking.protocol.own_answers import Success
from infra.render.openapi import member_docs
from infra.render.openapi.value_tables import TABLES

Model = type[BaseModel]
Spell = Callable[[str], str] | None
_OPEN = frozenset({Success})
"""Responses that may contain members that their types do not declare."""


def model_of(shape: type[Any], spell: Spell = None) -> type[Message]:
    """Return the model of a type: the type itself, or a model of a ``TypedDict``. ``spell`` converts member names."""
    if not is_typeddict(shape):
        assert issubclass(shape, Message)
        return shape
    hints = get_type_hints(shape, include_extras=True)
    fields: dict[str, Any] = {name: _field(hint, name, spell) for name, hint in hints.items()}
    base = OpenMessage if shape in _OPEN else Message
    made: type[Message] = create_model(
        shape.__name__, __base__=base, __module__=shape.__module__, __doc__=shape.__doc__, **fields
    )
    return made


def _field(hint: Any, name: str, spell: Spell) -> tuple[Any, Any]:
    alias = spell(name) if spell else None
    if get_origin(hint) is NotRequired:
        return _with_models(get_args(hint)[0], spell) | None, Field(None, alias=alias)
    return _with_models(hint, spell), Field(alias=alias)


def _with_models(annotation: Any, spell: Spell) -> Any:
    if is_typeddict(annotation):
        return model_of(annotation, spell)
    inner = get_args(annotation)
    if get_origin(annotation) is list:
        return list[_with_models(inner[0], spell)]  # type: ignore[misc]
    if get_origin(annotation) is Annotated:
        return Annotated[_with_models(inner[0], spell), *inner[1:]]
    return annotation


def module_of(model: Model) -> str:
    """Return the name of a model's module. For a version's messages, return the version, for example ``v1``."""
    name = model.__module__.rpartition(".")[2]
    return name.partition("_")[0] if name.endswith("_messages") else name


def names_of(model: Model) -> list[str]:
    """Return the names of a model and its bases."""
    return [base.__name__ for base in model.__mro__]


def nested_models(model: Model) -> dict[str, Model]:
    """Return a model and all models nested in it, by name."""
    found = {model.__name__: model}
    for inner in _inner(model):
        found |= nested_models(inner)
    return found


def _inner(model: Model) -> Iterator[Model]:
    for field in model.model_fields.values():
        yield from models_in(field.annotation)


def models_in(annotation: Any) -> Iterator[Model]:
    """Yield the models in an annotation, for example ``Item`` in ``list[Item] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def is_list(annotation: Any) -> bool:
    """Return whether an annotation is a list or an optional list."""
    return any(get_origin(each) is list or each is list for each in (annotation, *get_args(annotation)))


def _keys(model: Model, member: str) -> list[str]:
    """Return the table keys of a member, the most specific first: ``v1.PaymentRecord.status``, ``v1.status``,
    ``status``.
    """
    module, name = module_of(model), to_snake(member)
    return [*(f"{module}.{each}.{name}" for each in names_of(model)), f"{module}.{name}", name]


def member_example(model: Model, member: str) -> Any:
    """Return a member's example. Return ``None`` for an object without an example. Raises: LookupError, if the example
    is missing.
    """
    annotation = model.model_fields[member].annotation
    found = member_docs.example(model, member, is_object=any(models_in(annotation)))
    if found is member_docs.UNKNOWN:
        schema = schema_of(model)
        found = _example_of_type(schema["properties"][alias(model, member)], schema.get("$defs", {}))
    if found is member_docs.UNKNOWN and not any(models_in(annotation)):
        raise LookupError(f"{module_of(model)}.{model.__name__}.{member} has no example: add it to its docstring")
    return None if found is member_docs.UNKNOWN else found


@cache
def schema_of(model: Model) -> dict[str, Any]:
    """Return Pydantic's schema of a model. The schema is cached and must not be changed."""
    return model.model_json_schema(ref_template="#/components/schemas/{model}")


def _example_of_type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Return the example of a type: its declared example or its first value. Return ``UNKNOWN`` if the type has
    neither.
    """
    match schema:
        case {"$ref": ref}:
            return _example_of_type(definitions[ref.rpartition("/")[2]], definitions)
        case {"examples": [first, *_]} | {"const": first} | {"enum": [first, *_]}:
            return first
        case {"anyOf": [first, *_]}:
            return _example_of_type(first, definitions)
        case {"type": "array", "items": entry}:
            first = _example_of_type(entry, definitions)
            return first if first is member_docs.UNKNOWN else [first]
        case {"type": "boolean"}:
            return True
        case {"type": "integer", "default": first}:
            return first
    return member_docs.UNKNOWN


def table(model: Model, member: str) -> dict[Any, str]:
    """Return the documentation table of a member's values. Return an empty text if there is no table."""
    return dict(next((TABLES[key] for key in _keys(model, member) if key in TABLES), {}))


def alias(model: Model, member: str) -> str:
    """Return a member's name in JSON."""
    return model.model_fields[member].alias or member


def example(model: Model) -> dict[str, Any]:
    """Return a valid example of a model. Rare members are omitted or, if they are always present, null."""
    values = {
        name: None if member_docs.is_rare(model, name) else _make_example(model, name) for name in model.model_fields
    }
    return {
        alias(model, name): value
        for name, value in values.items()
        if value is not None or (member_docs.is_rare(model, name) and model.model_fields[name].is_required())
    }


def _make_example(model: Model, member: str) -> Any:
    value = member_example(model, member)
    annotation = model.model_fields[member].annotation
    inner = next(models_in(annotation), None)
    if value is not None or inner is None:
        return value
    made = example(inner)
    return [made] if "list[" in str(annotation) else made
