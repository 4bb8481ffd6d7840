"""Lossless, strict JSON: numbers retain their digits, and only valid JSON is accepted.

Numbers with a fraction or an exponent, and ``-0``, become a ``Decimal`` that is serialised in its original notation.
The parser refuses ``NaN`` and ``Infinity``, duplicate members (which parsers interpret differently), nesting deeper
than ``DEPTH``, and unpaired surrogates (which JSON can express as escapes, but UTF-8 cannot encode).
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from decimal import Decimal
from itertools import chain
from typing import Any, NoReturn

import simplejson

DEPTH = 100
"""The maximum nesting depth of lists and objects."""

_CONTAINERS = frozenset((dict, list))
_PLAIN_NAME = re.compile("[A-Za-z_]{1,40}[0-9]{0,2}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""A regular expression for the start of a JSON escape that represents a surrogate."""


class InvalidJson(ValueError):
    """The text is not valid JSON or cannot be parsed without loss. The message quotes only a plain member name."""


class Number(Decimal):
    """A decimal number that retains its original notation, for example ``1e5`` or ``0.0000001``."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Number:
        number = Decimal.__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text


def loads(text: str | bytes) -> Any:
    """Parse JSON from another party. A byte order mark is ignored (RFC 8259 §8.1). Raises: InvalidJson."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        marked = isinstance(text, bytes) and text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        raise InvalidJson("it begins with a byte order mark of UTF-16" if marked else "it is not UTF-8") from None
    if not text:
        raise InvalidJson("it is empty")
    value = read_stored(text)
    if not is_utf_8(text) or ("\\u" in text and _SURROGATE.search(text) and not is_utf_8(_ENCODER.encode(value))):
        raise InvalidJson("it is not UTF-8: it has half of a surrogate pair")
    return value


def read_stored(text: str) -> Any:
    """Parse JSON that this service stored. Unpaired surrogates are accepted, because earlier versions stored them as
    escapes.

    Raises:
        InvalidJson.
    """
    try:
        value = _DECODER.decode(text)
    except InvalidJson:
        raise
    except RecursionError:
        raise InvalidJson("it is nested too deeply") from None
    except simplejson.JSONDecodeError as error:
        raise InvalidJson(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except (ValueError, ArithmeticError):
        raise InvalidJson("it has a number that is too long") from None
    if _is_too_deep(value):
        raise InvalidJson("it is nested too deeply")
    return value


def dumps(value: Any) -> str:
    """Serialise to compact JSON that can be encoded as UTF-8. ``Decimal`` values retain their digits."""
    text: str = _ENCODER.encode(value)
    return text if is_utf_8(text) else str(_ESCAPING.encode(value))


def is_utf_8(text: str) -> bool:
    """Whether UTF-8 can encode ``text``. A text with an unpaired surrogate cannot be encoded."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _is_too_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than ``DEPTH``, checked without recursion."""
    level: list[Any] = [[value]]
    for _ in range(DEPTH + 1):
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
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidJson(f"it has {f'the member {name}' if _PLAIN_NAME.fullmatch(name) else 'a member'} twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJson(f"it has {name}, which is not a JSON number")


_DECODER = simplejson.JSONDecoder(
    parse_float=Number,
    parse_int=lambda text: Number(text) if text == "-0" else int(text),
    parse_constant=_refuse_constant,
    object_pairs_hook=_members,
)
_ENCODER = simplejson.JSONEncoder(separators=(",", ":"), use_decimal=True, ensure_ascii=False)
_ESCAPING = simplejson.JSONEncoder(separators=(",", ":"), use_decimal=True)
