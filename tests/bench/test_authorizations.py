"""Authorizations cost little more than their calls of DynamoDB: the bare script beside them makes the same ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.against_bare import GOAL, bare, speed
from tests.bench.authorizations import Authorizations
from tests.bench.bare_authorization import BareAuthorization
from tests.bench.same_calls import calls_of
from tests.conftest import DYNAMODB_ENGINE
from tests.world import World


def test_the_bare_script_makes_the_same_calls(world: World) -> None:
    ours, script = Authorizations(world.hub, world.card_credentials), bare(BareAuthorization, world.hub)
    card = ours.card()

    world.clock.advance(1)  # past the card's last row
    by_us = _in_order(calls_of(world.hub.store._client, lambda: ours(card)))
    by_script = _in_order(calls_of(script._dynamodb, lambda: script(card)))

    assert by_script == by_us
    assert [name for name, _ in by_script] == ["BatchGetItem", "BatchGetItem", "PutItem", "TransactWriteItems"]


def _in_order(calls: list[Any]) -> list[Any]:
    """Calls with the second read before the reservation that is made at the same time."""
    first, *parallel, last = calls
    return [first, *sorted(parallel, key=lambda call: str(call[0])), last]


@pytest.mark.dynamodb
@pytest.mark.skipif(not DYNAMODB_ENGINE, reason="the emulator's speed says nothing")
def test_authorizations_have_at_least_0_7_times_the_bare_scripts_speed(world: World) -> None:
    ours = Authorizations(world.hub, world.card_credentials)
    script, places = bare(BareAuthorization, world.hub), [ours.card() for _ in range(8)]

    measured = (speed(ours, script, places, 1, seconds=1) for _ in range(8))  # another program's moods are no reason

    assert any(each.ratio >= GOAL for each in measured)
