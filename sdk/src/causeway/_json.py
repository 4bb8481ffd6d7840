"""Reads and writes JSON with exact decimals. A number with a decimal point becomes a ``Decimal``, never a float."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,9})?")
_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
"""A pattern for an unpaired surrogate, which UTF-8 cannot encode, or for the start of an escape sequence for one."""
MOST_DIGITS = 4300
"""The maximum number of digits of an integer, equal to Python's limit. Without a limit, an exponent could create a huge
integer from a few characters.
"""


def loads(text: str | bytes) -> Any:
    """Parse JSON. Raises ``ValueError`` for text that is invalid, not UTF-8, or too deeply nested."""
    text = text if isinstance(text, str) else text.decode()
    try:
        value = json.loads(text, parse_float=number, parse_constant=_refuse_constant)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False, default=str).encode()
        return value
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None


def number(text: str) -> Decimal:
    """Parse a JSON number. Raises ``ValueError`` if the text is not a number, or has more than 4300 digits."""
    if NUMBER.fullmatch(text) is None or abs(Decimal(text).adjusted()) > MOST_DIGITS:
        raise ValueError("this is not a number, or one with too many digits")
    return Decimal(text)


def dumps(value: Any) -> str:
    """Serialise to compact JSON. A ``Decimal`` becomes a number with all digits. A float raises ``TypeError``."""
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
    """Format all digits of a number without an exponent, for example ``100`` for ``Decimal("1E+2")``."""
    if not value.is_finite():
        raise ValueError(f"{value} is not a number that JSON can express")
    return format(value, "f")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
