"""The calls of DynamoDB that a piece of work makes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any
from unittest import mock

from chalicelib.foundation.dynamodb.store import Page
from tests.world import World


@contextlib.contextmanager
def counted(world: World) -> Iterator[list[str]]:
    """The names of the DynamoDB calls made inside."""
    calls: list[str] = []
    events = world.hub.store._client.meta.events

    def note(model: object, **_: object) -> None:
        calls.append(model.name)  # type: ignore[attr-defined]

    events.register("before-call.dynamodb", note)
    try:
        yield calls
    finally:
        events.unregister("before-call.dynamodb", note)


@contextlib.contextmanager
def rows_read(world: World, table: str) -> Iterator[list[int]]:
    """The number of rows that each query of a table made inside returns."""
    rows: list[int] = []
    query = world.hub.store.query

    def note(name: str, *partition: Any, **which: Any) -> Page:
        page = query(name, *partition, **which)
        if name == table:
            rows.append(len(page.items))
        return page

    with mock.patch.object(world.hub.store, "query", note):
        yield rows


@contextlib.contextmanager
def transactions(world: World) -> Iterator[list[list[str]]]:
    """The operations of each transaction made inside: what they do, and where."""
    made: list[list[str]] = []
    events = world.hub.store._client.meta.events

    def note(params: Any, **_: object) -> None:
        operations = [next(iter(each.items())) for each in json.loads(params["body"])["TransactItems"]]
        made.append([f"{verb} {_place(operation)}" for verb, operation in operations])

    events.register("before-call.dynamodb.TransactWriteItems", note)
    try:
        yield made
    finally:
        events.unregister("before-call.dynamodb.TransactWriteItems", note)


def _place(operation: Any) -> str:
    key = operation.get("Item") or operation["Key"]
    name = (key.get("part") or key["claim"])["S"]
    return str(name).partition("#")[0]
