"""Checks of every page of the website and of the demonstration banks."""

import pytest

from chalicelib.website.page_links import PAGES
from tests.browser.__main__ import WALKS
from tests.browser.page_checks import Walk, findings, row_of
from tests.browser.window import Window

pytestmark = pytest.mark.pages


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.name)
def test_a_page_is_accessible_fits_a_phone_and_has_no_layout_shift_in_light_and_dark_mode(
    window: Window, walk: Walk
) -> None:
    found, met, names = [], set(), []
    for name in walk.pages(window):
        found += [f"{name}: {finding}" for finding in findings(window.page, name)]
        names.append(name)
        met.add(row_of(window.page.url))

    assert not found, "\n".join(found)
    assert names == walk.page_names
    assert set(walk.rows) <= met


def test_every_page_of_the_web_interface_belongs_to_a_browser_scenario() -> None:
    pages = {row for row, methods in PAGES.items() if "GET" in methods}

    assert {row for walk in WALKS for row in walk.rows} == pages
