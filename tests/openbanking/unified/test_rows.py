"""Rows of the mapping, and the unified objects that they build."""

from typing import Any

import pytest

from chalicelib.openbanking.unified import values
from chalicelib.openbanking.unified.rows import Direction, Row, Shape, Sides, find

SIDES = Sides(payer="debtor", payee="creditor")
ENTRY: dict[str, Any] = {
    "id": "T-1",
    "amount": {"value": "-1.50", "day": "2026-01-31"},
    "debtor_name": "Ada",
    "creditor_name": "Corner Shop",
    "odd": 7,
    "blank": " ",
}


def test_object_has_the_members_of_its_rows_in_their_order() -> None:
    shape = Shape([Row("b", "id"), Row("amount.value", "amount.value", values.unsigned), Row("a", "missing")])

    built = shape.build(ENTRY)

    assert built == {"b": "T-1", "amount": {"value": "1.50"}, "a": None}
    assert list(built) == ["b", "amount", "a"]


def test_rows_of_one_nested_object_are_joined_where_it_first_occurs() -> None:
    shape = Shape([Row("x.y.a", "id"), Row("z", "id"), Row("x.b", "id"), Row("x.y.c", "id")])

    assert shape.build(ENTRY) == {"x": {"y": {"a": "T-1", "c": "T-1"}, "b": "T-1"}, "z": "T-1"}


@pytest.mark.parametrize("unusable", ["missing", "odd", "blank", "id.more", "amount", "amount.value.more"])
def test_first_row_with_a_usable_value_counts(unusable: str) -> None:
    assert Shape([Row("a", unusable), Row("a", "id"), Row("a", "debtor_name")]).build(ENTRY) == {"a": "T-1"}
    assert Shape([Row("a", unusable)]).build(ENTRY) == {"a": None}


def test_member_that_the_version_does_not_have_is_null() -> None:
    assert Shape([Row("bban")]).build({"bban": "1", "None": "2"}) == {"bban": None}


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("debit", {"own": "Ada", "other": "Corner Shop", "id": "T-1"}),
        ("credit", {"own": "Corner Shop", "other": "Ada", "id": "T-1"}),
        (None, {"own": None, "other": None, "id": "T-1"}),
    ],
)
def test_members_of_a_side_depend_on_the_direction(direction: Direction | None, expected: dict[str, Any]) -> None:
    shape = Shape([Row("own", "{own}_name"), Row("other", "{other}_name"), Row("id", "id")], SIDES)

    built = shape.build_directed(ENTRY, direction)

    assert built == expected
    assert set(shape.build(ENTRY)) == set(built)


def test_side_within_a_path_is_replaced() -> None:
    assert SIDES.at("more.{own}_account.iban", "debit") == "more.debtor_account.iban"
    assert SIDES.at("more.{other}_account.iban", "debit") == "more.creditor_account.iban"


def test_built_objects_share_nothing() -> None:
    shape = Shape([Row("amount.value", "amount.value")])
    first = shape.build(ENTRY)
    first["amount"]["value"] = "changed"

    assert shape.build(ENTRY) == {"amount": {"value": "-1.50"}}


ODD: list[Any] = [None, 7, "x", True, [], {}, [[]], [{"payer": []}]]


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ({"data": {"payer": {"iban": "A"}}}, "A"),
        ({"data": [{"payer": {"iban": "A"}}, {"payer": {"iban": "B"}}]}, "A"),
        ({"data": [None, 7, "x", [], {}, {"payer": None}, {"payer": "x"}, {"payer": {"iban": "A"}}]}, "A"),
        ({"data": [{"payee": {"iban": "B"}}, {"payer": {"iban": "A"}}]}, "A"),
        ({"data": [{"payer": {}}, {"payer": {"iban": "B"}}]}, None),
        ({"data": {"payer": [{"iban": "A"}]}}, None),
        ({"data": {"payer": {"iban": None}}}, None),
        *(({"data": odd}, None) for odd in ODD),
        *((odd, None) for odd in ODD),
    ],
)
def test_first_entry_of_a_list_that_has_the_object_counts(entry: Any, found: Any) -> None:
    assert find(entry, ("data", "payer", "iban")) == found
