"""Checks of every page of the website and of the demonstration banks."""

import pytest

from chalicelib.website.page_links import PAGES
from tests.browser.__main__ import WALKS
from tests.browser.page_checks import Walk, findings, row_of
from tests.browser.window import Window
from tests.kit.small import SMALL

pytestmark = pytest.mark.pages

NOT_IN_SMALL_FORM = {
    "bank-two-front",
    "bank-one-authorization",
    "bank-two-refusal",
    "bank-one-payment",
    "bank-two-bulk-payment",
    "bank-one-customer",
    "faults-one",
}
"""The scenarios that the small form omits, because it plays them at the bank of the other version."""


@pytest.mark.parametrize(
    "walk", [walk for walk in WALKS if not (SMALL and walk.name in NOT_IN_SMALL_FORM)], ids=lambda walk: walk.name
)
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


def test_the_small_form_visits_every_page_at_the_bank_of_one_version() -> None:
    steps = {walk.name: walk.page_names for walk in WALKS}
    for omitted in NOT_IN_SMALL_FORM:
        other = omitted.replace("two", "one") if "two" in omitted else omitted.replace("one", "two")
        assert other not in NOT_IN_SMALL_FORM
        assert steps[other] == [name.replace(omitted, other) for name in steps[omitted]]


def test_every_page_of_the_web_interface_belongs_to_a_browser_scenario() -> None:
    pages = {row for row, methods in PAGES.items() if "GET" in methods}

    assert {row for walk in WALKS for row in walk.rows} == pages
