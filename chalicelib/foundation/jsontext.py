"""JSON without loss: digits stay as they were written, and nothing that is not JSON gets in.

Numbers with a fraction or an exponent become a ``Decimal`` that is written again as it was read. ``NaN`` and
``Infinity`` are refused, as are repeated members (two readers could take different ones) and nesting deeper than the
interpreter can follow.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NoReturn

import simplejson

DEPTH = 100
"""How deep lists and objects may be nested."""


class InvalidJson(ValueError):
    """The text is not JSON that can be read without loss; the message says why, without quoting it."""


class Number(Decimal):
    """A decimal number that remembers its spelling: ``1e5`` and ``0.0000001`` stay what they were."""

    text: str

    def __new__(cls, text: str) -> Number:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text


def loads(text: str | bytes) -> Any:
    """Raises: InvalidJson."""
    try:
        value = simplejson.loads(text, parse_float=Number, parse_constant=_refuse_constant, object_pairs_hook=_members)
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
    if _brackets(text) > DEPTH and _is_deeper(value, DEPTH):
        raise InvalidJson("nested too deeply")
    return value


def dumps(value: Any) -> str:
    """Compact JSON; ``Decimal`` keeps its digits."""
    text: str = simplejson.dumps(value, separators=(",", ":"), use_decimal=True)
    return text


def _brackets(text: str | bytes) -> int:
    return text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")


def _is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects are nested deeper than ``depth``; level by level, without recursion."""
    level = [value]
    for _ in range(depth + 1):
        containers = [each for each in level if isinstance(each, dict | list)]
        if not containers:
            return False
        level = [inner for each in containers for inner in (each.values() if isinstance(each, dict) else each)]
    return True


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise InvalidJson("a member is given twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not a JSON number")
