"""The size of every page that reads no stored record."""

import pytest

from chalicelib.website.openapi_documents import SCREENS
from chalicelib.website.page_links import PAGES
from tests.causeway import Causeway
from tests.website.web_user import PAGE_BYTES, WebUser

PLACES = [
    *(place for place, methods in PAGES.items() if "GET" in methods and "{" not in place and "callback" not in place),
    *(f"/specifications/{screen.name}" for screen in SCREENS),
]
"""The addresses of all pages that read no stored record."""
FOR_VISITORS = ("/register", "/sign-in")
"""Pages that redirect a signed-in user."""


@pytest.mark.parametrize("place", PLACES)
def test_a_page_without_records_is_within_its_size_budget(causeway: Causeway, user: WebUser, place: str) -> None:
    person = WebUser(causeway) if place in FOR_VISITORS else user

    page = person.get(place)

    assert page.status == 200
    assert len(page.text.encode()) <= PAGE_BYTES
