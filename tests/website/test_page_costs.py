"""Every page that needs no record: how large it is."""

from __future__ import annotations

import pytest

from chalicelib.website.openapi_documents import SCREENS
from chalicelib.website.page_links import PAGES
from tests.website.page_costs import BYTES
from tests.website.person import Person
from tests.world import World

PLACES = [
    *(place for place, methods in PAGES.items() if "GET" in methods and "{" not in place and "callback" not in place),
    *(f"/specifications/{screen.name}" for screen in SCREENS),
]
FOR_VISITORS = ("/register", "/sign-in")
"""Pages from which a signed-in user is sent on."""


@pytest.mark.parametrize("place", PLACES)
def test_a_page_is_small(world: World, user: Person, place: str) -> None:
    person = Person(world) if place in FOR_VISITORS else user

    page = person.get(place)

    assert page.status == 200
    assert len(page.text.encode()) <= BYTES
