"""Every call of the TPP API has an SDK method with the documented parameters and return types."""

import inspect
import typing
from pathlib import Path
from typing import Any

import pytest

from causeway import tpp as package
from causeway._records import Record
from causeway.tpp import (
    AsyncConsent,
    AsyncNativeConsent,
    AsyncNativeTpp,
    AsyncTpp,
    Consent,
    NativeConsent,
    NativeTpp,
    Tpp,
)
from causeway.tpp._call import Call, load
from causeway.tpp._generated import calls
from infra.render.sdk import tpp as document

METHODS: dict[str, list[Any]] = {
    "authorize": [Tpp.authorize],
    "oauth_par": [Tpp.push_authorization],
    "token": [Tpp.exchange, Tpp.redeem, Tpp.redeem_callback, Consent.refresh],
    "oauth_introspect": [Tpp.introspect, Consent.introspect],
    "token_revoke": [Tpp.revoke, Consent.revoke],
    "scope": [Tpp.scopes],
    "banks": [Tpp.banks_page, Tpp.banks],
    "bank": [Tpp.bank],
    "consent": [Consent.details],
    "consents": [Tpp.consents_page, Tpp.consents],
    "events": [Tpp.events_page, Tpp.events],
    "requests": [Tpp.deferred, Consent.deferred],
    "well_known_oauth_authorization_server": [Tpp.server_metadata],
    "well_known_oauth_protected_resource": [Tpp.resource_metadata],
    "well_known_jwks_json": [Tpp.keys],
    "oauth_authorize": [Tpp.authorization_url],
    "unified_accounts": [Consent.accounts_answer, Consent.accounts],
    "unified_account": [Consent.account],
    "unified_balances": [Consent.balances],
    "unified_transactions": [Consent.transactions_page, Consent.transactions_pages, Consent.transactions],
    "unified_funds_confirmations": [Consent.confirm_funds],
    "unified_payments": [Consent.pay],
    "unified_bulk_payments": [Consent.pay_bulk],
    "unified_direct_payments": [Tpp.pay_direct],
    "unified_payment_status": [Consent.payment_status, Consent.wait_for_payment],
    "accounts": [NativeConsent.accounts_answer, NativeConsent.accounts],
    "account": [NativeConsent.account],
    "account_balance": [NativeConsent.balances],
    "account_payments": [NativeConsent.payments_page, NativeConsent.payments],
    "account_payment": [NativeConsent.payment],
    "account_transactions": [
        NativeConsent.transactions_page,
        NativeConsent.transactions_pages,
        NativeConsent.transactions,
    ],
    "funds_confirmations": [NativeConsent.confirm_funds],
    "payment_initiation": [NativeConsent.pay],
    "bulk_payment_initiation": [NativeConsent.pay_bulk],
    "direct_payment_initiation": [NativeTpp.pay_direct],
    "payment_status": [NativeConsent.payment_status, NativeConsent.wait_for_payment],
}
"""The SDK methods of each API call. The first method has all parameters of the call."""
OTHERWISE = {
    "scope": "scopes",
    "authorization_code": "code",
    "code_challenge": "code_verifier",
    "code_challenge_method": "code_verifier",
    "X-Request-Id": "request_id",
    "Idempotency-Key": "idempotency_key",
    "Prefer": "prefer_async",
    "PSU-IP-Address": "psu",
}
"""Parameters that a method has under another name, or computes from it."""
OF_UNIFIED_CALLS = {"account_id": "account", "from": "since", "to": "until"}
"""Parameters that a method of a unified call has under another name."""
HANDLES = {"Tpp": "tpp", "Directory": "tpp", "Consent": "consent", "Payer": "consent"}
"""The README's names for objects of each class."""
BY_ITSELF = {
    *("client_id", "client_secret", "client_assertion", "client_assertion_type", "grant_type", "response_type"),
    *("DPoP", "dpop_jkt"),
}
NOT_OFFERED = {"chosen_bic": "only the hub's own page sends it", "token_type_hint": "ignored by the hub"}
"""The parameters that the SDK omits, each with the reason."""
README = (Path(__file__).parents[2] / "sdk" / "README.md").read_text("utf-8")
OPERATIONS = {operation["operationId"]: operation for _, _, operation in document.operations()}
TABLE = {name: call for name, call in vars(calls).items() if isinstance(call, Call)}


def test_every_call_of_the_api_has_an_sdk_method_and_a_test_case() -> None:
    assert set(METHODS) == set(OPERATIONS) == {call.operation for call in TABLE.values()}


def is_native(operation: str) -> bool:
    return str(METHODS[operation][0].__qualname__).startswith("Native")


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if is_native(each)])
def test_the_docstring_of_a_native_method_names_its_call(operation: str) -> None:
    assert f"(``{row(operation).method} {row(operation).path}``)" in str(METHODS[operation][0].__doc__)


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if not is_native(each)])
def test_the_readme_lists_every_call_with_its_sdk_methods(operation: str) -> None:
    path = row(operation).path
    known = "/.well-known/…" if path.startswith("/.well-known/") else path
    (told,) = [line for line in README.splitlines() if f"`{row(operation).method} {known}`" in line]

    for found in METHODS[operation]:
        owner = HANDLES[found.__qualname__.partition(".")[0]]
        assert f"`{owner}.{found.__name__}`" in told, found.__qualname__


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_sdk_method_has_every_parameter_of_its_call(operation: str) -> None:
    taken = set(inspect.signature(METHODS[operation][0]).parameters)

    assert expected_parameters(operation) <= taken


def expected_parameters(operation: str) -> set[str]:
    """Return the names of a call's query parameters, and of the members of a form or a small body."""
    description = OPERATIONS[operation]
    parameters = [document.resolve_parameter(parameter) for parameter in description["parameters"]]
    names = {parameter["name"] for parameter in parameters if parameter["in"] != "header"}
    headers = {parameter["name"] for parameter in parameters if parameter["in"] == "header"}
    names |= headers & {"Idempotency-Key", "Prefer", "PSU-IP-Address"}
    for content in description.get("requestBody", {}).get("content", {}).values():
        if not takes_order(operation):
            names |= set(document.document()["components"]["schemas"][class_of(content)]["properties"])
    names -= BY_ITSELF | set(NOT_OFFERED)
    known = OTHERWISE | (OF_UNIFIED_CALLS if operation.startswith("unified_") else {})
    known |= {"scope": "scope"} if operation == "banks" else {}
    if operation == "token":
        names.discard("scope")
    return {known.get(name, name) for name in names}


def takes_order(operation: str) -> bool:
    """Return whether the method takes the body as one object."""
    return bool({"order", "request"} & set(inspect.signature(METHODS[operation][0]).parameters))


def class_of(content: Any) -> str:
    return str(content["schema"]["$ref"]).rsplit("/", 1)[-1]


@pytest.mark.parametrize("operation", [operation for operation in OPERATIONS if takes_order(operation)])
def test_the_order_types_of_the_sdk_match_the_documented_bodies(operation: str) -> None:
    (content,) = OPERATIONS[operation]["requestBody"]["content"].values()
    options = content["schema"].get("anyOf", [content["schema"]])
    hints = hints_of(METHODS[operation][0])
    order = hints.get("order") or hints["request"]

    assert {kind.__name__ for kind in typing.get_args(order) or [order]} == {
        option["$ref"].rsplit("/", 1)[-1] for option in options
    }


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_an_sdk_method_returns_the_documented_classes(operation: str) -> None:
    hint = hints_of(METHODS[operation][0])["return"]
    expected = {load(name) for name in row(operation).answers}

    if operation == "token_revoke":
        assert hint is type(None)
    elif operation == "oauth_authorize":
        assert hint is str
    else:
        assert set(typing.get_args(hint) or [hint]) == expected


def row(operation: str) -> Call:
    return TABLE[operation.upper()]


def hints_of(method: Any) -> dict[str, Any]:
    """Return a method's annotations. The module of the method imports their names only for type checkers."""
    return typing.get_type_hints(method, vars(typing) | method.__globals__ | exported())


def exported() -> dict[str, Any]:
    return {name: getattr(package, name) for name in package.__all__}


@pytest.mark.parametrize(
    ("one", "other"),
    [(Tpp, AsyncTpp), (Consent, AsyncConsent), (NativeTpp, AsyncNativeTpp), (NativeConsent, AsyncNativeConsent)],
)
def test_both_clients_have_the_same_methods_with_the_same_parameters(one: type, other: type) -> None:
    def signatures(kind: type) -> dict[str, list[str]]:
        found = {name: member for name, member in inspect.getmembers(kind, callable) if not name.startswith("_")}
        names = {"aclose": "close"}
        return {names.get(name, name): list(inspect.signature(member).parameters) for name, member in found.items()}

    assert signatures(one) == signatures(other)


@pytest.mark.parametrize("name", sorted(name for name, one in document.schemas().items() if one["type"] == "object"))
def test_documented_examples_of_a_schema_are_parsed_and_serialized(name: str) -> None:
    """The test builds an object from the examples of the schema's members."""
    schema = document.schemas()[name]
    examples = {member: example(part) for member, part in schema.get("properties", {}).items()}
    record = getattr(package, name).from_json(examples)

    assert isinstance(record, Record)
    assert record.extra == {}
    assert comparable(record.to_json()) == comparable(examples)


def example(schema: Any) -> Any:
    if schema.get("examples"):
        return schema["examples"][0]
    if "$ref" in schema:
        found = document.document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
        return example(found) if "properties" not in found else {k: example(v) for k, v in found["properties"].items()}
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if schema.get("additionalProperties") is True:
        return {"resource_id": "4711001"}
    if "const" in schema or "enum" in schema:
        return schema.get("const") or schema["enum"][0]
    if "array" in schema["type"]:
        return [example(schema["items"])]
    raise AssertionError(f"no example of {schema}")


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: comparable(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return value if isinstance(value, bool) else str(value)
