"""Every supported DynamoDB condition has the same serialised form as in boto3."""

from collections.abc import Callable
from typing import Any

import boto3.dynamodb.conditions as boto3_conditions
import pytest
from boto3.dynamodb.conditions import ConditionExpressionBuilder
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.dynamodb.conditions import Attr, Condition, Size, condition_members, query_members
from chalicelib.foundation.dynamodb.items import pack

COMPARISONS = ("eq", "ne", "lt", "lte", "gt", "gte")
FUNCTIONS = ("exists", "not_exists", "begins_with", "contains", "between", "is_in")
Build = Callable[[Any], Any]
"""A function that builds a condition from the service's ``Attr`` or from boto3's ``Attr``."""

names = st.sampled_from(["state", "due_at", "#n0"])
values = st.one_of(st.text(max_size=3), st.integers(), st.booleans(), st.none())


def comparison(operator: str, name: str, value: object, *, sized: bool) -> Build:
    def build(attribute: Any) -> Any:
        compared = attribute(name).size() if sized and operator != "ne" else attribute(name)
        return getattr(compared, operator)(value)

    return build


def function(operator: str, name: str, arguments: list[object]) -> Build:
    def build(attribute: Any) -> Any:
        match operator:
            case "exists" | "not_exists":
                return getattr(attribute(name), operator)()
            case "between":
                return attribute(name).between(arguments[0], arguments[-1])
            case "is_in":
                return attribute(name).is_in(arguments)
            case _:
                return getattr(attribute(name), operator)(arguments[0])

    return build


def joined(left: Build, right: Build, operator: str) -> Build:
    def build(attribute: Any) -> Any:
        match operator:
            case "and":
                return left(attribute) & right(attribute)
            case "or":
                return left(attribute) | right(attribute)
            case _:
                return ~left(attribute)

    return build


conditions = st.recursive(
    st.one_of(
        st.builds(comparison, st.sampled_from(COMPARISONS), names, values, sized=st.booleans()),
        st.builds(function, st.sampled_from(FUNCTIONS), names, st.lists(values, min_size=1, max_size=3)),
    ),
    lambda inner: st.builds(joined, inner, inner, st.sampled_from(["and", "or", "not"])),
    max_leaves=6,
)


@given(conditions)
def test_a_dynamodb_condition_has_the_serialised_form_of_boto3(build: Build) -> None:
    expression, placeholders, values = ConditionExpressionBuilder().build_expression(build(boto3_conditions.Attr))
    members = condition_members(build(Attr))

    assert members.pop("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    assert members.pop("ExpressionAttributeValues", {}) == pack(values)
    assert members == {"ConditionExpression": expression, "ExpressionAttributeNames": placeholders}


@given(conditions)
def test_a_query_with_a_filter_uses_each_placeholder_only_once(build: Build) -> None:
    builder, attribute = ConditionExpressionBuilder(), boto3_conditions.Attr
    key, key_names, key_values = builder.build_expression(attribute("id").eq("1"))
    filtered, filter_names, filter_values = builder.build_expression(build(attribute))

    assert query_members(Attr("id").eq("1"), build(Attr)) == {
        "KeyConditionExpression": key,
        "FilterExpression": filtered,
        "ExpressionAttributeNames": {**key_names, **filter_names},
        "ExpressionAttributeValues": pack({**key_values, **filter_values}),
    }


@pytest.mark.parametrize(
    "key",
    [
        lambda made: made("id").eq("1"),
        lambda made: made("id").eq("1") & made("part").begins_with("a#"),
        lambda made: made("id").eq("1") & made("at").between(1, 2),
    ],
)
def test_dynamodb_key_conditions_have_the_serialised_form_of_boto3(key: Build) -> None:
    builder = ConditionExpressionBuilder()
    expression, placeholders, values = builder.build_expression(key(boto3_conditions.Key), is_key_condition=True)

    assert query_members(key(Attr), None) == {
        "KeyConditionExpression": expression,
        "ExpressionAttributeNames": placeholders,
        "ExpressionAttributeValues": pack(values),
    }


def test_a_write_without_a_condition_sends_no_condition_members_to_dynamodb() -> None:
    assert condition_members(None) == {}


def test_dynamodb_conditions_are_compared_and_hashed_by_value() -> None:
    made = Attr("state").eq("open") & Attr("tags").size().lt(5)

    assert made == Condition("AND", (Attr("state").eq("open"), Condition("<", (Size(Attr("tags")), 5))))
    assert len({made, Attr("state").eq("open") & Attr("tags").size().lt(5)}) == 1
