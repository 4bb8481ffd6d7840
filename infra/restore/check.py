"""A check: the items that belong together in several tables, and the remedy if one is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.store import Item, Operation
from chalicelib.foundation.requests.facts import Key


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """An inconsistency: the writes that mend it, and what follows the item's name, for a person."""

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
        name: how the command names it.
        tables: the table that is read whole, and those that it is compared with.
        wrong: the inconsistency.
        remedy: the result of ``--mend`` or, unless ``mends``, what the operator has to do.
        keys: the keys of the other items that an item belongs to; empty if the check does not concern it.
        judge: compares an item with those, ``None`` for one that is not there.
    """

    name: str
    tables: tuple[str, ...]
    wrong: str
    remedy: str
    mends: bool
    keys: Callable[[Hub, Item], Sequence[Key]] = _no_keys
    judge: Callable[[Hub, Item, Sequence[Item | None]], Inconsistency | None] = _nothing_wrong
