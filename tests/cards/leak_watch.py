"""A pytest plugin that checks after every test that the test wrote no readable card data.

The plugin checks every call that changes a table, every queue message, every log line, and the body of every event
before encryption. After all tests, the plugin searches the tables again, including the tables and the log of the
running stack.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import boto3
import pytest

from chalicelib import bootstrap
from chalicelib.cards.card_data import numbers
from chalicelib.cards.card_data.encryption import Sealed
from chalicelib.foundation.aws.calls import Call, Members, Proceed, observe
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.settings import Settings
from tests.cards.leak_search import FORMS, Coincidences, Leak, Seen, Written, leaks

INTERFACES = ("/api", "/simulator")
_KEEPING = ("dynamodb", "secretsmanager", "sqs")
_READING = ("BatchGet", "Describe", "Get", "List", "Query", "Receive", "Scan")
_DIGITS = re.compile("[0-9]{3,}")
_SETTINGS = re.compile(r"(#\w+) (?:= )?(:\w+)")


class Watch:
    """A record of the card data that the service handles and of the values that the service writes."""

    def __init__(self) -> None:
        self.everything = Seen()
        self._coincidences = Coincidences()
        self._begin()

    def _begin(self) -> None:
        self.seen = Seen()
        self._calls: list[tuple[str, Mapping[str, Any]]] = []
        self._lines: list[str] = []
        self._bodies: list[str] = []

    def note(self, name: str, text: object, card: object = None) -> None:
        for seen in (self.seen, self.everything):
            seen.note(name, text, card)

    def found(self) -> list[Leak]:
        """Return the leaks of the card data recorded since the last call."""
        seen, calls, lines, bodies = self.seen, self._calls, self._lines, self._bodies
        self._begin()
        if not seen:
            return []
        written = Written()
        for operation, parameters in calls:
            for place, value in _stored(operation, parameters):
                written.add(place, value)
        add_lines(written, lines)
        for body in bodies:
            written.add("event", body)
        return sorted({*leaks(written, seen), *self._coincidences.leaks(written, seen)})

    def search_tables(self) -> None:
        import boto3

        written = Written()
        if self.everything:
            add_tables(written, boto3.client("dynamodb"))
        none_of(leaks(written, self.everything))

    @contextmanager
    def installed(self) -> Iterator[Watch]:
        """Install the watch on the parts of the service that handle or write card data."""
        from chalicelib.application import Application
        from chalicelib.cards.card_data import pins_and_passwords
        from chalicelib.cards.card_data.encryption import CardData
        from chalicelib.cards.requests import disclosure
        from chalicelib.delivery import event_sender
        from chalicelib.foundation.crypto.keyring import Vault
        from chalicelib.foundation.log import Formatter

        with observe(self._called), ExitStack() as patches:
            for owner, name, after in (
                (Formatter, "format", lambda line, *_: self._lines.append(line)),
                (Application, "__call__", lambda answer, _, event, *__: self._asked(event, answer)),
                (CardData, "seal", lambda _, data, card_id, field, text: self.note(field, text, card_id)),
                (CardData, "open", lambda text, data, card_id, field, sealed: self.note(field, text, card_id)),
                (CardData, "lookup", lambda _, data, pan: self.note("pan", pan)),
                (CardData, "cvc2", self._computed),
                (CardData, "pvv", lambda _, data, pan, pin, version: self._belong_together(pan, pin)),
                (Vault, "seal", lambda _, vault, text, context: self._sealed(text)),
                (Vault, "unseal", lambda text, *_: self._sealed(text)),
                (numbers, "new_pan", lambda pan, *_: self.note("pan", pan)),
                (pins_and_passwords, "random_pin", lambda pin: self.note("pin", pin)),
                (event_sender, "body", lambda body, *_: self._bodies.append(body)),
                (
                    disclosure,
                    "encrypt_for_event",
                    lambda _, catalogue, number, value: self.note("validation_value", value),
                ),
                (disclosure, "disclose", lambda _, credential, card_id, field, clear: self.note(field, clear, card_id)),
            ):
                patches.enter_context(patch.object(owner, name, observed(getattr(owner, name), after)))
            yield self

    def _called(self, call: Call, proceed: Proceed) -> Members:
        if call.service in _KEEPING and not call.operation.startswith(_READING):
            self._calls.append((call.operation, call.body))
        return proceed(call)

    def _computed(self, cvc2: str, data: Any, pan: str, *_: Any) -> None:
        self.note("pan", pan)
        self.note("cvc2", cvc2)

    def _belong_together(self, pan: str, pin: str) -> None:
        self.note("pan", pan, pan)
        self.note("pin", pin, pan)

    def _asked(self, event: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        if (event.get("requestContext") or {}).get("resourcePath") in INTERFACES:
            self._members(event["body"])
            self._members(answer["body"])

    def _sealed(self, text: str) -> None:
        if any(f'"{name}"' in text for name in FORMS):
            self._members(text)

    def _members(self, text: Any) -> None:
        try:
            value = json.loads(text)
        except (TypeError, ValueError):
            return
        for seen in (self.seen, self.everything):
            seen.note_members(value)


def observed(real: Callable[..., Any], after: Callable[..., None]) -> Callable[..., Any]:
    signature = inspect.signature(real)

    def call_and_watch(*arguments: Any, **named: Any) -> Any:
        answer = real(*arguments, **named)
        after(answer, *(signature.bind(*arguments, **named).args if named else arguments))
        return answer

    return call_and_watch


def _stored(operation: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    match parameters:
        case {"TransactItems": members}:
            for member in members:
                for inner in member.values():
                    yield from _stored(operation, inner)
        case {"TableName": table, "Item": item}:
            yield table, item
        case {"TableName": table, "UpdateExpression": expression}:
            names, values = parameters["ExpressionAttributeNames"], parameters.get("ExpressionAttributeValues", {})
            yield table, {names[name]: values[value] for name, value in _SETTINGS.findall(expression)}
            yield table, parameters["Key"]
        case {"TableName": _}:  # a condition or a removal
            pass
        case {"QueueUrl": queue}:
            yield str(queue).rpartition("/")[2], dict(parameters)
        case _:
            yield operation, dict(parameters)


def add_lines(written: Written, lines: Iterable[str]) -> None:
    """Add log lines. The place of a line is the message of its event."""
    for line in lines:
        try:
            members = json.loads(line)
            written.add(f"log, {_DIGITS.sub('#', members['message'])!r:.80}", members)
        except (ValueError, TypeError, KeyError):
            written.add("log", line)


def add_tables(written: Written, client: Any, prefix: str = "") -> None:
    names = [name for page in client.get_paginator("list_tables").paginate() for name in page["TableNames"]]
    for name in filter(lambda name: name.startswith(prefix), names):
        for page in client.get_paginator("scan").paginate(TableName=name):
            for item in page["Items"]:
                written.add(name, item)


def none_of(found: list[Leak]) -> None:
    assert not found, "\n".join(["card data can be read:", *map(str, found)])


@pytest.fixture(scope="session", autouse=True)
def leak_watch() -> Iterator[Watch]:
    with Watch().installed() as watch:
        yield watch


@pytest.fixture(autouse=True)
def nothing_can_be_read(leak_watch: Watch) -> Iterator[None]:
    yield
    none_of(leak_watch.found())


FIELDS: tuple[Sealed, ...] = get_args(Sealed)


def read_in_stack(content: Mapping[str, Any], log: Path) -> list[Leak]:
    with patch.dict(os.environ, content["environment"]):
        hub = bootstrap.Hub(Settings.from_environment(content["environment"]))
        seen = opened(hub)
        written = Written()
        add_tables(written, boto3.client("dynamodb"), hub.settings.prefix)
    add_lines(written, _lines(Path(content["log"])))
    add_lines(written, [line for line in _lines(log) if not line.startswith("{")])  # the others stand in both
    return leaks(written, seen)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8", errors="replace").splitlines()


def opened(hub: bootstrap.Hub) -> Seen:
    seen, sealed = Seen(), 0
    for item in hub.store.scan("cards"):
        values = [value for value in item.values() if isinstance(value, bytes)]
        sealed += len(values)
        for value in values:
            _open(hub, item, value, seen)
    assert seen or not sealed, "there are cards, but this search does not know any more what opens their data"
    return seen


def _open(hub: bootstrap.Hub, item: Item, value: bytes, seen: Seen) -> None:
    """Decrypt a value and record the result. The card's id is one of the numbers in the item."""
    for number in {
        int(found) for found in re.findall("[0-9]+", f"{item['owner']} {item['part']} {item.get('card_id')}")
    }:
        for field in FIELDS:
            with contextlib.suppress(Unsealable):
                seen.note(field, hub.cards.card_data.open(number, field, value), number)
                return
