"""The base class of all generated dataclasses, which converts them from and to JSON based on their annotations."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from causeway import _json

Convert = Callable[[Any], Any]
_KNOWN_MEMBERS: dict[type, tuple[tuple[str, str, Callable[[Any], Any], bool], ...]] = {}


class RecordError(ValueError):
    """The JSON does not match its dataclass. The message names the member that is missing or of the wrong type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A JSON object with known members. ``extra`` contains all unknown members without changes."""

    NAMES: ClassVar[Mapping[str, str]] = {}
    """The JSON names of members whose attribute names are different."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    """The received JSON members that are not defined in this version of the package."""

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Create a record from a parsed JSON object. Raises ``RecordError``. ``Literal`` values are not checked."""
        if not isinstance(data, Mapping):
            raise RecordError(f"{cls.__name__} must be an object")
        unknown = dict(data)
        known: dict[str, Any] = {}
        for name, member, convert, mandatory in _members(cls):
            if member in unknown:
                known[name] = _convert(f"{cls.__name__}.{member}", convert, unknown.pop(member))
            elif mandatory:
                raise RecordError(f"{cls.__name__}.{member} is missing")
        return cls(**known, extra=unknown)

    @classmethod
    def mandatory_members(cls) -> tuple[str, ...]:
        """Return the JSON names of the members that ``from_json`` requires."""
        return tuple(member for _, member, _, mandatory in _members(cls) if mandatory)

    def to_json(self) -> dict[str, Any]:
        """Return JSON data that ``from_json`` accepts. Optional members with the value ``None`` are omitted. Amounts
        are strings.
        """
        data = {}
        for name, member, _, mandatory in _members(type(self)):
            value = getattr(self, name)
            if value is not None or mandatory:
                data[member] = _to_json(value)
        return {**self.extra, **data}


def _members(cls: type[Record]) -> tuple[tuple[str, str, Convert, bool], ...]:
    """Return the members of a dataclass: attribute, name in JSON, conversion, and whether the member is mandatory."""
    if cls not in _KNOWN_MEMBERS:
        _KNOWN_MEMBERS[cls] = _read_members(cls)
    return _KNOWN_MEMBERS[cls]


def _read_members(cls: type[Record]) -> tuple[tuple[str, str, Convert, bool], ...]:
    hints = get_type_hints(cls)
    return tuple(
        (
            known.name,
            cls.NAMES.get(known.name, known.name),
            _conversion(hints[known.name]),
            known.default is MISSING and known.default_factory is MISSING,
        )
        for known in fields(cls)
        if known.name != "extra"
    )


def _convert(where: str, convert: Convert, value: Any) -> Any:
    try:
        return convert(value)
    except RecordError:
        raise
    except (TypeError, ValueError) as error:
        raise RecordError(f"{where} has the wrong type") from error


def _conversion(hint: Any) -> Convert:
    """Return the function that converts a value to an annotation's type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return functools.partial(_optional, _conversion(inner))
    if origin in (tuple, Sequence):
        return functools.partial(_several, _conversion(arguments[0]))
    if origin is Literal:
        return _whole if isinstance(arguments[0], int) else _text
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.from_json
    return CONVERSIONS[origin or hint]


def _optional(convert: Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _several(convert: Convert, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(convert(item) for item in value)


def _text(value: Any) -> str:
    """Convert an identifier to text. Some banks send identifiers as numbers."""
    if isinstance(value, Decimal):
        return _json.plain(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError
    return str(value)


def _whole(value: Any) -> int:
    exact = _exact(value)
    if exact != int(exact):
        raise ValueError
    return int(exact)


def _exact(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise TypeError
    return _json.number(str(value))


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _members_of(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _anything(value: Any) -> Any:
    return value


CONVERSIONS: Mapping[Any, Convert] = {
    str: _text,
    int: _whole,
    bool: _truth,
    Decimal: _exact,
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    Mapping: _members_of,
    Any: _anything,
}


def _to_json(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, Decimal):
        return _json.plain(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, float):
        raise TypeError("a binary float is not exact: use decimal.Decimal")
    return value
