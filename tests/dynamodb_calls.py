"""The calls of AWS, mostly of DynamoDB, that a piece of work makes."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.dynamodb.store import Page
from tests.causeway import Causeway


@contextlib.contextmanager
def note_calls(note: Callable[[Call], object]) -> Iterator[None]:
    """Have ``note`` see each call of AWS made inside before it is sent."""

    def see(call: Call, proceed: Proceed) -> Members:
        note(call)
        return proceed(call)

    with observe(see):
        yield


@contextlib.contextmanager
def counted(causeway: Causeway) -> Iterator[list[str]]:
    """The names of the DynamoDB calls made inside."""
    made: list[str] = []

    def note(call: Call) -> None:
        if call.service == "dynamodb":
            made.append(call.operation)

    with note_calls(note):
        yield made


@contextlib.contextmanager
def rows_read(causeway: Causeway, table: str) -> Iterator[list[int]]:
    """The number of rows that each query of a table made inside returns."""
    rows: list[int] = []
    query = causeway.hub.store.query

    def note(name: str, *partition: Any, **which: Any) -> Page:
        page = query(name, *partition, **which)
        if name == table:
            rows.append(len(page.items))
        return page

    with mock.patch.object(causeway.hub.store, "query", note):
        yield rows


@contextlib.contextmanager
def transactions(causeway: Causeway) -> Iterator[list[list[str]]]:
    """The operations of each transaction made inside: what they do, and where."""
    made: list[list[str]] = []

    def note(call: Call) -> None:
        if call.operation == "TransactWriteItems":
            operations = [next(iter(each.items())) for each in call.body["TransactItems"]]
            made.append([f"{verb} {_place(operation)}" for verb, operation in operations])

    with note_calls(note):
        yield made


def _place(operation: Any) -> str:
    key = operation.get("Item") or operation["Key"]
    name = (key.get("part") or key["claim"])["S"]
    return str(name).partition("#")[0]


def forgotten(call: Call) -> Call:
    """A call whose transaction storage does not recognise when it is sent again."""
    token = {"ClientRequestToken": secrets.token_hex(16)} if "ClientRequestToken" in call.body else {}
    return Call(call.service, call.operation, call.body | token)
