"""Conditions and projections as members of DynamoDB requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boto3.dynamodb.conditions import ConditionBase, ConditionExpressionBuilder

from chalicelib.foundation.dynamodb.items import pack


def condition_members(condition: ConditionBase | None) -> dict[str, Any]:
    """The members of a write with a condition."""
    if condition is None:
        return {}
    expression, names, values = ConditionExpressionBuilder().build_expression(condition)
    request = {
        "ConditionExpression": expression,
        "ExpressionAttributeNames": names,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return request | ({"ExpressionAttributeValues": pack(values)} if values else {})


def query_members(key: ConditionBase, filter: ConditionBase | None) -> dict[str, Any]:
    """The members of a query: the condition of its keys, and a filter of the rows that it reads."""
    builder = ConditionExpressionBuilder()
    expression, names, values = builder.build_expression(key, is_key_condition=True)
    members: dict[str, Any] = {"KeyConditionExpression": expression}
    if filter is not None:
        members["FilterExpression"], more_names, more_values = builder.build_expression(filter)
        names, values = {**names, **more_names}, {**values, **more_values}
    return members | {"ExpressionAttributeNames": names, "ExpressionAttributeValues": pack(values)}


def projection_members(attributes: Sequence[str]) -> dict[str, Any]:
    """The members of a read of some attributes; none reads all."""
    if not attributes:
        return {}
    names = {f"#p{number}": attribute for number, attribute in enumerate(attributes)}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
