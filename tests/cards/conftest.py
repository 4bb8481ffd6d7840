"""What tests of the card API stand on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cards.scenes import Scene
from tests.world import World


@pytest.fixture
def scene(world: World) -> Scene:
    """A programme manager before empty tables."""
    return Scene(world)


@pytest.fixture(scope="module")
def stage(shared_world: World) -> Iterator[Scene]:
    """A programme manager whom all tests of a module share; none of them may have ``scene`` or ``world``."""
    world = shared_world.again()
    with world.installed():
        yield Scene(world)
