"""Rows of the mapping: a member of the unified API, the member of a version's message, and the conversion.

Several rows can have the same unified member: the first one with a value counts. Members are paths with dots. In the
native path, ``{own}`` and ``{other}`` stand for the account's own side of a transaction and the counterparty's, and
``{bank}`` for the switches of the bank's record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

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
    """The members of a unified object, built from a version's message by its rows.

    Attributes:
        order: members that come first, in this order. Those without rows are null until the caller sets them.
    """

    rows: Sequence[Row]
    sides: Sides | None = None
    order: Sequence[str] = ()

    def build(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return the unified object of an entry, without its direction if it has sides."""
        return self._undirected.build(entry)

    def build_directed(self, entry: Mapping[str, Any], direction: Direction | None) -> dict[str, Any]:
        """Return the unified object of a transaction. Without a direction, members of its sides are null."""
        return (self._directed[direction] if direction else self._undirected).build(entry)

    @cached_property
    def _undirected(self) -> _Plan:
        return _compile(self.order, [_without_sides(row) for row in self.rows])

    @cached_property
    def _directed(self) -> Mapping[Direction, _Plan]:
        return {"debit": self._at("debit"), "credit": self._at("credit")}

    def _at(self, direction: Direction) -> _Plan:
        sides = self.sides or Sides("", "")
        paths = [sides.at(row.native, direction) if row.native else None for row in self.rows]
        rows = [Row(row.unified, path, row.convert) for row, path in zip(self.rows, paths, strict=True)]
        return _compile(self.order, rows)


def _without_sides(row: Row) -> Row:
    return Row(row.unified) if row.native and any(side in row.native for side in _SIDES) else row


_Path = tuple[str, ...]


class _Source(NamedTuple):
    """The number of a native object, its member, and the conversion."""

    number: int
    member: str
    convert: Converter


@dataclass(frozen=True, slots=True)
class _Object:
    """The members of a unified object in order, each an object inside or the sources of a value.

    ``values`` is set if each member is a value with one source, which is built faster.
    """

    members: Sequence[tuple[str, _Object | Sequence[_Source]]]
    values: Sequence[tuple[str, int, str, Converter]] | None

    def build(self, objects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the object of the native ``objects``."""
        if self.values is not None:
            return {
                name: None if (value := objects[number].get(member)) is None else convert(value)
                for name, number, member, convert in self.values
            }
        return {
            name: part.build(objects) if isinstance(part, _Object) else _first_value(part, objects)
            for name, part in self.members
        }


@dataclass(frozen=True, slots=True)
class _Plan:
    """A compiled shape. Each native object of ``paths`` is looked up once for an entry."""

    paths: Sequence[_Path]
    root: _Object

    def build(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return the unified object of an entry."""
        return self.root.build([*(_find_object(entry, path) for path in self.paths), {}])


_NO_SOURCE = _Source(-1, "", text)
"""The source of members that a version does not have: the empty object after the native ones."""


def _compile(order: Iterable[str], rows: Iterable[Row]) -> _Plan:
    paths: dict[_Path, int] = {}
    tree: dict[str, Any] = {name: [] for name in order}
    for row in rows:
        *objects, name = row.unified.split(".")
        inside = tree
        for each in objects:
            inside = inside.setdefault(each, {})
        sources = inside.setdefault(name, [])
        if row.native is not None:
            *path, member = row.native.split(".")
            sources.append(_Source(paths.setdefault(tuple(path), len(paths)), member, row.convert))
    return _Plan(tuple(paths), _freeze(tree))


def _freeze(tree: Mapping[str, Any]) -> _Object:
    members = [
        (name, _freeze(part) if isinstance(part, dict) else tuple(part) or (_NO_SOURCE,)) for name, part in tree.items()
    ]
    single = [(name, *part[0]) for name, part in members if isinstance(part, tuple) and len(part) == 1]
    return _Object(members, single if len(single) == len(members) else None)


def _first_value(sources: Iterable[_Source], objects: Sequence[Mapping[str, Any]]) -> Any:
    for number, member, convert in sources:
        found = objects[number].get(member)
        if found is not None:
            value = convert(found)
            if value is not None:
                return value
    return None


def _find_object(entry: Mapping[str, Any], path: _Path) -> Mapping[str, Any]:
    found = find(entry, path) if path else entry
    return found if isinstance(found, dict) else {}


def find(entry: Any, path: Sequence[str]) -> Any:
    """Return the value at a path, or ``None``. Of a list of objects, the first one with the next member counts."""
    for name in path:
        if isinstance(entry, list):
            entry = next((each for each in entry if isinstance(each, dict) and isinstance(each.get(name), dict)), None)
        if not isinstance(entry, dict):
            return None
        entry = entry.get(name)
    return entry
