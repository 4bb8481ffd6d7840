"""A document's component schemas: JSON Schemas (2020-12) of the models, with meanings, examples and value tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from chalicelib.foundation.fields.field_types import OpenMessage
from chalicelib.foundation.fields.number_rules import OR_A_NUMBER
from chalicelib.openbanking.protocol.oauth_security import ASSERTION_TYPE
from chalicelib.openbanking.protocol.payment_statuses import CODES, NUMBERS
from chalicelib.openbanking.protocol.versions import VERSIONS, scope_names
from infra.render.openapi.member_docs import sentence
from infra.render.openapi.models import (
    Model,
    alias,
    example,
    member_example,
    module_of,
    names_of,
    nested_models,
    schema_of,
    table,
)

Json = dict[str, Any]
Way = Literal["body", "texts", "sent"]
"""The context in which a model's members occur.

``body``: in a body, where optional members may be null. ``texts``: as text in a query or form. ``sent``: in a body that
the service sends, where defaults are filled in and null members are omitted.
"""

_SELF_EVIDENT = ("Printable text", "Letters")
_ANSWERS = ("own_answers", "answers", "oauth_metadata", "errors")
"""The modules of responses that the service makes."""
_COMPACT_IBAN = {
    "type": "string",
    "format": "iban",
    "pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$",
    "description": "An IBAN in capitals without spaces",
}
_ALWAYS_SENT = frozenset({"payment_scheme"})
"""Members without a default that the service sets if the TPP omits them."""
_NUMBERS: Mapping[str, list[Any]] = {
    "PaymentsStatus": [*NUMBERS.meanings, *map(str, NUMBERS.meanings)],
    "PaymentsStatusV2": [*CODES.meanings, *NUMBERS.meanings, *map(str, NUMBERS.meanings)],
}


def _any_of(*groups: tuple[str, ...]) -> dict[str, Any]:
    return {"anyOf": [{"required": list(group)} for group in groups]}


def _scopes(names: list[str]) -> dict[str, Any]:
    return {"minItems": 1, "uniqueItems": True, "items": {"type": "string", "enum": names}}


_ACCOUNT = (("iban",), ("bban",), ("account_number", "sort_code"))
_RULES_OF_OBJECTS: Mapping[str, Mapping[str, Any]] = {
    "v1.AccountRequest": _any_of(("iban",), ("account_id",)),
    "v1.FundsAccount": _any_of(("iban",), ("account_id",)),
    "v1.Receiver": _any_of(("receiver_iban",), ("receiver_account_number", "receiver_sort_code")),
    "v2.PaymentAccount": _any_of(*_ACCOUNT),
    "v2.SinglePayment": {
        "if": {"properties": {"payment_scheme": {"const": "SWIFT"}}, "required": ["payment_scheme"]},
        "then": {"required": ["creditor_bank"]},
    },
    "payment.Creditor": _any_of(*_ACCOUNT),
    "payment.Debtor": {"anyOf": [*_any_of(*_ACCOUNT)["anyOf"], {"required": ["name"], "maxProperties": 1}]},
    "payment.FundsAccount": _any_of(("account_id",), *_ACCOUNT),
    "payment.Remittance": {"dependentRequired": {"reference_type": ["reference"]}},
    "tpp_calls.TokenRequest": _any_of(("authorization_code",), ("code",), ("refresh_token",)),
}

_SHA_256: Mapping[str, Any] = {"minLength": 43, "maxLength": 43, "pattern": "^[A-Za-z0-9_-]{43}$"}
_RULES_OF_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "tpp_calls.AuthorizeRequest.scopes": _scopes(scope_names()),
    "tpp_calls.AuthorizeRequest.code_challenge": _SHA_256,
    "tpp_calls.AuthorizeRequest.dpop_jkt": _SHA_256,
    "document_models.FrontDoorQuery.dpop_jkt": _SHA_256,
    "document_models.PushedMembers.code_challenge": _SHA_256,
    "document_models.PushedMembers.dpop_jkt": _SHA_256,
    "document_models.PushedMembers.client_assertion_type": {"const": ASSERTION_TYPE},
    "tpp_calls.ClientMembers.client_assertion_type": {"const": ASSERTION_TYPE},
    "bank_calls.SaveConsentV2.scopes": _scopes(list(VERSIONS[2].scopes)),
    "bank_calls.SaveConsent.scopes": _scopes(list(VERSIONS[1].scopes)),
}


class Schemas:
    """The schemas of one document. Each schema is built when it is first referenced.

    Args:
        naming: returns a model's name in this document.
        handed_on: whether the document describes bank responses in the form in which TPPs receive them, with
        identifiers as strings.
    """

    def __init__(self, naming: Callable[[Model], str], *, handed_on: bool = False) -> None:
        self._naming = naming
        self._handed_on = handed_on
        self._made: dict[str, tuple[Any, Json]] = {}

    def components(self) -> Json:
        return {name: schema for name, (_, schema) in sorted(self._made.items())}

    def ref(self, model: Model, *, name: str = "", way: Way = "body", extra: Model | None = None) -> Json:
        """Return a reference to a model's schema.

        Args:
            name: the name of the schema, if the schema must not have the model's default name.
            way: the context of the members, for example a body or a query.
            extra: a model whose members are added to the schema.
        """
        raw = self._raw(model)
        definitions = raw.pop("$defs", {})
        models = {self._naming(inner): inner for inner in nested_models(model).values()}
        own = name or self._naming(model)
        for key, schema in definitions.items():
            inner = models.get(key)
            self._add(key, (inner, way), _object(inner, schema, way) if inner else _simplify(schema))
        schema = _object(model, raw, way)
        if extra:
            more = _object(extra, self._raw(extra), way)
            schema["properties"] |= more["properties"]
            schema["required"] = [*schema.get("required", []), *more["required"]]
        self._add(own, (model, way, extra), schema)
        return {"$ref": f"#/components/schemas/{own}"}

    def form_ref(self, model: Model) -> Json:
        """Return a reference to the schema of a form, in which all values are text and unknown members are ignored."""
        schema = _object(model, self._raw(model), "texts")
        name = f"{self._naming(model)}Form"
        self._add(name, (model, "form"), schema | {"additionalProperties": True})
        return {"$ref": f"#/components/schemas/{name}"}

    def parameters(self, model: Model, place: Literal["query", "path"] = "query") -> list[Json]:
        """Return a model's members as query or path parameters."""
        schema = _object(model, self._raw(model), "texts")
        required = schema.get("required", ())
        return [
            _parameter(name, member, place, required=name in required) for name, member in schema["properties"].items()
        ]

    def _raw(self, model: Model) -> Json:
        raw = _raw(model, self._naming)
        handed_on: Json = _numbers_as_texts(raw) if self._handed_on else raw
        return handed_on

    def _add(self, name: str, origin: Any, schema: Json) -> None:
        known = self._made.get(name)
        if known is not None and known[1] != schema:
            raise ValueError(f"two schemas are called {name}: {known[0]} and {origin}")
        self._made[name] = origin, schema


def _parameter(name: str, member: Json, place: str, *, required: bool) -> Json:
    member = dict(member)
    found = {"name": name, "in": place, "required": required, "description": member.pop("description")}
    examples = member.pop("examples")
    return {**found, "schema": member, "example": examples[0]}


def _raw(model: Model, naming: Callable[[Model], str]) -> Json:
    schema = schema_of(model)
    names = {inner.__name__: naming(inner) for inner in nested_models(model).values()}
    renamed: Json = _rename_refs(schema, names)
    renamed["$defs"] = {names.get(key, key): value for key, value in renamed.get("$defs", {}).items()}
    return renamed


def _numbers_as_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers_as_texts(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    found = {key: _numbers_as_texts(inner) for key, inner in value.items()}
    kind = found.get("description")
    if isinstance(kind, str) and kind.endswith(OR_A_NUMBER):
        found |= {"type": "string", "description": kind.removesuffix(OR_A_NUMBER)}
        found = {key: inner for key, inner in found.items() if key not in ("minimum", "maximum")}
    return found


def _rename_refs(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_rename_refs(inner, names) for inner in value]
    if not isinstance(value, dict):
        return value
    found = {key: _rename_refs(inner, names) for key, inner in value.items()}
    if isinstance(found.get("$ref"), str):
        place, _, last = found["$ref"].rpartition("/")
        found["$ref"] = f"{place}/{names.get(last, last)}"
    return found


def _simplify(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key not in ("title", "minLength", "maxLength")}


def _object(model: Model, schema: Json, way: Way) -> Json:
    wire = {alias(model, name): name for name in model.model_fields}
    properties = {
        name: _member(model, wire[name], member, way) for name, member in schema.get("properties", {}).items()
    }
    required = [name for name in properties if _is_required(model, wire[name], way)]
    made: Json = {"type": "object", "description": _about(model), "properties": properties}
    made |= {"required": required} if required else {}
    return made | _rule(_RULES_OF_OBJECTS, model) | {"additionalProperties": issubclass(model, OpenMessage)}


def _rule(table: Mapping[str, Mapping[str, Any]], model: Model, member: str = "") -> Json:
    keys = (f"{module_of(model)}.{name}{member}" for name in names_of(model))
    return dict(next((table[key] for key in keys if key in table), {}))


def _about(model: Model) -> str:
    text = model.__dict__.get("__doc__") or model.__name__
    said = " ".join(text.replace("``", "`").split())
    return f"The request of {said}" if said.startswith("`/") else said


def _is_required(model: Model, member: str, way: Way) -> bool:
    field = model.model_fields[member]
    return field.is_required() or (way == "sent" and (field.default is not None or member in _ALWAYS_SENT))


def _member(model: Model, member: str, schema: Json, way: Way) -> Json:
    text, value = sentence(model, member), member_example(model, member)
    found = with_null(schema) if way == "body" else _without_null(schema)
    found.pop("title", None)
    kind = found.pop("description", "")
    if way == "sent" and kind.startswith("An IBAN"):
        found = {key: value for key, value in _COMPACT_IBAN.items() if key != "description"}
        kind = _COMPACT_IBAN["description"]
    is_answer = issubclass(model, OpenMessage) or module_of(model) in _ANSWERS
    if kind.removesuffix(OR_A_NUMBER) in _SELF_EVIDENT and is_answer:  # forbidden characters are not documented
        found.pop("pattern", None)
    if member == "payment_status" and model.__name__ in _NUMBERS:
        found = {"enum": _NUMBERS[model.__name__]}
    found |= _rule(_RULES_OF_MEMBERS, model, f".{member}")
    values = "; ".join(f"`{value}`: {text}" for value, text in table(model, member).items())
    parts = [text, "" if kind in _SELF_EVIDENT or "$ref" in found else kind, values]
    found["description"] = ". ".join(part for part in parts if part)
    found.pop("examples", None)
    if value is not None:
        found["examples"] = [value]
    return found


def _without_null(schema: Json) -> Json:
    found = dict(schema)
    found.pop("default", None) if found.get("default") is None else None
    if "anyOf" in found:
        types = [_remove_titles(inner) for inner in found.pop("anyOf") if inner != {"type": "null"}]
        found |= types[0] if len(types) == 1 else {"anyOf": types}
    return _remove_titles(found)


def with_null(schema: Json) -> Json:
    """Return a nullable schema in its shortest form, with null in ``type`` where possible."""
    if {"type": "null"} not in schema.get("anyOf", []):
        return _without_null(schema)
    found = _without_null(schema)
    if "$ref" in found or "anyOf" in found:
        branches = found.pop("anyOf", None) or [{"$ref": found.pop("$ref")}]
        return {"anyOf": [*branches, {"type": "null"}], **found}
    kinds = found["type"] if isinstance(found["type"], list) else [found["type"]]
    found["type"] = [*kinds, "null"]
    if "enum" in found:
        found["enum"] = [*found["enum"], None]
    return found


def _remove_titles(schema: Json) -> Json:
    found = {key: value for key, value in schema.items() if key != "title"}
    if "items" in found:
        found["items"] = {key: value for key, value in _without_null(found["items"]).items() if key != "examples"}
    return found


def body_example(model: Model, extra: Model | None = None) -> Json:
    """Return an example of a body, including the members of the model ``extra``."""
    return (example(extra) if extra else {}) | example(model)


def version_suffix(model: Model) -> str:
    """Return the suffix of a model's version, for example ``V1``. Return an empty text for a model that all versions
    use.
    """
    return {"v1": "V1", "v2": "V2"}.get(module_of(model), "")
