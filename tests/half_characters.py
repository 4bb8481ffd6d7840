"""Half of a surrogate pair, which is no text: JSON can express it as an escape, and UTF-8 cannot encode it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

HALF = "\ud800"
ESCAPED = r"\ud800"
"""As JSON writes it."""


def spoil(value: Any) -> Iterator[Any]:
    """The value with half a character in place of each of its members, names and items, one at a time."""
    yield HALF
    if isinstance(value, dict):
        yield value | {HALF: None}
        for name, member in value.items():
            others = {other: each for other, each in value.items() if other != name}
            yield {**others, name + HALF: member}
            yield from ({**others, name: each} for each in spoil(member))
    elif isinstance(value, list):
        for position, member in enumerate(value):
            yield from ([*value[:position], each, *value[position + 1 :]] for each in spoil(member))
    elif isinstance(value, str):
        yield value + HALF
