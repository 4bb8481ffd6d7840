"""The base class of records: keys, visibility, and conditional changes.

A record is one item, in the cards table unless its class names another table. It belongs to a programme manager and has
an access level and a version. Every change is conditional on the version. ``written_by`` identifies the attempt that
last wrote the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, cached_property
from typing import Any, ClassVar, TypeVar, cast

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Check, Item, Operation, Put, Update, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key
from chalicelib.foundation.requests.outcome import Proof

TABLE = "cards"
R = TypeVar("R", bound="Record")
T = TypeVar("T")
A = TypeVar("A", bound=Mapping[str, object])


@dataclass(frozen=True, kw_only=True)
class Record:
    """One record. ``version`` counts its changes, starting at 1."""

    kind: ClassVar[str]
    missing: ClassVar[Status]
    table: ClassVar[str] = TABLE

    id: int
    manager_id: int
    access_level: int
    version: int = 1

    @classmethod
    def key(cls, number: int) -> Key:
        return cls.table, {"owner": f"{cls.kind}#{number}", "part": cls.kind}

    @property
    def place(self) -> Key:
        """The key of the record."""
        return self.key(self.id)

    @classmethod
    @cache
    def _names(cls) -> tuple[str, ...]:
        """Return the names of the record's fields. The names are cached, because every request needs them."""
        return tuple(each.name for each in fields(cls))

    @classmethod
    def from_item(cls: type[R], item: Item) -> R:
        return cls(**{name: item[name] for name in cls._names() if name in item})

    def put(self, write_id: str) -> Put:
        """Return the write operation that creates the record. The write fails if the record already exists."""
        table, key = self.place
        members = without_none({name: getattr(self, name) for name in self._names()})
        return Put(table, {**key, **members, "written_by": write_id}, absent("owner"))

    def check_unchanged(self) -> Check:
        """Return the condition that the record has not changed since the read."""
        return Check(*self.place, Attr("version").eq(self.version))

    def with_changes(self: R, **members: Any) -> R:
        """Return the record with the same changes as ``update`` writes."""
        return replace(self, version=self.version + 1, **members)

    def update(self, write_id: str, **members: Any) -> Update:
        """Return the write operation that sets members. Members that are ``None`` are removed. The write fails if the
        record has changed.
        """
        return Update(
            *self.place,
            set=without_none(members) | {"written_by": write_id},
            remove=[name for name, value in members.items() if value is None],
            add={"version": 1},
            condition=Attr("version").eq(self.version),
        )


def or_default(wished: T | None, otherwise: T) -> T:
    """Return the value, or the default if the value is ``None``. The value 0 is returned unchanged."""
    return otherwise if wished is None else wished


def without_none(members: A, *nullable: str) -> A:
    """Return the members of an item or a response. Omit members that are ``None``, except ``nullable`` members."""
    return cast(A, {name: value for name, value in members.items() if value is not None or name in nullable})


@dataclass(frozen=True)
class WriteStamp:
    """The time of a write (Unix milliseconds) and the attempt that writes."""

    at: int
    write_id: str

    @cached_property
    def now(self) -> int:
        """The write time in Unix seconds."""
        return self.at // 1000


def proof_of(operations: Sequence[Operation], write_id: str) -> Proof:
    """Return the ``Proof`` that an attempt's writes were applied. A written record contains the attempt's id."""
    keys = [key for key in map(_written_key, operations) if key is not None]
    return Proof(keys, lambda item: item.get("written_by") == write_id)


def _written_key(operation: Operation) -> Key | None:
    match operation:
        case Put(table, {"owner": owner, "part": part, "written_by": _}):
            return table, {"owner": owner, "part": part}
        case Update(table, key, {"written_by": _}):
            return table, key
    return None
