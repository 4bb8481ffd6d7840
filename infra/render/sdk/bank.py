"""Generates the modules of ``causeway.bank``: the messages of both versions, and tables of webhooks and calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from infra.render.openapi import documents
from infra.render.sdk import source
from infra.render.sdk.members import Schema, Types, choices
from infra.render.sdk.tpp import with_references

PACKAGE = "causeway.bank._generated"
VERSIONS = ("1", "2")
ALIASES: Mapping[str, tuple[str, str, str]] = {
    "PaymentStatusV1": ("1", "PaymentsStatus", "payment_status"),
    "PaymentStatusV2": ("2", "PaymentsStatus", "paymentStatus"),
    "PaymentSchemeV1": ("1", "SinglePayment", "payment_scheme"),
    "PaymentSchemeV2": ("2", "SinglePayment", "payment_scheme"),
    "ErrorCodeV1": ("1", "Error", "error_code"),
    "ErrorCodeV2": ("2", "Error", "code"),
    "AdditionalErrorCode": ("2", "AdditionalError", "code"),
    "BookingStatus": ("2", "TransactionsRequest", "booking_status"),
    "ConsentStatus": ("2", "BankConsent", "status"),
    "ScopeV1": ("1", "SaveConsent", "scopes"),
    "ScopeV2": ("2", "SaveConsent", "scopes"),
    "Scope": ("1", "InitAuthorizationAnswer", "scopes"),
}
"""Named enumerations, each with a member that has the enumeration, or a list of it, as its type."""
OTHER_VERSION = "ErrorV1"
"""The schema of version 1 errors in the version 2 document. The hub returns a version 1 error if it cannot detect the
version of a call. The generated version 1 module defines the class of this schema.
"""


@cache
def document(version: str) -> Schema:
    """Return the OpenAPI document for banks of a version."""
    found: Schema = documents.load(f"bank-v{version}")
    return found


@cache
def schemas(version: str) -> Mapping[str, Schema]:
    """Return the object schemas of a version by class name. Each schema becomes a class."""
    found = document(version)["components"]["schemas"]
    text = json.dumps({name: schema for name, schema in found.items() if name != OTHER_VERSION})
    texts = {name for name, schema in found.items() if schema["type"] != "object"}
    suffix = f"V{version}"
    named = re.sub(r"#/components/schemas/(\w+)", lambda ref: ref[0] + ("" if ref[1] in texts else suffix), text)
    return {f"{name}V{version}": schema for name, schema in json.loads(named).items() if name not in texts}


@cache
def texts() -> Mapping[str, str]:
    """Return the names and meanings of enumerations from external standards, which have the type ``str`` in the SDK."""
    found = {}
    for version in VERSIONS:
        for name, schema in document(version)["components"]["schemas"].items():
            if schema["type"] == "string":
                found[name] = schema["description"]
    return dict(sorted(found.items()))


@cache
def named_choices() -> dict[tuple[Any, ...], str]:
    """Map the values of each named enumeration to its name."""
    return {choices(enumeration(name)): name for name in ALIASES}


def enumeration(name: str) -> Schema:
    """Return the schema of a named enumeration."""
    version, owner, member = ALIASES[name]
    found: Schema = document(version)["components"]["schemas"][owner]["properties"][member]
    return {"description": found["description"], **found.get("items", found)}


def operations(version: str, part: str) -> Iterator[tuple[str, str, Schema]]:
    """Yield the path, name and description of each ``POST`` operation in the document's paths or webhooks."""
    for path, methods in document(version)[part].items():
        if "post" in methods:
            yield path, methods["post"]["operationId"].removeprefix("webhook_"), methods["post"]


def request_class(version: str, operation: Schema) -> str:
    """Return the class name of a call's body."""
    return f"{class_names(operation['requestBody']['content'])[-1]}V{version}"


def answer_class(version: str, operation: Schema) -> str:
    """Return the class name of a call's success response. In version 1, the class does not include ``status``."""
    return f"{class_names(operation['responses']['200']['content'])[-1]}V{version}"


def class_names(content: Schema) -> list[str]:
    """Return the names of the schemas in a body, in the document's order."""
    return re.findall(r'"#/components/schemas/(\w+)"', json.dumps(content["application/json"]["schema"]))


@cache
def schemas_sent_by_banks(version: str) -> set[str]:
    """Return the classes of messages that banks send: the bodies of calls, and the responses to webhooks."""
    names = {request_class(version, operation) for _, _, operation in operations(version, "paths")}
    names |= {answer_class(version, operation) for _, _, operation in operations(version, "webhooks")}
    return with_references(names, schemas(version))


def module_of_names() -> dict[str, str]:
    """Map each generated name to its module."""
    found = {name: f"{PACKAGE}.models_v{version}" for version in VERSIONS for name in schemas(version)}
    return found | dict.fromkeys((*ALIASES, *texts()), f"{PACKAGE}.literals")


def modules() -> dict[str, str]:
    """Return the names of the generated modules with their source code."""
    return {
        f"{PACKAGE}.literals": literals(),
        **{f"{PACKAGE}.models_v{version}": models(version) for version in VERSIONS},
        f"{PACKAGE}.calls": calls(),
    }


def literals() -> str:
    """Return the source of the module of named enumerations."""
    found = []
    for values, name in named_choices().items():
        found.append(source.alias(name, source.literal(values), enumeration(name)["description"]))
    found += [source.alias(name, "str", text) for name, text in texts().items()]
    return source.module("Values that members can have.", found, {})


def models(version: str) -> str:
    """Return the source of the module of dataclasses for a version."""
    types = Types(named_choices(), schemas_sent_by_banks(version))
    parts = [
        source.dataclass_source(name, schema["description"], types.members(name, schema))
        for name, schema in schemas(version).items()
    ]
    here = f"{PACKAGE}.models_v{version}"
    outside = {name: module for name, module in module_of_names().items() if module != here}
    return source.module(f"The messages between the hub and banks of version {version}.", parts, outside)


def calls() -> str:
    """Return the source of the module with the webhooks and calls of the two versions."""
    parts = [table(version, part) for version in VERSIONS for part in ("webhooks", "paths")]
    used = dict.fromkeys(("Webhook", "HubCall"), "causeway.bank._call")
    return source.module("The webhooks that banks answer, and the calls that they make.", parts, used)


def table(version: str, part: str) -> str:
    """Return the source of the table of a version's webhooks or calls. Webhooks are keyed by path, calls by name."""
    rows = "\n".join(row(version, part, *each) for each in operations(version, part))
    kind, name, text = {
        "webhooks": ("Webhook", "WEBHOOKS", "The webhooks of version {}, by path"),
        "paths": ("HubCall", "HUB_CALLS", "The calls of version {}, by name"),
    }[part]
    opening = f"{name}_V{version}: Mapping[str, {kind}] = {{"
    return f"{opening}\n{rows}\n}}\n{source.docstring(text.format(version))}"


def row(version: str, part: str, path: str, name: str, operation: Schema) -> str:
    """Return the source of a table row for one webhook or call."""
    request, answer = request_class(version, operation), answer_class(version, operation)
    module = f"models_v{version}"
    classes = f"request='{module}.{request}', answer='{module}.{answer}'"
    if part == "paths":
        return f"    {name!r}: HubCall(path={path!r}, {classes}),"
    scope = re.search(r"scope `([\w.]+)`", operation["description"])
    token = any(each["$ref"].endswith("/AuthToken") for each in operation["parameters"])
    return f"    '/{path}': Webhook({classes}, scope={(scope[1] if scope else None)!r}, token={token}),"
