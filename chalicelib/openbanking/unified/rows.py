"""Rows of the mapping: a member of the unified API, the member of a version's message, and the conversion.

Several rows can have the same unified member: the first one with a value counts. Members are paths with dots. In the
native path, ``{own}`` and ``{other}`` stand for the account's own side of a transaction and the counterparty's, and
``{bank}`` for the switches of the bank's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.unified.values import Converter, text

Direction = Literal["debit", "credit"]
BANK = "{bank}"
"""The first part of a path to a switch of the bank's record."""
_Builder = Callable[[Mapping[str, Any]], dict[str, Any]]
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
        return self._undirected(entry)

    def build_directed(self, entry: Mapping[str, Any], direction: Direction | None) -> dict[str, Any]:
        """Return the unified object of a transaction. Without a direction, members of its sides are null."""
        return (self._directed[direction] if direction else self._undirected)(entry)

    @cached_property
    def _undirected(self) -> _Builder:
        return _compile(self.order, [_without_sides(row) for row in self.rows])

    @cached_property
    def _directed(self) -> Mapping[Direction, _Builder]:
        return {"debit": self._at("debit"), "credit": self._at("credit")}

    def _at(self, direction: Direction) -> _Builder:
        sides = self.sides or Sides("", "")
        paths = [sides.at(row.native, direction) if row.native else None for row in self.rows]
        rows = [Row(row.unified, path, row.convert) for row, path in zip(self.rows, paths, strict=True)]
        return _compile(self.order, rows)


def _without_sides(row: Row) -> Row:
    return Row(row.unified) if row.native and any(side in row.native for side in _SIDES) else row


def _compile(order: Iterable[str], rows: Iterable[Row]) -> _Builder:
    """Return a function that builds the unified object of an entry.

    The rows become the text of one expression, because a page has some 1,600 members: to interpret the rows for each
    entry takes twice the time.
    """
    names: dict[str, Any] = {"_find_object": _find_object}
    sources = {"": "entry"}
    tree: dict[str, Any] = {name: [] for name in order}
    for row in rows:
        *objects, name = row.unified.split(".")
        inside = tree
        for each in objects:
            inside = inside.setdefault(each, {})
        inside.setdefault(name, []).extend(_value_text(row, sources, names))
    lines = [f"{name} = {_source_text(path)}" for path, name in sources.items() if path]
    exec("\n ".join(["def build(entry):", *lines, f"return {_object_text(tree)}"]), names)  # noqa: S102
    builder: _Builder = names["build"]
    return builder


def _value_text(row: Row, sources: dict[str, str], names: dict[str, Any]) -> Iterator[str]:
    """Yield the text of a row's value, if it has a native member, and name the object and the conversion in it."""
    if row.native is None:
        return
    path, _, member = row.native.rpartition(".")
    source, convert = sources.setdefault(path, f"source_{len(sources)}"), f"convert_{len(names)}"
    names[convert] = row.convert
    yield f"None if (value := {source}.get({member!r})) is None else {convert}(value)"


def _source_text(path: str) -> str:
    if "." in path:
        return f"_find_object(entry, {path.split('.')})"
    return f"found if isinstance(found := entry.get({path!r}), dict) else {{}}"


def _object_text(tree: Mapping[str, Any]) -> str:
    parts = ((name, _object_text(part) if isinstance(part, dict) else _first_text(part)) for name, part in tree.items())
    return f"{{{', '.join(f'{name!r}: {text}' for name, text in parts)}}}"


def _first_text(values: Sequence[str]) -> str:
    """Return the text of the first value that is not ``None``."""
    if len(values) < 2:
        return values[0] if values else "None"
    return f"first if (first := ({values[0]})) is not None else {_first_text(values[1:])}"


def _find_object(entry: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    found = find(entry, path)
    return found if isinstance(found, dict) else {}


def find(entry: Any, path: Sequence[str]) -> Any:
    """Return the value at a path, or ``None``. Of a list of objects, the first one with the next member counts."""
    for name in path:
        if isinstance(entry, list):
            entry = _first_with(name, entry)
        if not isinstance(entry, dict):
            return None
        entry = entry.get(name)
    return entry


def _first_with(name: str, entries: Sequence[Any]) -> Any:
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get(name), dict):
            return entry
    return None
