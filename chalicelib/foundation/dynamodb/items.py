"""Conversion of items between DynamoDB's typed values and plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

Item = dict[str, Any]


class _Deserializer(TypeDeserializer):  # type: ignore[misc]
    """Converts whole numbers to ``int`` and binary values to ``bytes``."""

    def _deserialize_n(self, value: str) -> int | Decimal:
        return int(value) if value.lstrip("-").isdigit() else Decimal(value)

    def _deserialize_b(self, value: bytes) -> bytes:
        return value


serialize = TypeSerializer().serialize
_deserialize = _Deserializer().deserialize


def pack(item: Mapping[str, Any]) -> Item:
    return {name: {"S": value} if type(value) is str else serialize(value) for name, value in item.items()}


def unpack(item: Mapping[str, Any]) -> Item:
    return {name: value["S"] if "S" in value else _deserialize(value) for name, value in item.items()}


def find_item(items: Iterable[Item], key: Item) -> Item | None:
    """The item with this key."""
    return next((item for item in items if all(item.get(name) == value for name, value in key.items())), None)
