"""What holds of every page of the website and of the demonstration banks."""

from __future__ import annotations

import pytest

from chalicelib.website.page_links import PAGES
from tests.browser.checks import findings
from tests.browser.pages import WALKS
from tests.browser.visitor import Visitor
from tests.browser.walks import Walk, place

pytestmark = pytest.mark.pages


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.name)
def test_a_page_is_accessible_in_light_and_dark_fits_a_small_screen_and_does_not_shift(
    visitor: Visitor, walk: Walk
) -> None:
    found, met = [], set()
    for name in walk.pages(visitor):
        found += [f"{name}: {finding}" for finding in findings(visitor.page)]
        met.add(place(visitor.page.url))

    assert not found, "\n".join(found)
    assert set(walk.meets) <= met


def test_every_page_of_the_web_interface_is_visited_by_a_walk() -> None:
    pages = {row for row, methods in PAGES.items() if "GET" in methods}

    assert {row for walk in WALKS for row in walk.meets} == pages
