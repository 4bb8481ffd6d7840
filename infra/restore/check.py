"""A check: the items that belong together in several tables, and the remedy for a missing item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.store import Item, Operation
from chalicelib.foundation.requests.facts import Key


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """An inconsistency: the writes that repair it, and the text after the item's name."""

    mend: Sequence[Operation] = ()
    detail: str = ""


def _no_keys(hub: Hub, item: Item) -> Sequence[Key]:
    return []


def _nothing_wrong(hub: Hub, item: Item, found: Sequence[Item | None]) -> Inconsistency | None:
    return None


@dataclass(frozen=True, slots=True)
class Check:
    """A check of each item of the first of ``tables``.

    Attributes:
        name: its name in the command.
        tables: the table that is read completely, and the tables compared with it.
        wrong: the inconsistency.
        remedy: the result of ``--mend`` or, unless ``mends``, what the operator has to do.
        keys: the keys of the other items that an item belongs to; empty if the check does not concern it.
        judge: compares an item with the other items, ``None`` for a missing item.
    """

    name: str
    tables: tuple[str, ...]
    wrong: str
    remedy: str
    mends: bool
    keys: Callable[[Hub, Item], Sequence[Key]] = _no_keys
    judge: Callable[[Hub, Item, Sequence[Item | None]], Inconsistency | None] = _nothing_wrong
