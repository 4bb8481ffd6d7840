"""The component schemas of the card API document: one request and one response per action.

Request schemas describe all accepted forms, for example numbers as strings, and null for absent members. Response
schemas describe only the form that the service sends.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, get_args

from pydantic.fields import FieldInfo

from chalicelib.cards.protocol import fields
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.status_codes import Status, refused_field
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.cards.requests.action import Action
from chalicelib.foundation.fields.field_types import ValueRule, rule_of
from infra.render.openapi import member_docs
from infra.render.openapi.cards import conditions, purposes
from infra.render.openapi.cards.answer_models import answer_of
from infra.render.openapi.member_docs import sentence
from infra.render.openapi.models import Model, is_list, models_in
from infra.render.openapi.schemas import with_null

Json = dict[str, Any]
Way = Literal["taken", "answered"]

_SELF_EVIDENT = ("A whole number or a string of digits", "Printable text")
_PLAIN: dict[type, str] = {int: "integer", str: "string", Decimal: "number"}
_OWN = frozenset({"card_name_line_3"})
"""Fields of blocks that are listed at a different position for each action."""
_LONGEST_INLINE = 6
ENVELOPE: Json = {
    "access_key": {
        "type": "string",
        "pattern": "^[A-Za-z0-9]{20}$",
        "description": "The credential's access key",
        "examples": ["Zb4Qm7Xw2Kd9Ty6Hn3Lc"],
    },
    "access_api_id": {
        "type": "string",
        "pattern": "^[0-9a-f]{32}$",
        "description": "The credential's API id",
        "examples": ["3f0c9a5be1d2478690ab3c4d5e6f7081"],
    },
    "access_api_key": {
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
        "description": "The credential's API key",
        "examples": ["9d1e5c70b2a84f36e0d7c1b85a924f6390e1c7d2b3a4f5968778695a4b3c2d1e"],
    },
    "action": {"description": "The action"},
    "api_version": {"enum": [API_VERSION, float(API_VERSION)], "description": "The API version"},
    "request_reference_id": {
        "type": ["string", "null"],
        "minLength": 10,
        "maxLength": 255,
        "pattern": "^[A-Za-z0-9-]+$",
        "description": "Identifies the request: a repeat with the same body gets the same response. Letters, "
        "digits and hyphens",
        "examples": ["8b0e7a53-5e0c-4d0f-9d1e-3a7d3c1f6a20"],
    },
}
"""The members that every request has in addition to its fields. ``access_level`` is treated as a field."""
_OPTIONAL = ("request_reference_id",)
ERROR = "ErrorResponse"
_DUPLICATED: Json = {
    "enum": [0, 1],
    "description": "1: this is the answer to an earlier request with the same `request_reference_id`",
    "examples": [0],
}
_PAGINATOR: Json = {
    "type": "object",
    "description": "The total for this list",
    "properties": {
        "total_items_count": {"type": "integer", "minimum": 0, "description": "The total number of entries"}
    },
    "required": ["total_items_count"],
    "additionalProperties": True,
    "examples": [{"total_items_count": 1}],
}
_MORE: Json = {"enum": ["Y", "N"], "description": "Whether more rows follow", "examples": ["N"]}


def name_of(action: Action, kind: Literal["Request", "Response"]) -> str:
    """Return the name of an action's schema, for example ``CreateHolderRequest``."""
    return f"{action.name[0].upper()}{action.name[1:]}{kind}"


def reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def rule_in(field: FieldInfo) -> ValueRule | None:
    """Return the rule of a model's field, including a nested rule, as in ``Annotated[int, rule] | None``."""
    found = [*field.metadata, *(each for part in get_args(field.annotation) for each in _metadata(part))]
    return next((each for each in found if isinstance(each, ValueRule)), None)


def _metadata(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__metadata__", ())


def _names() -> dict[int, str]:
    return {
        id(rule): name for name, each in vars(fields).items() for rule in _metadata(each) if isinstance(rule, ValueRule)
    }


class CardSchemas:
    """The schemas of the document. Each schema is built when it is first referenced."""

    def __init__(self) -> None:
        self._made: dict[str, Json] = {conditions.GIVEN: conditions.GIVEN_SCHEMA, ERROR: _error()}
        self._names = _names()

    def components(self) -> Json:
        return dict(sorted(self._made.items()))

    def request(self, action: Action) -> Json:
        """Return a reference to the request body of an action."""
        model = action.request
        own = self._properties(model, "taken")
        envelope = {**ENVELOPE, "action": {"const": action.name, **ENVELOPE["action"]}}
        level = {"access_level": own.pop("access_level")}
        schema: Json = {
            "type": "object",
            "description": "\n".join([f"{action.summary}.", "", *(f"- {rule}" for rule in purposes.rules(action))]),
            "properties": {**envelope, **level, **own},
            "required": [name for name in envelope if name not in _OPTIONAL] + _required_members(model),
        }
        rules = [conditions.as_schema(model, condition) for condition in model.conditions]
        schema |= {"allOf": rules} if rules else {}
        schema |= {"additionalProperties": False, "x-group": purposes.group(action)}
        return self._add(name_of(action, "Request"), schema)

    def response(self, action: Action) -> Json:
        """Return a reference to the success response body of an action."""
        properties: Json = {
            "status": {"const": "success", "description": "The action succeeded"},
            "duplicated": _DUPLICATED,
            "data": self._data(action),
        }
        if action.is_paged:
            properties |= {"paginator": _PAGINATOR}
        if action.is_continued:
            properties |= {"has_more_records": _MORE}
        if action.shape == "id":
            properties |= {"id": {**_rule_schema(rule_of(fields.Id), "answered"), "description": "The holder"}}
        schema = {
            "type": "object",
            "description": f"The success response of `{action.name}`",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": True,
        }
        return self._add(name_of(action, "Response"), schema)

    def event(self, model: Model) -> Json:
        """Return a reference to the data of an event."""
        return self._answer(model)

    # -- internals

    def _data(self, action: Action) -> Json:
        answer = answer_of(action)
        if answer is not None and action.shape == "list":
            return {"type": "array", "items": self._answer(answer), "description": "The entries"}
        if answer is not None:
            return self._answer(answer) | {"description": "The action's result"}
        if action.shape == "empty object":
            return {"type": "object", "maxProperties": 0, "description": "Empty"}
        return {"type": "array", "items": {}, "maxItems": 0, "description": "Empty"}

    def _answer(self, model: Model) -> Json:
        schema = {
            "type": "object",
            "description": " ".join((model.__doc__ or model.__name__).replace("``", "`").split()),
            "properties": self._properties(model, "answered"),
            "required": _required_members(model),
            "additionalProperties": True,
        }
        return self._add(model.__name__, schema)

    def _properties(self, model: Model, way: Way) -> Json:
        return {name: self._member(model, name, way) for name in order_members(model)}

    def _member(self, model: Model, name: str, way: Way) -> Json:
        field = model.model_fields[name]
        found = self._field_schema(field, way)
        kind = found.pop("description", "")
        found.pop("examples", None)
        if type(None) in get_args(field.annotation) and (way == "taken" or field.is_required()):
            found = _or_null(found)
        parts = [sentence(model, name), *([kind] if kind and kind not in _SELF_EVIDENT else [])]
        found["description"] = ". ".join(parts)
        shown = example(model, name)
        return found | ({"examples": [shown]} if shown is not None else {})

    def _field_schema(self, field: FieldInfo, way: Way) -> Json:
        rule = rule_in(field)
        if rule is not None:
            return self._shared_ref(rule, way) or _rule_schema(rule, way)
        inner = next(models_in(field.annotation), None)
        of_each = self._answer(inner) if inner is not None else {}
        if is_list(field.annotation):
            return {"type": "array", "items": of_each}
        if of_each:
            return of_each
        parts = [_PLAIN[part] for part in (field.annotation, *get_args(field.annotation)) if part in _PLAIN]
        return {"type": parts[0] if len(parts) == 1 else parts}

    def _shared_ref(self, rule: ValueRule, way: Way) -> Json:
        name, schema = self._names.get(id(rule), ""), _rule_schema(rule, way)
        if not name or len(schema.get("enum", ())) <= _LONGEST_INLINE:
            return {}
        is_number = way == "answered" and schema.get("type") == "integer"
        return self._add(f"{name}Number" if is_number else name, schema)

    def _add(self, name: str, schema: Json) -> Json:
        if self._made.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas are called {name}")
        return reference(name)


def example(model: Model, member: str) -> Any:
    """Return the example of a member. A mandatory member without an example gets the example of its type; an optional
    member gets ``None``.
    """
    field = model.model_fields[member]
    found = member_docs.example(model, member, is_object=any(models_in(field.annotation)))
    if found is not member_docs.UNKNOWN:
        return found
    rule = rule_in(field) if field.is_required() else None
    schema = _full_schema(rule, "taken" if issubclass(model, Request) else "answered") if rule else {}
    return next(iter(schema.get("examples") or schema.get("enum") or ()), None)


def order_members(model: Model) -> list[str]:
    """Return the fields of a request in the order of the specification's tables: its own fields, then those of shared
    blocks.

    If the request declares a block's field again with a new docstring, the field keeps its position in the block.
    """
    if not issubclass(model, Request):
        return list(model.model_fields)
    shared = {name for base in model.__bases__ for name in getattr(base, "model_fields", ())} - _OWN
    own = [name for name in model.__annotations__ if name in model.model_fields and name not in shared]
    return list(dict.fromkeys([*own, *model.model_fields]))


def _required_members(model: Model) -> list[str]:
    return [name for name in order_members(model) if model.model_fields[name].is_required()]


def _full_schema(rule: ValueRule, way: Way) -> Json:
    return rule.json_schema() if way == "taken" else rule.answer_schema()


def _rule_schema(rule: ValueRule, way: Way) -> Json:
    schema = _full_schema(rule, way)
    return {key: _without_examples(value) for key, value in schema.items() if key != "examples"}


def _without_examples(value: Any) -> Any:
    """Remove examples at every level of a schema, because the members have separate examples."""
    if isinstance(value, list):
        return [_without_examples(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_examples(each) for key, each in value.items() if key != "examples"}


def _or_null(schema: Json) -> Json:
    if set(schema) == {"enum"}:
        return {"enum": [*schema["enum"], None]}
    return with_null({"anyOf": [schema, {"type": "null"}]})


def _error() -> Json:
    return {
        "type": "object",
        "description": "The response to every failed action",
        "properties": {
            "status": {"const": "error", "description": "The action failed"},
            "duplicated": _DUPLICATED,
            "status_code": {
                "enum": [int(status) for status in Status],
                "description": "The error code; see the table of status codes",
                "examples": [int(Status.FIELD_MISSING)],
            },
            "message": {
                "type": "string",
                "description": "The error for people: names every invalid field, but never its value",
                "examples": [refused_field("first_name", "missing", "is required").message],
            },
        },
        "required": ["status", "duplicated", "status_code", "message"],
        "additionalProperties": True,
    }
