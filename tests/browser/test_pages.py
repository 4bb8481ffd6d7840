"""What holds of every page of the website and of the demonstration banks."""

from __future__ import annotations

import pytest

from tests.browser.checks import findings
from tests.browser.pages import WALKS
from tests.browser.visitor import Visitor
from tests.browser.walks import Walk


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.name)
def test_a_page_is_accessible_in_light_and_dark_fits_a_small_screen_and_keeps_still(
    visitor: Visitor, walk: Walk
) -> None:
    found = [f"{name}: {finding}" for name in walk.pages(visitor) for finding in findings(visitor.page)]

    assert not found, "\n".join(found)
