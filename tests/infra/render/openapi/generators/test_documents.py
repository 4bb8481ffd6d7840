"""A document for generators allows what the exact document allows: in requests no more, in responses no less."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV30SpecValidator

from infra.render.openapi.documents import DOCUMENTS, load, load_for_generators
from infra.render.openapi.generators.method_names import BANK_METHODS, TPP_METHODS
from tests.infra.render.openapi.generators.instances import instances, referenced

Json = dict[str, Any]
METHODS = ("get", "post")
EACH = pytest.mark.parametrize("name", DOCUMENTS)
FORBIDDEN = ("const", "not", "if", "then", "else", "dependentRequired", "examples", "webhooks")
PLAY = settings(max_examples=4, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


@cache
def exact(name: str) -> Json:
    return load(name)


@cache
def simple(name: str) -> Json:
    return load_for_generators(name)


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def every(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from every(each)


def schemas(document: Json) -> Iterator[Json]:
    """Yield all schemas of a document, including those inside schemas."""
    for found in every([document["paths"], document["components"]]):
        if "schema" in found:
            yield from _inside(found["schema"])
    for schema in document["components"]["schemas"].values():
        yield from _inside(schema)


def _inside(schema: Json) -> Iterator[Json]:
    yield schema
    for key in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(key, ()):
            yield from _inside(each)
    for each in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from _inside(each)


# -- What generators take


@EACH
def test_a_document_for_generators_is_openapi_3_0(name: str) -> None:
    assert simple(name)["openapi"] == "3.0.3"
    OpenAPIV30SpecValidator(simple(name)).validate()


@EACH
def test_a_schema_for_generators_has_one_type_and_no_conditions(name: str) -> None:
    for schema in schemas(simple(name)):
        assert not isinstance(schema.get("type"), list)
        assert not schema.keys() & set(FORBIDDEN)
        assert not {"format", "pattern"} <= schema.keys()
        assert ("items" in schema) is (schema.get("type") == "array")
        kinds = {type(value) for value in schema.get("enum", ()) if value is not None}
        assert len(kinds) == (1 if "enum" in schema else 0)


@EACH
def test_headers_for_generators_are_plain_strings(name: str) -> None:
    document = simple(name)
    found = [*document["components"]["headers"].values(), *document["components"]["parameters"].values()]

    for header in found:
        if header.get("in", "header") == "header":
            assert header["schema"].keys() <= {"type", "minLength", "maxLength", "pattern"}
            assert header["schema"]["type"] == "string"


@EACH
def test_operation_ids_for_generators_read_as_method_names(name: str) -> None:
    ids = [operation["operationId"] for *_, operation in operations(simple(name))]

    assert len(ids) == len(set(ids))
    nouns = {operation["operationId"] for *_, operation in operations(exact(name))} - {
        "authorize",
        "init_authorization",
    }
    assert not nouns & set(ids)


def test_the_tables_of_methods_list_the_operations_of_the_exact_documents() -> None:
    ids = {name: {each["operationId"] for *_, each in operations(exact(name))} for name in DOCUMENTS}

    assert ids["tpp"] == TPP_METHODS.keys()
    assert ids["bank-v1"] | ids["bank-v2"] == BANK_METHODS.keys()


def test_the_card_api_has_an_operation_for_each_action() -> None:
    paths = {
        f"{path}#{action}"
        for path, item in exact("cards")["paths"].items()
        for action in item["post"]["requestBody"]["content"]["application/json"]["schema"]["discriminator"]["mapping"]
    }

    assert simple("cards")["paths"].keys() == {*paths, "/events"}
    assert "/api#createCard" in paths


@EACH
def test_every_exact_operation_and_webhook_is_in_the_document_for_generators(name: str) -> None:
    paths = {path.partition("#")[0]: item for path, item in simple(name)["paths"].items()}
    webhooks = exact(name)["webhooks"]

    for path, method, _ in operations(exact(name)):
        assert method in paths[path]
    if name.startswith("bank"):
        assert {f"/{each}" for each in webhooks} <= paths.keys()
    else:
        assert simple(name)["components"]["schemas"]["Event"]["discriminator"]["mapping"].keys() == webhooks.keys()


# -- Requests: no more than the exact document allows


def validator(schema: Json, document: Json) -> Draft202012Validator:
    whole = {"allOf": [schema], "components": document["components"]}
    return Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)


def check(schema: Json, document: Json, against: Json, whole: Json) -> None:
    """Check that generated instances of a schema of a document are valid against a schema of another document."""
    judge = validator(against, whole)

    @PLAY
    @given(instances(schema, document))
    def run(instance: Any) -> None:
        assert [problem.message for problem in judge.iter_errors(instance)] == [], instance

    run()


def content(holder: Json) -> Json:
    found: Json = next(iter(holder["content"].values()))["schema"]
    return found


def _events(document: Json) -> Json:
    """Return the operation of a receiver of all events."""
    posts = [item["post"] for item in document["webhooks"].values()]
    body = {"content": {"application/json": {"schema": {"anyOf": [content(post["requestBody"]) for post in posts]}}}}
    return {"post": {**posts[0], "requestBody": body}}


def exact_operation(name: str, path: str, method: str) -> Json:
    document, (plain, _, action) = exact(name), path.partition("#")
    found: Json = (document["paths"].get(plain) or document["webhooks"].get(path[1:]) or _events(document))[method]
    if not action:
        return found
    title = f"{action[0].upper()}{action[1:]}"
    body = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{title}Request"}}}}
    refs = [{"$ref": f"#/components/schemas/{each}"} for each in (f"{title}Response", "ErrorResponse")]
    answer = {"content": {"application/json": {"schema": {"anyOf": refs}}}}
    return {**found, "requestBody": body, "responses": {"200": answer}}


def holders(name: str, sender: str) -> Iterator[tuple[Json, Json]]:
    """Yield the parts of operations that callers or the service send, with their exact counterparts."""
    for path, method, ours in operations(simple(name)):
        theirs = exact_operation(name, path, method)
        is_webhook = "servers" in simple(name)["paths"][path]
        if is_webhook is (sender == "service"):
            yield from [(ours, theirs)] if sender == "caller" else []
            yield ours.get("requestBody", {}), theirs.get("requestBody", {})
        else:
            yield from ((each, theirs["responses"][status]) for status, each in ours["responses"].items())


def schema_pairs(holder: Json, exact_holder: Json, name: str) -> Iterator[tuple[Json, Json]]:
    """Yield the schemas of a body or of each parameter, with their exact counterparts."""
    if "content" in holder:
        yield content(holder), content(exact_holder)
    theirs = {each["name"]: each for each in resolved(exact_holder, exact(name))}
    for each in resolved(holder, simple(name)):
        yield each["schema"], theirs[each["name"]]["schema"]


def resolved(operation: Json, document: Json) -> Iterator[Json]:
    for each in operation.get("parameters", ()):
        yield referenced(document, each["$ref"]) if "$ref" in each else each


def alternatives(schema: Json, document: Json) -> list[Json]:
    """Return the alternatives of a union, so that each is generated."""
    found = referenced(document, schema["$ref"]) if "$ref" in schema else schema
    branches: list[Json] = [] if "properties" in found else found.get("oneOf") or found.get("anyOf") or []
    return [each for branch in branches for each in alternatives(branch, document)] or [schema]


@EACH
def test_the_exact_document_allows_every_request_for_generators(name: str) -> None:
    for holder, exact_holder in holders(name, "caller"):
        for schema, against in schema_pairs(holder, exact_holder, name):
            for each in alternatives(schema, simple(name)):
                check(each, simple(name), against, exact(name))


# -- Responses: no less than the exact document allows


def as_json_schema(value: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as one of JSON Schema."""
    if isinstance(value, list):
        return [as_json_schema(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: as_json_schema(each) for key, each in value.items() if key not in ("nullable", "exclusiveMinimum")}
    if value.get("exclusiveMinimum") is True:
        found["exclusiveMinimum"] = found.pop("minimum")
    return {"anyOf": [found, {"type": "null"}]} if value.get("nullable") is True else found


@EACH
def test_a_client_reads_every_response_that_the_exact_document_allows(name: str) -> None:
    document = as_json_schema(simple(name))
    for holder, exact_holder in holders(name, "service"):
        for schema, against in schema_pairs(holder, exact_holder, name):
            for each in alternatives(against, exact(name)):
                check(each, exact(name), as_json_schema(schema), document)
            for example in next(iter(exact_holder.get("content", {"": {}}).values())).get("examples", {}).values():
                value = referenced(exact(name), example["$ref"]) if "$ref" in example else example
                assert validator(as_json_schema(schema), document).is_valid(value["value"])
