"""The OpenAPI documents are generated from the tables, and are valid and complete with valid examples."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from app import app
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.http.web import OTHERS
from chalicelib.openbanking.protocol import errors, own_answers
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS
from chalicelib.openbanking.protocol.errors import ADDED_CODES, ADDITIONAL, VERSION_1, VERSION_2
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, STATUS_PATH, FundsConfirmation
from chalicelib.openbanking.unified.calls import UNIFIED_PAYMENTS, UNIFIED_READS, UNIFIED_TRANSACTIONS
from chalicelib.openbanking.unified.payment_messages import BODIES
from chalicelib.openbanking.unified.stable_keys import stable_key, transaction_digest
from chalicelib.website.openapi_documents import DOCUMENTS
from infra.render.openapi.documents import DOCUMENTS as MADE
from infra.render.openapi.documents import load
from infra.render.openapi.models import model_of
from infra.render.openapi.own_calls import ACCEPTED_REQUEST, EVENTS, OWN_CALLS, answer_to_bank, webhooks_of

ENCODINGS = {"json": "application/json", "form": "application/x-www-form-urlencoded"}
METHODS = ("get", "post", "put", "patch", "delete")


@cache
def documents() -> dict[str, Any]:
    return {name: load(name) for name in DOCUMENTS}


def operations(document: Any, place: str = "paths") -> Iterator[tuple[str, str, Any]]:
    for path, item in document.get(place, {}).items():
        for method in METHODS:
            if method in item:
                yield method, path, item[method]


def resolved(document: Any, value: Any) -> Any:
    if not isinstance(value, dict) or "$ref" not in value:
        return value
    found = document
    for part in value["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return resolved(document, found)


def every(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        yield place, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from every(each, f"{place}/{key}")


def examples(document: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield every example with the schema of the example. Contents, parameters, headers and single members have
    examples.
    """
    for place, found in every(document):
        if "/example" in place:
            continue
        if "schema" in found:
            named = [resolved(document, each)["value"] for each in found.get("examples", {}).values()]
            for example in [*named, *([found["example"]] if "example" in found else [])]:
                yield place, found["schema"], example
        if isinstance(found.get("examples"), list):
            for example in found["examples"]:
                yield place, found, example


def test_exactly_the_served_documents_are_generated() -> None:
    assert set(MADE) == set(DOCUMENTS)


# -- Valid


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_openapi_3_1(name: str) -> None:
    OpenAPIV31SpecValidator(documents()[name]).validate()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_example_is_valid_against_the_schema(name: str) -> None:
    document = documents()[name]
    found = list(examples(document))

    assert len(found) > 200
    for place, schema, example in found:
        whole = {**schema, "components": document["components"]}
        problems = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER).iter_errors(example)
        assert [f"{place}: {problem.message}" for problem in problems] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_patterns_are_valid_in_javascript_with_and_without_the_flag_u(name: str) -> None:
    patterns = {found["pattern"] for _, found in every(documents()[name]) if isinstance(found.get("pattern"), str)}

    assert len(patterns) > 5
    for pattern in patterns:
        assert max(pattern) < "\U00010000"
        assert set(re.findall(r"\\(.)", pattern)) <= set("u^$\\.*+?()[]{}|/-"), pattern


def of_content(document: Any, holder: Any, kind: str = "application/json") -> list[Any]:
    content = resolved(document, holder)["content"][kind]
    named = [resolved(document, each)["value"] for each in content.get("examples", {}).values()]
    return [*named, *([content["example"]] if "example" in content else [])]


def read(model: type[Message], example: Any) -> None:
    model.read(jsontext.loads(json.dumps(example)))


def test_examples_of_tpp_calls_are_valid_against_the_models() -> None:
    document = documents()["tpp"]
    for own in OWN_CALLS:
        operation = document["paths"][own.path][own.method.lower()]
        for encoding in own.encodings if own.body else ():
            for example in of_content(document, operation["requestBody"], ENCODINGS[encoding]):
                assert own.body is not None
                read(own.body, example)
        for example in of_content(document, operation["responses"][str(own.status)]):
            read(own.answer, example)
    for rows, requests, responses in relayed(document):
        for (version, row), request, response in zip(rows.items(), requests, responses, strict=True):
            read(row.request, {name: value for name, value in request.items() if name != "bic"})
            read(row.answer if "funds_available" not in response else model_of(FundsConfirmation), response)
            assert version in (1, 2)


def relayed(document: Any) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    for call in [call for call in RELAYED if call.method == "POST"] + list(PAYMENTS):
        operation = document["paths"][call.path]["post"]
        answers = of_content(document, operation["responses"]["200"])
        requests = of_content(document, operation["requestBody"])
        yield webhooks_of(call), requests, answers * (len(requests) // len(answers))


def test_unified_payments_have_valid_examples_in_euros_and_in_pounds() -> None:
    document = documents()["tpp"]
    for call in UNIFIED_PAYMENTS:
        found = of_content(document, document["paths"][call.path]["post"]["requestBody"])
        for example in found:
            read(BODIES[call.kind], {name: value for name, value in example.items() if name != "bic"})
        assert [each.get("payments", [each])[0]["amount"]["currency"] for each in found] == ["EUR", "GBP"]


def test_the_example_of_a_stable_key_is_that_of_its_transaction() -> None:
    document = documents()["tpp"]
    (body,) = of_content(document, document["paths"][UNIFIED_TRANSACTIONS.path]["get"]["responses"]["200"])
    (transaction,) = body["transactions"]

    assert transaction["stable_key"] == stable_key(transaction_digest(body["account_id"], transaction), 1)


def test_examples_of_events_are_valid_by_their_models() -> None:
    document = documents()["tpp"]
    for name, row in EVENTS.items():
        for example in of_content(document, document["webhooks"][name]["post"]["requestBody"]):
            assert list(example) == ["type", "timestamp", "data"]
            assert example["type"] == name
            read(row.data, example["data"])


@pytest.mark.parametrize("version", [1, 2])
def test_examples_of_bank_calls_and_webhooks_are_valid_against_the_models(version: Any) -> None:
    document = documents()[f"bank-v{version}"]
    for call in [call for call in BANK_CALLS if call.name in VERSIONS[version].calls]:
        operation = document["paths"][f"{VERSIONS[version].base}{call.path}"]["post"]
        for example in of_content(document, operation["requestBody"]):
            read(VERSIONS[version].calls[call.name], example)
        for example in of_content(document, operation["responses"]["200"]):
            read(answer_to_bank(call.name, VERSIONS[version]), example)
    for row in VERSIONS[version].webhooks:
        operation = document["webhooks"][row.path.strip("/")]["post"]
        for example in of_content(document, operation["requestBody"]):
            read(row.request, example)
        for example in of_content(document, operation["responses"]["200"]):
            read(row.answer, example)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples_of_errors_are_valid_against_the_models(name: str) -> None:
    document = documents()[name]
    for example in document["components"].get("examples", {}).values():
        value = example["value"]
        shape: Any = errors.TokenError if "error" in value else errors.Error
        read(model_of(errors.ErrorV1 if "error_code" in value else shape), value)


# -- Complete


def routes() -> set[tuple[str, str]]:
    """Return the application's routes below the paths of the APIs, without catch-all routes and pages."""
    return {
        (method.lower(), path)
        for path, methods in app.routes.items()
        for method in methods
        if path.startswith(("/tpp", "/oauth", "/.well-known", "/bank/", "/api", "/simulator"))
        and path != "/.well-known/security.txt"
        and method != OTHERS
    }


def test_documents_describe_exactly_the_routes_of_the_application() -> None:
    described = {(method, path) for document in documents().values() for method, path, _ in operations(document)}

    assert described == routes()


@pytest.mark.parametrize("version", [1, 2])
def test_bank_documents_describe_exactly_the_webhooks(version: Any) -> None:
    described = {f"/{path}" for _, path, _ in operations(documents()[f"bank-v{version}"], "webhooks")}

    assert described == {row.path for row in VERSIONS[version].webhooks}


def test_the_tpp_document_describes_exactly_the_events() -> None:
    document = documents()["tpp"]
    names = [each["name"] for each in document["components"]["parameters"].values()]
    signed = event_signing.headers([event_signing.new_secret()], "event", 0, b"{}")

    assert [name for _, name, _ in operations(document, "webhooks")] == list(EVENTS)
    assert signed.keys() <= set(names)
    for _, _, operation in operations(document, "webhooks"):
        told = [resolved(document, each) for each in operation["parameters"]]
        assert [each["name"] for each in told if each["required"]] == list(signed)
        for each in told:
            Draft202012Validator(each["schema"]).validate(signed[each["name"]])


def test_exactly_the_relayed_calls_accept_respond_async() -> None:
    document = documents()["tpp"]
    prefers = {"$ref": "#/components/parameters/Prefer"}
    found = {path for _, path, operation in operations(document) if prefers in operation["parameters"]}

    reads = {call.path for call in (*RELAYED, *UNIFIED_READS)}
    assert found == reads | {call.path for call in (*PAYMENTS, *UNIFIED_PAYMENTS)} | {STATUS_PATH}
    for operation in [each for path in found for each in document["paths"][path].values()]:
        accepted = operation["responses"]["202"]
        assert {"Location", "Preference-Applied"} <= accepted["headers"].keys()
        assert "Retry-After" in operation["responses"]["502"]["headers"]
        (example,) = of_content(document, accepted)
        read(model_of(own_answers.Accepted), example)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_operation_schema_and_member_has_a_description(name: str) -> None:
    document = documents()[name]
    for place, item in every(document):
        parent = place.rpartition("/")[0].rpartition("/")[2]
        kind = place.rpartition("/")[2]
        if "operationId" in item:
            assert item["summary"], place
            assert item["description"], place
        is_rule = "/if/" in place or "/allOf/" in place or "code" in kind  # what a description elsewhere is about
        if parent in ("properties", "parameters", "headers") and "$ref" not in item and not is_rule:
            assert item.get("description"), place
    for schema in document["components"]["schemas"].values():
        assert schema["description"]
        assert all(member["description"] for member in schema.get("properties", {}).values())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_operation_ids_are_unique(name: str) -> None:
    document = documents()[name]
    names = [
        operation["operationId"] for place in ("paths", "webhooks") for *_, operation in operations(document, place)
    ]

    assert len(names) == len(set(names))


def given(document: Any) -> set[Any]:
    values = [example["value"] for example in document["components"]["examples"].values()]
    codes = {value.get("code", value.get("error_code")) for value in values}
    return codes | {error["code"] for value in values for error in value.get("additionalErrors", ())}


def test_every_error_code_of_version_1_occurs_in_the_bank_document() -> None:
    assert given(documents()["bank-v1"]) == VERSION_1.keys()


def test_every_error_code_of_version_2_occurs_in_the_documents() -> None:
    tpp, bank = given(documents()["tpp"]), given(documents()["bank-v2"])
    for_banks_only = {code for code in ADDITIONAL if code.startswith(("AUTHORIZATION", "INVALID_PAYMENT"))}
    for_banks_only -= {"AUTHORIZATION_SCOPE_DOES_NOT_EXIST", "AUTHORIZATION_SCOPE_NOT_CORRECT"}
    of_relaying = ADDED_CODES | {
        "ASPSP_UNKNOWN_ERROR",
        "ASPSP_ERROR_DESC",
        "PAYMENT_SCHEME_INVALID",
        "PARAMETER_NOT_CONSISTENT",
    }

    assert tpp == (VERSION_2.keys() | ADDITIONAL.keys()) - for_banks_only
    assert bank >= (VERSION_2.keys() | ADDITIONAL.keys()) - of_relaying - {"API_ACTION_DOES_NOT_EXIST"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_introduction_lists_every_error_code(name: str) -> None:
    text = documents()[name]["info"]["description"]
    version_2 = VERSION_2.keys() | ADDITIONAL.keys()
    of_banks = {"bank-v1": VERSION_1, "bank-v2": version_2 - ADDED_CODES}
    table: Any = (of_banks | {"cards": list(map(int, Status))}).get(name, version_2)

    assert [code for code in table if f"`{code}`" not in text] == []


def test_members_that_the_service_adds_are_required_for_banks_and_optional_for_tpps() -> None:
    tpp, one, two = (documents()[name]["components"]["schemas"] for name in ("tpp", "bank-v1", "bank-v2"))

    for name, member in (("PaymentsRequest", "record_count"), ("SinglePayment", "payment_scheme")):
        assert member in one[name]["required"]
        assert member not in tpp.get(f"{name}V1", {}).get("required", [])
    assert "page_size" in two["TransactionsRequest"]["required"]
    assert "payment_scheme" in two["BulkPayment"]["required"]
    assert "payment_scheme" not in tpp["BulkPaymentV2"]["required"]


def test_banks_can_send_identifiers_as_numbers_and_tpps_receive_text() -> None:
    tpp, one, two = (documents()[name]["components"]["schemas"] for name in ("tpp", "bank-v1", "bank-v2"))
    either = ["string", "integer"]

    for schemas, version in ((one, "V1"), (two, "V2")):
        assert schemas["InitiationAnswer"]["properties"]["payment_id"]["type"] == either
        assert tpp[f"InitiationAnswer{version}"]["properties"]["payment_id"]["type"] == "string"
        ids = schemas["SaveConsent"]["properties"]["account_ids" if version == "V1" else "accountIds"]
        assert ids["items"]["type"] == either
    assert one["PaymentsStatus"]["properties"]["payment_id"]["type"] == either
    assert two["PaymentsStatus"]["properties"]["paymentId"]["type"] == either
    for name in ("resource_id", "bban", "account_number", "sort_code"):
        assert two["AccountReference"]["properties"][name]["type"][:2] == either
        assert "integer" not in tpp["AccountReferenceV2"]["properties"][name]["type"]


@pytest.mark.parametrize("path", [STATUS_PATH, ACCEPTED_REQUEST])
def test_status_calls_of_direct_payments_need_no_bearer(path: str) -> None:
    ways = documents()["tpp"]["paths"][path]["get"]["security"]

    assert [way for way in ways if {"bearer", "dpop"} & way.keys()] == ways[:3]
    assert ways[3:] == documents()["tpp"]["paths"]["/tpp/banks"]["get"]["security"]
