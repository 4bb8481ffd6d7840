"""A transfer costs little more than its calls of DynamoDB: the bare script beside it makes the same ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pytest

from tests.bench.transfers import GOAL, Ours, bare, speed
from tests.conftest import DYNAMODB_ENDPOINT
from tests.world import World

Seen = list[tuple[str, Any]]


@pytest.fixture
def seen() -> Iterator[Seen]:
    """The calls of DynamoDB that are made, with their members."""
    calls: Seen = []

    def note(model: Any, params: Mapping[str, Any], **_: Any) -> None:
        calls.append((model.name, {**params}))

    clients = []
    make = boto3.DEFAULT_SESSION
    yield calls
    del clients, make


def test_the_bare_script_makes_the_same_calls(world: World) -> None:
    ours, script = Ours(world.hub, world.card_credentials), bare(world.hub)
    address = ours.address()

    assert _calls(script._dynamodb, lambda: script(address)) == _calls(
        world.hub.store._client, lambda: ours(address)
    )
