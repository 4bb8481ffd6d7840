"""The search for card data in what the running stack keeps and logs."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import boto3

from chalicelib import bootstrap
from chalicelib.cards.card_data.encryption import Sealed
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.settings import Settings
from tests.cards.leak_search import Leak, Written, leaks
from tests.cards.leak_watch import add_lines, add_tables
from tests.cards.secrets_seen import Seen

FIELDS: tuple[Sealed, ...] = get_args(Sealed)


def read_in_stack(content: Mapping[str, Any], log: Path) -> list[Leak]:
    """What can be read of all cards of the stack whose file says ``content``; ``log`` is what it printed."""
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
    """Everything that is sealed in the table of cards. Raises: AssertionError: nothing of it could be opened."""
    seen, sealed = Seen(), 0
    for item in hub.store.scan("cards"):
        values = [value for value in item.values() if isinstance(value, bytes)]
        sealed += len(values)
        for value in values:
            _open(hub, item, value, seen)
    assert seen or not sealed, "there are cards, but this search does not know any more what opens their data"
    return seen


def _open(hub: bootstrap.Hub, item: Item, value: bytes, seen: Seen) -> None:
    """Note what a sealed value is; which card it is of, one of the item's numbers says."""
    for number in {
        int(found) for found in re.findall("[0-9]+", f"{item['owner']} {item['part']} {item.get('card_id')}")
    }:
        for field in FIELDS:
            with contextlib.suppress(Unsealable):
                seen.note(field, hub.cards.card_data.open(number, field, value), number)
                return
