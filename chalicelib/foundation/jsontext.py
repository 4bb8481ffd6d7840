"""Lossless, strict JSON: digits stay as written, and only valid JSON is accepted.

Numbers with a fraction or an exponent become a ``Decimal`` that is written again as it was read. ``NaN`` and
``Infinity`` are refused, as are repeated members (two readers could take different ones) and nesting deeper than the
interpreter can follow.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import chain
from typing import Any, NoReturn

import simplejson

DEPTH = 100
"""The greatest nesting of lists and objects."""

_CONTAINERS = frozenset((dict, list))


class InvalidJson(ValueError):
    """The text is not JSON that can be read without loss; the message says why, without quoting it."""


class Number(Decimal):
    """A decimal number that keeps its spelling: ``1e5`` and ``0.0000001`` stay as written."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Number:
        number = Decimal.__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text


def loads(text: str | bytes) -> Any:
    """Raises: InvalidJson."""
    try:
        value = _DECODER.decode(text.decode() if isinstance(text, bytes) else text)
    except InvalidJson:
        raise
    except RecursionError:
        raise InvalidJson("nested too deeply") from None
    except UnicodeDecodeError:
        raise InvalidJson("not UTF-8") from None
    except simplejson.JSONDecodeError as error:
        raise InvalidJson(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except (ValueError, ArithmeticError):
        raise InvalidJson("a number is too long") from None
    if _is_deeper(value, DEPTH):
        raise InvalidJson("nested too deeply")
    return value


def dumps(value: Any) -> str:
    """Compact JSON, which can be written in UTF-8; ``Decimal`` keeps its digits."""
    text: str = _ENCODER.encode(value)
    return text if _is_utf_8(text) else str(_ESCAPING.encode(value))


def _is_utf_8(text: str) -> bool:
    """Whether ``text`` can be encoded in UTF-8: JSON may have an escaped lone surrogate, which cannot."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects are nested deeper than ``depth``; level by level, without recursion."""
    level: list[Any] = [[value]]
    for _ in range(depth + 1):
        level = [
            inner.values() if type(inner) is dict else inner
            for inner in chain.from_iterable(level)
            if type(inner) in _CONTAINERS
        ]
        if not level:
            return False
    return True


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise InvalidJson("a member is present twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not a JSON number")


_DECODER = simplejson.JSONDecoder(parse_float=Number, parse_constant=_refuse_constant, object_pairs_hook=_members)
_ENCODER = simplejson.JSONEncoder(separators=(",", ":"), use_decimal=True, ensure_ascii=False)
_ESCAPING = simplejson.JSONEncoder(separators=(",", ":"), use_decimal=True)
