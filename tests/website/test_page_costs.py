"""Every page that needs no record: how large it is."""

from __future__ import annotations

import pytest

from tests.bench.pages import FOR_VISITORS, PLACES
from tests.causeway import Causeway
from tests.website.web_user import PAGE_BYTES, WebUser


@pytest.mark.parametrize("place", PLACES)
def test_a_page_keeps_its_size_budget(causeway: Causeway, user: WebUser, place: str) -> None:
    person = WebUser(causeway) if place in FOR_VISITORS else user

    page = person.get(place)

    assert page.status == 200
    assert len(page.text.encode()) <= PAGE_BYTES
