"""People who visit the web interface."""

from __future__ import annotations

import pytest

from chalicelib.foundation.identifiers import new_id
from tests.website.person import Person
from tests.world import World


@pytest.fixture
def visitor(world: World) -> Person:
    """Somebody who is not signed in."""
    return Person(world)


@pytest.fixture
def email() -> str:
    return f"{new_id()}@example.com"


@pytest.fixture
def user(world: World, email: str) -> Person:
    """Somebody who is signed in; registered without the price of a password hash."""
    person = Person(world)
    session = world.hub.sessions.begin(email)
    person.cookies = {"causeway_session": session.cookie}
    return person
