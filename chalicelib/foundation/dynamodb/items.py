"""Conversion of items between DynamoDB's typed values and plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

Item = dict[str, Any]


_EXACT = 10**38
"""Whole numbers below are exact in DynamoDB."""


class _Serializer(TypeSerializer):  # type: ignore[misc]
    """Converts the frequent types at once: boto3 compares a value with one type after another."""

    def serialize(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        if kind is str:
            return {"S": value}
        if kind is int and -_EXACT < value < _EXACT:
            return {"N": str(value)}
        if kind is dict:
            return {"M": {name: self.serialize(inner) for name, inner in value.items()}}
        converted: dict[str, Any] = super().serialize(value)
        return converted


class _Deserializer(TypeDeserializer):  # type: ignore[misc]
    """Converts whole numbers to ``int`` and binary values to ``bytes``, strings and numbers at once."""

    def deserialize(self, value: Mapping[str, Any]) -> Any:
        if "S" in value:
            return value["S"]
        return self._deserialize_n(value["N"]) if "N" in value else super().deserialize(value)

    def _deserialize_n(self, value: str) -> int | Decimal:
        return int(value) if value.lstrip("-").isdigit() else Decimal(value)

    def _deserialize_b(self, value: bytes) -> bytes:
        return value


serialize = _Serializer().serialize
_deserialize = _Deserializer().deserialize


def pack(item: Mapping[str, Any]) -> Item:
    return {name: {"S": value} if type(value) is str else serialize(value) for name, value in item.items()}


def unpack(item: Mapping[str, Any]) -> Item:
    return {name: value["S"] if "S" in value else _deserialize(value) for name, value in item.items()}


def find_item(items: Iterable[Item], key: Item) -> Item | None:
    """The item with this key."""
    return next((item for item in items if all(item.get(name) == value for name, value in key.items())), None)
