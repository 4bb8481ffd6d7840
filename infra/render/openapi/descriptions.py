"""Checks that all elements with a description in the documents have a docstring, without rendering the documents.
``make lint`` runs this check.

A message's members need docstrings of their own or of a member of the same name and type in the module. Calls, webhooks
and refusals need a docstring below their table row, and card actions and conversions one in their function. Events need
a meaning in their row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from pydantic import BaseModel
from typing_extensions import is_typeddict

from chalicelib.cards import protocol as cards_protocol
from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol.card_events import EVENTS as CARD_EVENTS
from chalicelib.openbanking import protocol as openbanking_protocol
from chalicelib.openbanking import unified
from chalicelib.openbanking.protocol import bank_calls, webhooks
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.unified import calls
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from infra import command
from infra.render.openapi import bank, conversion_docs, member_docs, own_calls, refusal_cases, row_docs
from infra.render.openapi.cards import purposes

Describe = Callable[[], object]
"""A function that returns the description of one member, row or action. Raises: LookupError."""
_INTERNAL = ("portal_messages", "card_records", "message")
"""Protocol modules of the card API whose messages are not published in the API documents."""


def missing() -> Iterator[str]:
    """Return the elements without a docstring, each with the location at which a docstring must be added."""
    for describe in (*_members(), *_rows(), *_actions()):
        try:
            describe()
        except LookupError as error:
            yield str(error)
    meanings = {str(name): row.meaning for name, row in CARD_EVENTS.items()} | {
        str(name): row.meaning for name, row in own_calls.EVENTS.items()
    }
    yield from (f"{name} has no meaning: add it to its row" for name, meaning in meanings.items() if not meaning)


def _members() -> Iterator[Describe]:
    for package in (openbanking_protocol, unified, cards_protocol):
        names = [each.name for each in iter_modules(package.__path__) if each.name not in _INTERNAL]
        for module in map(import_module, (f"{package.__name__}.{name}" for name in names)):
            for name, members in member_docs.classes(module.__name__).items():
                model: Any = getattr(module, name)
                if is_typeddict(model) or issubclass(model, BaseModel):
                    yield from (partial(member_docs.sentence, model, each) for each in members)


def _rows() -> Iterator[Describe]:
    for call in (*webhooks.RELAYED, *webhooks.PAYMENTS):
        yield partial(row_docs.purpose_of, call, webhooks.__name__)
    yield from (
        partial(row_docs.purpose_of, call, calls.__name__) for call in (*calls.UNIFIED_READS, *calls.UNIFIED_PAYMENTS)
    )
    yield partial(row_docs.purpose, "UNIFIED_STATUS_PATH", calls.__name__)
    yield partial(row_docs.purpose, "STATUS_PATH", webhooks.__name__)
    yield from (partial(row_docs.purpose_of, call, bank_calls.__name__) for call in bank_calls.BANK_CALLS)
    for version in VERSIONS.values():
        yield from (partial(bank.webhook_purpose, version, row) for row in version.webhooks)
    for mapping in UNIFIED_VERSIONS.values():
        yield from (partial(conversion_docs.describe, each) for each in conversion_docs.conversions(mapping))
    yield from (case.when for case in refusal_cases.CASES.values())


def _actions() -> Iterator[Describe]:
    yield from (partial(purposes.rules, action) for action in (*ACTIONS.values(), *SIMULATOR_ACTIONS.values()))


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    command.parser("infra.render.openapi.descriptions", __doc__).parse_args(arguments)
    found = list(missing())
    for each in found:
        print(each, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    command.run(main)
