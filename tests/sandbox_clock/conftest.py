"""A world whose business time can be moved."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from chalicelib.foundation.moved_clock import KEY, TABLE, ClockOffset, MovedClock
from tests.sandbox_clock.operator import OPERATOR_KEY, Operator
from tests.world import World

_ROOMS = ("delivery", "statistics", "openbanking", "cards", "website")


@pytest.fixture
def movable(shared_world: World) -> Iterator[World]:
    """The service on a clock that nobody has moved; its real clock is that of the world."""
    world = shared_world.again(replace(shared_world.hub.settings, operator_key=OPERATOR_KEY))
    hub = world.hub
    hub.store.delete(TABLE, KEY)
    hub.clock = MovedClock(world.clock, ClockOffset(hub.store).read)
    for room in _ROOMS:  # what was made before has the clock of the world
        hub.__dict__.pop(room, None)
    world._measures(not_before=sys.maxsize)
    with world.installed():
        yield world
    hub.store.delete(TABLE, KEY)


@pytest.fixture
def operator(movable: World) -> Operator:
    return Operator(movable)
