"""Rows of the mapping: a member of the unified API, the member of a version's message, and the conversion.

Several rows can have the same unified member: the first one with a value counts. Members are paths with dots. In the
native path, ``{own}`` and ``{other}`` stand for the account's own side of a transaction and the counterparty's, and
``{bank}`` for the switches of the bank's record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.unified.values import Converter, text

Direction = Literal["debit", "credit"]
BANK = "{bank}"
"""The first part of a path to a switch of the bank's record."""
_SIDES = ("{own}", "{other}")


@dataclass(frozen=True, slots=True)
class Row:
    """A member that the unified API takes from a version's message.

    Attributes:
        unified: the path of the unified member.
        native: the path of the version's member; ``None`` if the version does not have it, so that it is null.
        convert: returns the unified value, or ``None`` if the native value is not usable.
    """

    unified: str
    native: str | None = None
    convert: Converter = text


@dataclass(frozen=True, slots=True)
class Sides:
    """The names by which a version's transactions name the payer and the payee."""

    payer: str
    payee: str

    def at(self, native: str, direction: Direction) -> str:
        """Return a path for the transactions of a direction."""
        own, other = (self.payer, self.payee) if direction == "debit" else (self.payee, self.payer)
        return native.replace("{own}", own).replace("{other}", other)


@dataclass(frozen=True, eq=False)
class Shape:
    """The members of a unified object, built from a version's message by its rows."""

    rows: Sequence[Row]
    sides: Sides | None = None

    def build(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return the unified object of an entry, without its direction if it has sides."""
        return _build(self._undirected, entry)

    def build_directed(self, entry: Mapping[str, Any], direction: Direction | None) -> dict[str, Any]:
        """Return the unified object of a transaction. Without a direction, members of its sides are null."""
        return _build(self._directed[direction] if direction else self._undirected, entry)

    @cached_property
    def _undirected(self) -> _Members:
        known = [row for row in self.rows if not any(side in (row.native or "") for side in _SIDES)]
        return _compile([*known, *(Row(row.unified) for row in self.rows)])

    @cached_property
    def _directed(self) -> Mapping[Direction, _Members]:
        return {"debit": self._at("debit"), "credit": self._at("credit")}

    def _at(self, direction: Direction) -> _Members:
        sides = self.sides or Sides("", "")
        return _compile(
            [
                Row(row.unified, sides.at(row.native, direction) if row.native else None, row.convert)
                for row in self.rows
            ]
        )


_Source = tuple[tuple[str, ...], Converter]
_Members = list[tuple[str, "_Members | tuple[_Source, ...]"]]
"""The members of an object in order: those of an object inside, or the sources of a value."""


def _compile(rows: Iterable[Row]) -> _Members:
    tree: dict[str, Any] = {}
    for row in rows:
        *objects, name = row.unified.split(".")
        inside = tree
        for each in objects:
            inside = inside.setdefault(each, {})
        sources = inside.setdefault(name, [])
        if row.native is not None:
            sources.append((tuple(row.native.split(".")), row.convert))
    return _freeze(tree)


def _freeze(tree: Mapping[str, Any]) -> _Members:
    return [(name, _freeze(part) if isinstance(part, dict) else tuple(part)) for name, part in tree.items()]


def _build(members: _Members, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _first_value(part, entry) if isinstance(part, tuple) else _build(part, entry) for name, part in members
    }


def _first_value(sources: Sequence[_Source], entry: Mapping[str, Any]) -> Any:
    for path, convert in sources:
        found = find(entry, path)
        if found is not None:
            value = convert(found)
            if value is not None:
                return value
    return None


def find(entry: Any, path: Sequence[str]) -> Any:
    """Return the value at a path, or ``None``. Of a list of objects, the first one with the next member counts."""
    for name in path:
        if isinstance(entry, list):
            entry = next((each for each in entry if isinstance(each, dict) and isinstance(each.get(name), dict)), None)
        if not isinstance(entry, dict):
            return None
        entry = entry.get(name)
    return entry
