"""Evaluates a condition for an item that was read, with DynamoDB's rules."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from chalicelib.foundation.dynamodb.conditions import Attr, Condition, Size
from chalicelib.foundation.dynamodb.items import Item

_MISSING = object()
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(condition: Condition | None, item: Item | None) -> bool:
    """Whether a write with this condition would be applied to ``item``; ``None`` represents a missing item."""
    return condition is None or _holds(condition, item or {})


def _holds(condition: Condition, item: Item) -> bool:
    match condition.operator, condition.operands:
        case "AND", (first, second):
            return _holds(first, item) and _holds(second, item)
        case "OR", (first, second):
            return _holds(first, item) or _holds(second, item)
        case "NOT", (negated,):
            return not _holds(negated, item)
        case "attribute_exists", (attribute,):
            return attribute.name in item
        case "attribute_not_exists", (attribute,):
            return attribute.name not in item
        case name, (compared, *operands):
            return _compare(name, _value(compared, item), operands)
    raise ValueError(f"unknown condition: {condition}")


def _compare(name: str, value: Any, operands: list[Any]) -> bool:
    match name:
        case "=":
            return _equals(value, operands[0])
        case "<>":
            return not _equals(value, operands[0])
        case "IN":
            return any(_equals(value, each) for each in operands)
        case "BETWEEN":
            return _is_ordered(">=", value, operands[0]) and _is_ordered("<=", value, operands[1])
        case "begins_with":
            return _is_text(value, operands[0]) and value.startswith(operands[0])
        case "contains":
            return _contains(value, operands[0])
        case _:
            return _is_ordered(name, value, operands[0])


def _value(compared: Attr | Size, item: Item) -> Any:
    if isinstance(compared, Attr):
        return item.get(compared.name, _MISSING)
    value = item.get(compared.attribute.name, _MISSING)
    return len(value) if isinstance(value, str | bytes | list | dict | set | frozenset) else _MISSING


def _equals(value: Any, other: Any) -> bool:
    return value is not _MISSING and _kind(value) is _kind(other) and bool(value == other)


def _is_ordered(name: str, value: Any, other: Any) -> bool:
    kind = _kind(value)
    return kind is _kind(other) and kind in (str, bytes, Decimal) and _ORDERS[name](value, other)


def _is_text(value: Any, other: Any) -> bool:
    return _kind(value) is _kind(other) and isinstance(value, str | bytes)


def _contains(value: Any, part: Any) -> bool:
    if isinstance(value, str | bytes):
        return _is_text(value, part) and part in value
    return isinstance(value, list | set | frozenset) and any(_equals(each, part) for each in value)


def _kind(value: Any) -> type:
    if isinstance(value, bool) or value is None or value is _MISSING:
        return type(value)
    if isinstance(value, int | Decimal):
        return Decimal
    return frozenset if isinstance(value, set | frozenset) else type(value)
