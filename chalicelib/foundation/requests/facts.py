"""The items read for a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from chalicelib.foundation.dynamodb.evaluation import holds
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Operation, Put

Key = tuple[str, Item]
"""A table's short name and an item's key."""
_Name = tuple[str, tuple[tuple[str, Any], ...]]


class Stored(Protocol):
    """A record that is created from an item."""

    @classmethod
    def from_item(cls, item: Item) -> Any: ...


R = TypeVar("R", bound=Stored)


class NotRead(Exception):
    """A decision needs items that were not read initially. The engine reads them and decides again."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self.keys = keys
        super().__init__("a decision needs more items")


class Facts:
    """Items by their keys. The value is ``None`` for items that do not exist.

    ``watched`` contains keys of items that were not read, but that a put may find.
    """

    __slots__ = ("_items", "_watched")

    def __init__(
        self, keys: Sequence[Key] = (), items: Sequence[Item | None] = (), watched: Sequence[Key] = ()
    ) -> None:
        self._items: Mapping[_Name, Item | None] = {_name(key): item for key, item in zip(keys, items, strict=True)}
        self._watched = tuple(map(_name, watched))

    def item(self, key: Key) -> Item | None:
        """Return the item with this key. Raises: NotRead."""
        name = _name(key)
        if name not in self._items:
            raise NotRead([key])
        return self._items[name]

    def require(self, *keys: Key) -> None:
        """Request several items in one read. Raises: NotRead."""
        if missing := [key for key in keys if not self.has(key)]:
            raise NotRead(missing)

    def has(self, key: Key) -> bool:
        """Whether the item was read, or is known from a failed condition."""
        return _name(key) in self._items

    def find(self, kind: type[R], key: Key) -> R | None:
        """Return the record under ``key``. Raises: NotRead."""
        item = self.item(key)
        found: R | None = None if item is None else kind.from_item(item)
        return found

    def latest(self, kind: type[R], assumed: R, key: Key) -> R | None:
        """Return the record under ``key``, or ``assumed`` if the record is not known."""
        return self.find(kind, key) if self.has(key) else assumed

    def item_of(self, write: Operation) -> Item:
        """Return the known item that a write would change or replace, or an empty item if no such item is known."""
        return self._items.get(self._name_of(write)) or {}

    def permits(self, *writes: Operation) -> bool:
        """Whether the conditions of ``writes`` hold for the known items. Conditions on unread items count as true."""
        compared = [write for write in writes if self._name_of(write) in self._items]
        return all(holds(write.condition, self.item_of(write)) for write in compared)

    def with_items(self, keys: Sequence[Key], items: Sequence[Item | None]) -> Facts:
        """Return a copy of these facts with further items. They replace items with the same keys."""
        return self._with({_name(key): item for key, item in zip(keys, items, strict=True)})

    def after(self, operations: Sequence[Operation], failure: ConditionFailed) -> Facts:
        """Return the facts for the next decision, including the current stored items of failed conditions."""
        return self._with({self._name_of(operations[each]): failure.items[each] for each in failure.failed})

    def _with(self, items: Mapping[_Name, Item | None]) -> Facts:
        facts = Facts()
        facts._items, facts._watched = {**self._items, **items}, self._watched
        return facts

    def _name_of(self, operation: Operation) -> _Name:
        """Return the key of the item that an operation writes, or a unique name if the key of a put is unknown."""
        if not isinstance(operation, Put):
            return _name((operation.table, operation.key))
        own: _Name = operation.table, (("", id(operation)),)
        names = (*self._items, *self._watched)
        return next((name for name in names if writes_to(operation, (name[0], dict(name[1])))), own)


def writes_to(operation: Operation, key: Key) -> bool:
    """Whether an operation writes or checks the item under ``key``."""
    members = operation.item if isinstance(operation, Put) else operation.key
    return operation.table == key[0] and key[1].items() <= members.items()


def _name(key: Key) -> _Name:
    table, members = key
    return table, tuple(sorted(members.items()))
