"""JSON with exact decimals: a number with a point becomes a ``Decimal``, never a binary float."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def loads(text: str | bytes) -> Any:
    """Parse JSON. Raises ``ValueError`` if it is none, ``NaN`` and ``Infinity`` included."""
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant)


def dumps(value: Any) -> str:
    """Compact JSON. A ``Decimal`` is written as a number with all its digits; a float raises ``TypeError``."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_text(name)}:{dumps(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(dumps(item) for item in value) + "]"
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, float):
        raise TypeError("a binary float is not exact: use decimal.Decimal")
    return _text(value)


def plain(value: Decimal) -> str:
    """All digits of a number, without an exponent: ``Decimal("1E+2")`` is ``100``."""
    if not value.is_finite():
        raise ValueError(f"{value} is not a number that JSON can express")
    return format(value, "f")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
