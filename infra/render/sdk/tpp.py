"""Generates the modules of ``causeway.tpp``: models, event models and the table of calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from infra.render.openapi import documents
from infra.render.sdk import source
from infra.render.sdk.members import Schema, Types, snake_case

PACKAGE = "causeway.tpp._generated"
ALIASES: Mapping[str, tuple[str, str]] = {
    "Scope": ("AuthorizeRequest", "scopes"),
    "NativeScope": ("BankScope", "scope"),
    "UnifiedScope": ("BankEntry", "unified_scopes"),
    "PaymentScheme": ("SinglePaymentV2", "payment_scheme"),
    "PaymentSchemeV1": ("SinglePaymentV1", "payment_scheme"),
    "ErrorCode": ("Error", "code"),
    "AdditionalErrorCode": ("AdditionalError", "code"),
    "OAuthErrorCode": ("TokenError", "error"),
    "ReasonCode": ("Error", "reason_code"),
    "EventType": ("EventEntry", "type"),
    "ConsentStatus": ("ConsentEntry", "status"),
    "ConsentType": ("ConsentEntry", "consent_type"),
    "PaymentStatusV1": ("ReportedStatus", "payment_status"),
    "UnifiedStatus": ("PaymentStatus", "status"),
    "BalanceType": ("Balance", "type"),
    "TransactionStatus": ("Transaction", "status"),
}
"""Named enumerations, and a member that has each, or whose items have it."""
TEXTS: Mapping[str, str] = {
    "Currency": "An ISO 4217 code, such as `EUR`. The hub refuses codes that it does not know",
    "CountryAlpha2": "An ISO 3166-1 code of two letters, such as `DE`",
    "CountryAlpha3": "An ISO 3166-1 code of three letters, such as `DEU`",
}
"""Enumerations of outside standards: texts, so that a value from a database or another answer fits."""
PREFIX = "Unified"
"""The beginning of names that the classes of the unified API do not have."""
RENAMED: Mapping[str, str] = {
    "TestEvent": "DeliveryTest",
    "FundsConfirmation": "NativeFundsConfirmation",
    "StatusEntry": "NativeStatusEntry",
}
"""The class names of schemas that pytest would take for a test, or whose name a unified schema has."""
SHARED: Mapping[str, str] = {"PaidAmount": "Amount", "DirectPayment": "Payment"}
"""Schemas of requests that have the class of another schema."""
METHODS: Mapping[str, tuple[str, str]] = {"Balances": ("BalancesByType", "causeway.tpp._balances")}
"""Classes with methods: the written class that defines these, and its module."""
EVENT_NAMES = {"test": "DeliveryTestEvent"}


@cache
def document() -> Schema:
    """Return the OpenAPI document of the TPP-facing API, in which schemas have the names of their classes."""
    found = documents.load("tpp")
    names = {name: class_name(name) for name in found["components"]["schemas"]}
    text = re.sub(r'(?<="#/components/schemas/)\w+', lambda ref: names[ref[0]], json.dumps(found))
    renamed: Schema = json.loads(text)
    schemas = {names[name]: schema for name, schema in renamed["components"]["schemas"].items() if name not in SHARED}
    renamed["components"]["schemas"] = dict(sorted(schemas.items()))
    return renamed


def class_name(schema: str) -> str:
    """Return the name of a schema's class."""
    return RENAMED.get(schema) or SHARED.get(schema) or schema.removeprefix(PREFIX)


def schemas() -> Mapping[str, Schema]:
    """Return the schemas that become classes or aliases. A form and a JSON body with equal members share one class."""
    found: Mapping[str, Schema] = document()["components"]["schemas"]
    forms = {name for name in found if name.endswith("Form") and name.removesuffix("Form") in found}
    return {name: schema for name, schema in found.items() if name not in forms}


def operations() -> Iterator[tuple[str, str, Schema]]:
    """Yield the path, method and description of each call."""
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def named_choices() -> dict[tuple[Any, ...], str]:
    """Map the values of each named enumeration to its name."""
    found = {}
    for name, (owner, member) in ALIASES.items():
        values = _choice(owner, member)["enum"]
        found[tuple(value for value in values if value is not None)] = name
    return found


def _choice(owner: str, member: str) -> Schema:
    schema: Schema = schemas()[owner]["properties"][member]
    found: Schema = schema.get("items", schema)
    return found


@cache
def types() -> Types:
    """Return the converter for the types of the document's members."""
    return Types(named_choices(), request_schemas())


def request_schemas() -> set[str]:
    """Return the names of the schemas that requests contain."""
    bodies = (operation["requestBody"] for _, _, operation in operations() if "requestBody" in operation)
    return with_references(references([body["content"] for body in bodies]), schemas())


def with_references(names: set[str], known: Mapping[str, Schema]) -> set[str]:
    """Return the given names and the names of all schemas that the given schemas refer to, directly or indirectly."""
    while more := references([known[name] for name in names if name in known]) - names:
        names = names | more
    return names


def references(part: Any) -> set[str]:
    """Return the names of the schemas that a part of the document refers to."""
    return set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(part)))


def event_types() -> Mapping[str, Schema]:
    """Map each event type to its schema."""
    return {
        kind: hook["post"]["requestBody"]["content"]["application/json"]["schema"]
        for kind, hook in document()["webhooks"].items()
    }


def event_class(kind: str) -> str:
    """Return the class name of an event type, for example ``ConsentExpiredEvent`` for ``consent.expired``."""
    return EVENT_NAMES.get(kind) or "".join(word.capitalize() for word in re.split(r"[._]", kind)) + "Event"


def module_of(name: str) -> str:
    """Return the module of a schema's class."""
    if name in TEXTS or name in ALIASES:
        return f"{PACKAGE}.literals"
    if name in references(list(event_types().values())):
        return f"{PACKAGE}.event_models"
    version = re.search(r"V(\d)$", name)
    return f"{PACKAGE}.models_v{version[1]}" if version else f"{PACKAGE}.models"


@cache
def module_of_names() -> Mapping[str, str]:
    """Map each generated name to its module."""
    return {name: module_of(name) for name in (*schemas(), *ALIASES)}


def modules() -> dict[str, str]:
    """Return the names of the generated modules with their source code."""
    return {
        f"{PACKAGE}.literals": literals(),
        f"{PACKAGE}.models": models("models", "What calls take and answer at banks of any version."),
        f"{PACKAGE}.models_v1": models("models_v1", "What calls take and answer at banks of version 1."),
        f"{PACKAGE}.models_v2": models("models_v2", "What calls take and answer at banks of version 2."),
        f"{PACKAGE}.event_models": event_models(),
        f"{PACKAGE}.psu": psu(),
        f"{PACKAGE}.calls": calls(),
    }


def literals() -> str:
    """Return the source of the module of named enumerations."""
    choices = [
        source.alias(
            name, source.literal(values), schemas()[ALIASES[name][0]]["properties"][ALIASES[name][1]]["description"]
        )
        for values, name in named_choices().items()
    ]
    texts = [source.alias(name, "str", text) for name, text in TEXTS.items()]
    return source.module("Values that members can have.", [*choices, *texts], {})


def models(module: str, text: str) -> str:
    """Return the source of a generated module with dataclasses."""
    mine = [name for name in schemas() if module_of(name) == f"{PACKAGE}.{module}"]
    return source.module(text, map(record, mine), names_outside(module))


def record(name: str) -> str:
    """Return the source of a schema's dataclass."""
    schema = schemas()[name]
    bases = f"{METHODS[name][0]}, Record" if name in METHODS else "Record"
    return source.dataclass_source(name, schema["description"], types().members(name, schema), bases)


def names_outside(module: str) -> Mapping[str, str]:
    """Map the names that other modules define to their modules."""
    generated = {name: home for name, home in module_of_names().items() if home != f"{PACKAGE}.{module}"}
    return generated | dict(METHODS.values())


def event_models() -> str:
    """Return the source of the module of events and their data."""
    data = [name for name in schemas() if module_of(name) == f"{PACKAGE}.event_models"]
    events = [
        source.dataclass_source(event_class(kind), schema["description"], types().members(kind, schema))
        for kind, schema in event_types().items()
    ]
    classes = {kind: event_class(kind) for kind in event_types()}
    union = f"KnownEvent = {' | '.join(classes.values())}\n{source.docstring('An event of a type that is listed here')}"
    rows = "\n".join(f"    {kind!r}: {name}," for kind, name in classes.items())
    table = f"EVENTS: Mapping[str, type[KnownEvent]] = {{\n{rows}\n}}\n{source.docstring('The class of each type')}"
    parts = [*map(record, data), *events, union, table]
    return source.module("Events, and what they tell.", parts, names_outside("event_models"))


def psu_headers() -> dict[str, Schema]:
    """Map each attribute of ``Psu`` to the request header that contains the attribute's value."""
    found = document()["components"]["parameters"].values()
    return {
        snake_case(header["name"].removeprefix("PSU-").lower().replace("-", "_")): header
        for header in found
        if header["name"].startswith("PSU-")
    }


def psu() -> str:
    """Return the source of the module with the data about the PSU's request."""
    lines = [
        "@dataclass(frozen=True, slots=True, kw_only=True)",
        "class Psu:",
        source.docstring(
            "What the TPP knows of the PSU's request: passed to the bank, which assesses risks by it. A read with"
            " `ip_address` is attended; a bank may limit those without it to four a day",
            "    ",
        ),
        "",
    ]
    for name, header in psu_headers().items():
        lines += [f"    {name}: str | None = None", source.docstring(header["description"], "    ")]
    rows = "\n".join(f"    {name!r}: {header['name']!r}," for name, header in psu_headers().items())
    table = f"HEADERS: Mapping[str, str] = {{\n{rows}\n}}\n{source.docstring('The header of each attribute')}"
    return source.module("The request that the PSU sent to the TPP.", ["\n".join(lines), table], {})


def calls() -> str:
    """Return the source of the module of all calls."""
    rows = [call(path, method, operation) for path, method, operation in operations()]
    versions = [
        f"SCOPES_V{version} = frozenset({{{', '.join(map(repr, scopes))}}})\n"
        + source.docstring(f"The scopes of banks of version {version}")
        for version, scopes in scopes_of_versions().items()
    ]
    return source.module("All calls of the TPP API.", [*rows, *versions], {"Call": "causeway.tpp._call"})


def call(path: str, method: str, operation: Schema) -> str:
    """Return the source of one call's table row."""
    parameters = [resolve_parameter(parameter) for parameter in operation["parameters"]]
    headers = {parameter["name"] for parameter in parameters if parameter["in"] == "header"}
    security = operation.get("security", [])
    row: dict[str, Any] = {
        "operation": operation["operationId"],
        "method": method,
        "path": path,
        "query": tuple(parameter["name"] for parameter in parameters if parameter["in"] == "query"),
        "answers": tuple(answers(operation)),
        "form": "application/x-www-form-urlencoded" in operation.get("requestBody", {}).get("content", {}),
        "bearer": any({"bearer", "dpop"} & set(way) for way in security),
        "client": any(not {"bearer", "dpop"} & set(way) for way in security),
        "dpop": "DPoP" in headers,
        "psu": "PSU-IP-Address" in headers,
        "deferrable": "Prefer" in headers,
        "idempotency_key": "Idempotency-Key" in headers,
    }
    arguments = ", ".join(f"{name}={value!r}" for name, value in row.items() if value not in (False, ()))
    return f"{operation['operationId'].upper()} = Call({arguments})\n{source.docstring(operation['summary'])}"


def answers(operation: Schema) -> Iterator[str]:
    """Yield the classes of a call's responses as ``module.Class``."""
    for status, response in operation["responses"].items():
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if status in ("200", "201") and schema:
            for name in (option["$ref"].rsplit("/", 1)[-1] for option in schema.get("anyOf", [schema])):
                yield f"{module_of(name).rsplit('.', 1)[-1]}.{name}"


def resolve_parameter(parameter: Schema) -> Schema:
    """Return a parameter of a call. If it is a reference, return the referenced parameter."""
    if "$ref" not in parameter:
        return parameter
    found: Schema = document()["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[-1]]
    return found


def scopes_of_versions() -> dict[str, list[str]]:
    """Return the scopes of each version of the bank protocol, from the tables in the calls' descriptions.

    Raises:
        ValueError: the scopes in the tables differ from the document's scopes.
    """
    found: dict[str, list[str]] = {}
    for _, _, operation in operations():
        for version, cell in re.findall(r"^\| (\d) \| (.*?) \|", operation.get("description", ""), re.MULTILINE):
            scopes = found.setdefault(version, [])
            scopes += [scope for scope in re.findall(r"`([\w.]+)`", cell) if scope not in scopes]
    every = schemas()["BankScope"]["properties"]["scope"]["enum"]
    if sorted(scope for scopes in found.values() for scope in scopes) != sorted(every):
        raise ValueError(f"the scopes in the descriptions of the calls are not all scopes: {found}")
    return dict(sorted(found.items()))
