"""Defines a check that compares items in several tables, with the remedy for a missing item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.store import Item, Operation
from chalicelib.foundation.requests.facts import Key


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """An inconsistency, with the write operations that repair it. ``detail`` is the text after the item's name."""

    mend: Sequence[Operation] = ()
    detail: str = ""


def _no_keys(hub: Hub, item: Item) -> Sequence[Key]:
    return []


def _nothing_wrong(hub: Hub, item: Item, found: Sequence[Item | None]) -> Inconsistency | None:
    return None


@dataclass(frozen=True, slots=True)
class Check:
    """A check of each item in the first of ``tables``.

    Attributes:
        name: the check's name in the command.
        tables: first the table that is read completely, then the tables that are compared with it.
        wrong: a description of the inconsistency.
        remedy: the result of ``--mend``; if ``mends`` is false, the operator's task.
        keys: a function that returns the keys of the items to which an item refers, or no keys if the check does not
        apply to the item.
        judge: a function that compares an item with the referenced items. A missing item is ``None``.
    """

    name: str
    tables: tuple[str, ...]
    wrong: str
    remedy: str
    mends: bool
    keys: Callable[[Hub, Item], Sequence[Key]] = _no_keys
    judge: Callable[[Hub, Item, Sequence[Item | None]], Inconsistency | None] = _nothing_wrong
