"""A transfer costs little more than its calls of DynamoDB: the bare script beside it makes the same ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.bench.transfers import GOAL, Ours, bare, speed
from tests.conftest import DYNAMODB_ENDPOINT
from tests.world import World

_TOKEN = "ClientRequestToken"
_VALUES = "ExpressionAttributeValues"


def calls_of(client: Any, act: Callable[[], object]) -> list[Any]:
    """The calls of DynamoDB that are made meanwhile: tables, attributes, their types and conditions."""
    calls: list[Any] = []

    def note(params: Mapping[str, Any], model: Any, **_: Any) -> None:
        calls.append((model.name, shape({name: value for name, value in params.items() if name != _TOKEN})))

    client.meta.events.register("provide-client-params.dynamodb", note)
    try:
        act()
    finally:
        client.meta.events.unregister("provide-client-params.dynamodb", note)
    return calls


def shape(value: Any) -> Any:
    """What a call is about, without what is in it."""
    match value:
        case {"S": str(text)}:
            return re.sub(r"[#.\d].*", "#", text) if "#" in text else "text"
        case {"N": _} | {"B": _} | {"BOOL": _}:
            return next(iter(value))
        case dict():
            names = value.get("ExpressionAttributeNames", {})
            kept = {name: each for name, each in value.items() if name != "ExpressionAttributeNames"}
            told = {
                name: spelt(each, names) if name.endswith("Expression") else shape(each) for name, each in kept.items()
            }
            return told | ({_VALUES: sorted(map(str, told[_VALUES].values()))} if _VALUES in told else {})
        case list():
            return [shape(each) for each in value]
    return value


def spelt(expression: str, names: Mapping[str, str]) -> list[str]:
    """An expression's words, with the attributes' own names and without those of values."""
    words = re.sub(r"#\w+", lambda found: names[found[0]], re.sub(r":\w+", "?", expression))
    return sorted(re.split(r"[\s,()]+", words))


def test_the_bare_script_makes_the_same_calls(world: World) -> None:
    ours, script = Ours(world.hub, world.card_credentials), bare(world.hub)
    address = ours.address()

    by_script = calls_of(script._dynamodb, lambda: script(address))

    assert by_script == calls_of(world.hub.store._client, lambda: ours(address))
    assert [name for name, _ in by_script] == [
        *("BatchGetItem", "BatchGetItem", "TransactWriteItems"),  # until the provider is called
        *("PutItem", "TransactWriteItems"),
    ]


@pytest.mark.dynamodb
@pytest.mark.skipif(not DYNAMODB_ENDPOINT, reason="the emulator's speed says nothing")
def test_transfers_have_at_least_0_7_times_the_bare_scripts_speed(world: World) -> None:
    ours = Ours(world.hub, world.card_credentials)

    assert speed(ours, bare(world.hub), [ours.address() for _ in range(8)], clients=1).ratio >= GOAL
