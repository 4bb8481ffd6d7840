"""Conditions between members become alternatives that exclude each other."""

import re
from typing import Any

import pytest

from infra.render.openapi.generators.alternatives import alternatives

STRING = {"type": "string"}
PRINTABLE = {"type": "string", "pattern": r"^[^\u0000-\u001f]*$"}


def account(**conditions: Any) -> dict[str, tuple[set[str], set[str]]]:
    """Return the mandatory and the optional members of each alternative of an account."""
    schema = {
        "type": "object",
        "properties": {"name": STRING, "iban": PRINTABLE, "number": STRING, "kind": {"enum": ["0", "1"]}},
        "required": ["name"],
    }
    found = alternatives("Account", schema, conditions)
    return {name: (set(each["required"]), each["properties"].keys() - each["required"]) for name, each in found.items()}


def test_one_of_two_members_becomes_two_alternatives_named_after_them() -> None:
    assert account(anyOf=[{"required": ["iban"]}, {"required": ["number"]}]) == {
        "AccountWithNumber": ({"name", "number"}, {"kind"}),
        "AccountWithIban": ({"name", "iban"}, {"number", "kind"}),
    }


def test_a_member_that_needs_another_is_absent_without_it() -> None:
    assert account(dependentRequired={"iban": ["number"]}) == {
        "AccountOtherwise": ({"name"}, {"number", "kind"}),
        "AccountWithIban": ({"name", "iban", "number"}, {"kind"}),
    }


def test_a_member_that_a_value_needs_is_mandatory_with_that_value_only() -> None:
    condition = {"required": ["kind"], "properties": {"kind": {"enum": [1, "1"]}}}

    assert account(**{"if": condition, "then": {"required": ["iban"]}}) == {
        "AccountOtherwise": ({"name"}, {"iban", "number", "kind"}),
        "AccountWithKind1": ({"name", "iban", "kind"}, {"number"}),
    }


def test_members_that_exclude_each_other_are_never_in_one_alternative() -> None:
    assert account(**{"not": {"required": ["iban", "number"]}}) == {
        "AccountOtherwise": ({"name"}, {"number", "kind"}),
        "AccountWithIban": ({"name", "iban"}, {"kind"}),
    }


def test_the_values_of_an_alternative_are_limited() -> None:
    schema = {"properties": {"kind": {"enum": ["0", "1"]}, "iban": PRINTABLE}}
    condition = {"if": {"properties": {"kind": {"enum": ["1"]}}, "required": ["kind"]}, "then": {"required": ["iban"]}}

    found = alternatives("Account", schema, condition)

    assert [each["properties"]["kind"]["enum"] for each in found.values()] == [["0"], ["1"]]


@pytest.mark.parametrize("text", ["", "   "])
def test_a_member_that_an_alternative_needs_is_not_blank(text: str) -> None:
    schema = {"properties": {"iban": PRINTABLE, "number": STRING}}
    found = alternatives("Account", schema, {"anyOf": [{"required": ["iban"]}, {"required": ["number"]}]})

    pattern = found["AccountWithIban"]["properties"]["iban"]["pattern"]
    assert not re.search(pattern, text)
    assert re.search(pattern, " a b ")
