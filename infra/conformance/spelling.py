"""Serialises valid requests as unusual JSON, with extra white space, escaped letters, and amounts as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.foundation import jsontext

_AMOUNT = "amount"
_NUMBER = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?")
_HIGHEST = 0xFFFF
"""The highest character that a single JSON escape sequence can represent."""


def respell(members: Mapping[str, Any]) -> bytes:
    """Serialise ``members`` as JSON with an escaped letter in each text. An amount becomes a number if the conversion
    loses no digit.
    """
    return _spell(members).encode()


def _spell(value: Any, name: str = "") -> str:
    if isinstance(value, Mapping):
        return "{ " + " ,\n  ".join(f'"{each}" : {_spell(inner, each)}' for each, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[ " + " , ".join(_spell(each) for each in value) + " ]"
    if not isinstance(value, str):
        return jsontext.dumps(value)
    return value if name == _AMOUNT and _NUMBER.fullmatch(value) else _escape(value)


def _escape(text: str) -> str:
    first = f"\\u{ord(text[0]):04x}" if text and ord(text[0]) <= _HIGHEST else text[:1]
    rest = jsontext.dumps(text[1:])[1:-1].replace("/", "\\/")
    return f'"{first}{rest}"'
