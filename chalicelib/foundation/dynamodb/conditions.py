"""Conditions, key conditions and projections, and the expressions that represent them in DynamoDB requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chalicelib.foundation.dynamodb.items import serialize
from chalicelib.foundation.lazy_dataclasses import dataclass

_COMPARISON = "{0} {operator} {1}"
_FUNCTION = "{operator}({operands})"
_FORMATS = {
    "AND": "({0} AND {1})",
    "OR": "({0} OR {1})",
    "NOT": "(NOT {0})",
    "BETWEEN": "{0} BETWEEN {1} AND {2}",
    "IN": "{0} IN ({rest})",
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _COMPARISON),
}
"""The text formats of the operators. All operators without a format are functions."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An operator of DynamoDB's expressions and its operands: an attribute and values, or conditions."""

    operator: str
    operands: tuple[Any, ...]

    def __and__(self, other: Condition) -> Condition:
        return Condition("AND", (self, other))

    def __or__(self, other: Condition) -> Condition:
        return Condition("OR", (self, other))

    def __invert__(self) -> Condition:
        return Condition("NOT", (self,))


class _Operand:
    """An operand of an expression that has a value in an item and can be compared."""

    __slots__ = ()

    def eq(self, value: Any) -> Condition:
        return Condition("=", (self, value))

    def ne(self, value: Any) -> Condition:
        return Condition("<>", (self, value))

    def lt(self, value: Any) -> Condition:
        return Condition("<", (self, value))

    def lte(self, value: Any) -> Condition:
        return Condition("<=", (self, value))

    def gt(self, value: Any) -> Condition:
        return Condition(">", (self, value))

    def gte(self, value: Any) -> Condition:
        return Condition(">=", (self, value))

    def between(self, low: Any, high: Any) -> Condition:
        return Condition("BETWEEN", (self, low, high))

    def is_in(self, values: Sequence[Any]) -> Condition:
        return Condition("IN", (self, *values))


@dataclass(frozen=True, slots=True)
class Size(_Operand):
    """The number of members of an attribute, or the length of its text."""

    attribute: Attr


@dataclass(frozen=True, slots=True)
class Attr(_Operand):
    """An attribute of an item, by its full name."""

    name: str

    def exists(self) -> Condition:
        return Condition("attribute_exists", (self,))

    def not_exists(self) -> Condition:
        return Condition("attribute_not_exists", (self,))

    def begins_with(self, prefix: str) -> Condition:
        return Condition("begins_with", (self, prefix))

    def contains(self, value: Any) -> Condition:
        """Create the condition that a set or list contains this member, or that a text contains this substring."""
        return Condition("contains", (self, value))

    def size(self) -> Size:
        return Size(self)


class _Expressions:
    """Builds the expressions of one request, with a placeholder for each name and value."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def write(self, condition: Condition) -> str:
        operator = condition.operator
        operands = [self._operand(operand) for operand in condition.operands]
        rest, whole = ", ".join(operands[1:]), ", ".join(operands)
        return _FORMATS.get(operator, _FUNCTION).format(*operands, operator=operator, rest=rest, operands=whole)

    def _operand(self, operand: Any) -> str:
        if isinstance(operand, Condition):
            return self.write(operand)
        if isinstance(operand, Size):
            return f"size({self._operand(operand.attribute)})"
        if isinstance(operand, Attr):
            name = f"#n{len(self.names)}"
            self.names[name] = operand.name
            return name
        value = f":v{len(self.values)}"
        self.values[value] = serialize(operand)
        return value

    def members(self) -> dict[str, Any]:
        values = {"ExpressionAttributeValues": self.values} if self.values else {}
        return {"ExpressionAttributeNames": self.names, **values}


def condition_members(condition: Condition | None) -> dict[str, Any]:
    """Return the request members of a write with a condition."""
    if condition is None:
        return {}
    expressions = _Expressions()
    written = {"ConditionExpression": expressions.write(condition), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    return written | expressions.members()


def query_members(key: Condition, filter: Condition | None) -> dict[str, Any]:
    """Return the request members of a query: the condition of its keys, and a filter of the rows."""
    expressions = _Expressions()
    written = {"KeyConditionExpression": expressions.write(key)}
    if filter is not None:
        written["FilterExpression"] = expressions.write(filter)
    return written | expressions.members()


def projection_members(attributes: Sequence[str]) -> dict[str, Any]:
    """Return the request members of a read of some attributes."""
    names = {f"#p{number}": attribute for number, attribute in enumerate(attributes)}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
