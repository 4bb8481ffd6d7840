"""The size of items, by which DynamoDB charges writes.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

KILOBYTE = 1024
"""The unit of writes: a byte more costs twice as much."""


def item_size(item: Mapping[str, Any]) -> int:
    """The bytes of an item as DynamoDB takes it, such as ``{"id": {"N": "5"}}``."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    kind: str
    content: Any
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            digits = str(content).lstrip("-").replace(".", "").strip("0")
            return (len(digits) + 1) // 2 + 1 + str(content).startswith("-")
        case "B":
            return len(base64.b64decode(content))
        case "M":
            return 3 + sum(1 + len(name.encode()) + _value_size(inner) for name, inner in content.items())
        case "L":
            return 3 + sum(1 + _value_size(inner) for inner in content)
        case "BOOL" | "NULL":
            return 1
        case _:
            raise ValueError(f"the size of a value of the type {kind} is not known here")
