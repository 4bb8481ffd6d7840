"""An API contract has one line for each operation, member, type, length, obligation, value and error code."""

from typing import Any

import pytest

from infra.render.contract.lines import LONG_LIST, LONG_PATTERN, contract

AMOUNT = {"type": "string", "minLength": 1, "maxLength": 10, "pattern": "^[0-9]+$", "description": "Text"}


def document(body: Any = None, response: Any = None, **schemas: Any) -> dict[str, Any]:
    content = {"content": {"application/json": {"schema": body}}} if body else None
    answer = {"content": {"application/json": {"schema": response}}} if response else {}
    operation = {"responses": {"200": answer}} | ({"requestBody": content} if content else {})
    return {"paths": {"/pay": {"post": operation}}, "components": {"schemas": schemas}}


def members(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties][:1]}


def test_an_operation_without_bodies_has_one_contract_line_and_one_line_for_each_status() -> None:
    assert contract(document()) == ["POST /pay", "POST /pay response 200  none"]


def test_a_member_line_has_type_length_pattern_and_obligation_but_no_description() -> None:
    lines = contract(document(members(amount=AMOUNT, note={"type": ["string", "null"]})))

    assert lines[1:4] == [
        "POST /pay request body  object, application/json, optional",
        "POST /pay request body.amount  string, length 1..10, pattern ^[0-9]+$, required",
        "POST /pay request body.note  string or null, optional",
    ]


@pytest.mark.parametrize(("required", "obligation"), [(True, "required"), (False, "optional")])
def test_a_request_body_line_states_whether_the_body_is_required(required: bool, obligation: str) -> None:
    made = document(members(amount=AMOUNT))
    made["paths"]["/pay"]["post"]["requestBody"]["required"] = required

    assert f"POST /pay request body  object, application/json, {obligation}" in contract(made)


def test_each_value_has_its_own_line_except_that_a_number_and_its_text_form_share_a_line() -> None:
    lines = contract(document(members(mode={"enum": ["fast", "slow"]}, flag={"enum": [1, "1", 0, "0"]})))

    assert lines[2:8] == [
        "POST /pay request body.mode  required",
        'POST /pay request body.mode  value "fast"',
        'POST /pay request body.mode  value "slow"',
        "POST /pay request body.flag  optional",
        'POST /pay request body.flag  value 1 or "1"',
        'POST /pay request body.flag  value 0 or "0"',
    ]


def test_a_long_list_of_values_is_one_line() -> None:
    values = [f"V{number}" for number in range(LONG_LIST + 1)]

    (line,) = [line for line in contract(document(members(country={"enum": values}))) if " value " in line]

    assert line.count('"V') == LONG_LIST + 1


def test_a_long_pattern_is_listed_once_under_a_name() -> None:
    long = {"type": "string", "pattern": "^" + "[a-z]" * LONG_PATTERN + "$"}
    lines = contract(document(members(a=long, b=long)))

    name = lines[-1].split()[1]
    assert lines[-1] == f"pattern {name}  {long['pattern']}"
    assert [line for line in lines if line.endswith(f"pattern {name}, required")] == [lines[2]]
    assert [line for line in lines if line.endswith(f"pattern {name}, optional")] == [lines[3]]


def test_list_items_and_nested_members_are_named_by_path() -> None:
    lines = contract(document(response=members(list={"type": "array", "maxItems": 9, "items": members(id=AMOUNT)})))

    assert [line.partition("  ")[0] for line in lines[2:]] == [
        "POST /pay response 200.list",
        "POST /pay response 200.list[]",
        "POST /pay response 200.list[].id",
    ]
    assert "array, items ..9, required" in lines[2]


def test_a_schema_that_several_members_use_is_listed_once() -> None:
    account = {"$ref": "#/components/schemas/Account"}
    lines = contract(document(members(debtor=account, creditor=account), Account=members(iban=AMOUNT)))

    assert lines[2:4] == [
        "POST /pay request body.debtor  Account, required",
        "POST /pay request body.creditor  Account, optional",
    ]
    assert [line for line in lines if line.startswith("Account")] == [
        "Account  object",
        "Account.iban  string, length 1..10, pattern ^[0-9]+$, required",
    ]


def test_each_error_code_of_a_status_has_a_line() -> None:
    made = document()
    error = {"$ref": "#/components/schemas/Error", "properties": {"code": {"enum": ["BUSY", "LATE"]}}}
    made["paths"]["/pay"]["post"]["responses"]["503"] = {"content": {"application/json": {"schema": error}}}
    made["components"]["schemas"]["Error"] = members(code={"type": "string"})

    assert contract(made)[2:] == [
        "POST /pay response 503  Error, application/json",
        'POST /pay response 503.code  value "BUSY"',
        'POST /pay response 503.code  value "LATE"',
        "Error  object",
        "Error.code  string, required",
    ]


def test_members_shared_by_all_actions_are_listed_once() -> None:
    actions = {name: members(key={"type": "string"}, action={"const": name}, id=AMOUNT) for name in ("one", "two")}
    actions["three"] = members(key={"type": "string"}, action={"const": "three"})
    references = [{"$ref": f"#/components/schemas/{name}"} for name in actions]
    mapping = {name: f"#/components/schemas/{name}" for name in actions}
    lines = contract(document({"oneOf": references, "discriminator": {"mapping": mapping}}, **actions))

    assert [line for line in lines if ".key" in line] == ["POST /pay request body(every).key  string, required"]
    assert 'POST /pay request body(two).action  = "two", optional' in lines
    assert [line.partition("  ")[0] for line in lines if ".id" in line] == [
        "POST /pay request body(one).id",
        "POST /pay request body(two).id",
    ]


def test_conditions_between_members_are_listed_as_rules() -> None:
    body = {**members(a={}, b={}), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}

    assert 'POST /pay request body  rule {"anyOf":[{"required":["a"]},{"required":["b"]}]}' in contract(document(body))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"maxLength": 10}, {"maxLength": 9}),
        ({"type": ["string", "null"]}, {"type": "string"}),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}),
        ({"pattern": f"^{'a' * LONG_PATTERN}$"}, {"pattern": f"^{'b' * LONG_PATTERN}$"}),
        ({"format": "uuid"}, {"format": "date"}),
        ({"minimum": 1}, {"minimum": 2}),
        ({"additionalProperties": True}, {"additionalProperties": False}),
        ({"default": "a"}, {"default": "b"}),
    ],
)
def test_a_changed_schema_keyword_changes_the_line_of_the_member(before: Any, after: Any) -> None:
    old, new = (contract(document(members(amount={"type": "string", **quality}))) for quality in (before, after))

    assert any(".amount" in line for line in {*old} - {*new})
