"""A card of the demonstration's programme manager, and a user who is linked to that programme manager."""

from __future__ import annotations

import pytest

from tests.cards.scenes import MadeCard, Scene
from tests.website.cards.cards import link
from tests.website.person import Person
from tests.world import World


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world)


@pytest.fixture
def card(scene: Scene) -> MadeCard:
    """A card with 500.00 EUR."""
    return scene.spendable(500_00)


@pytest.fixture
def colleague(world: World, user: Person, email: str) -> Person:
    """A user who is linked to the demonstration's programme manager."""
    link(world, email)
    return user
