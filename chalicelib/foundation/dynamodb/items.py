"""Conversion of items between DynamoDB's JSON and plain dictionaries, in one pass.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from decimal import Clamped, Context, Decimal, Inexact, Overflow, Rounded, Underflow
from typing import Any

Item = dict[str, Any]

_EXACT = 10**38
"""The limit below which DynamoDB stores whole numbers exactly."""
_NUMBERS = Context(prec=38, Emin=-128, Emax=126, traps=[Clamped, Overflow, Inexact, Rounded, Underflow])
"""A decimal context that accepts only numbers that DynamoDB stores exactly."""


def serialize(value: Any) -> dict[str, Any]:
    """Convert a value to DynamoDB's JSON. Raises: TypeError, decimal.DecimalException: the value cannot be stored."""
    kind = type(value)
    if kind is str:
        return {"S": value}
    if kind is int and -_EXACT < value < _EXACT:
        return {"N": str(value)}
    if kind is dict:
        return {"M": {name: serialize(inner) for name, inner in value.items()}}
    write = _WRITERS.get(kind)
    if write is None:
        raise TypeError(f"{kind.__name__} values are not supported")
    return write(value)


def _refuse_float(value: float) -> dict[str, Any]:
    raise TypeError("Float types are not supported. Use Decimal types instead.")


def _number(value: int | Decimal) -> str:
    number = _NUMBERS.create_decimal(value)
    if not number.is_finite():
        raise TypeError("Infinity and NaN are not supported")
    return str(number)


def _binary(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _set(members: frozenset[Any]) -> dict[str, Any]:
    kinds = {type(member) for member in members}
    for of, suffix, write in (({str}, "SS", str), ({int, Decimal}, "NS", _number), ({bytes}, "BS", _binary)):
        if kinds and kinds <= of:
            return {suffix: [write(member) for member in members]}
    raise TypeError("the members of a set are of one type: text, numbers or bytes")


_WRITERS: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    float: _refuse_float,
    bool: lambda value: {"BOOL": value},
    type(None): lambda _: {"NULL": True},
    int: lambda value: {"N": _number(value)},
    Decimal: lambda value: {"N": _number(value)},
    bytes: lambda value: {"B": _binary(value)},
    list: lambda value: {"L": [serialize(inner) for inner in value]},
    tuple: lambda value: {"L": [serialize(inner) for inner in value]},
    set: _set,
    frozenset: _set,
}


def _read_number(text: str) -> int | Decimal:
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)


def _deserialize(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    return content if kind == "S" else _READERS[kind](content)


def pack(item: Mapping[str, Any]) -> Item:
    return {name: {"S": value} if type(value) is str else serialize(value) for name, value in item.items()}


def unpack(item: Mapping[str, Any]) -> Item:
    return {name: value["S"] if "S" in value else _deserialize(value) for name, value in item.items()}


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "N": _read_number,
    "BOOL": bool,
    "NULL": lambda _: None,
    "B": base64.b64decode,
    "L": lambda members: [_deserialize(inner) for inner in members],
    "M": unpack,
    "SS": set,
    "NS": lambda members: {_read_number(member) for member in members},
    "BS": lambda members: {base64.b64decode(member) for member in members},
}
