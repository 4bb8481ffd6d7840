"""A user's way from an application's request, over the choice of a bank, back to the application."""

from __future__ import annotations

import re

import pytest

from chalicelib import bootstrap
from chalicelib.foundation.identifiers import new_id
from tests.browser import choice_pages, psu
from tests.browser.application import serving
from tests.browser.visitor import Visitor, Visitors
from tests.e2e.parties import Tpp

pytestmark = pytest.mark.pages

with_and_without_javascript = pytest.mark.parametrize("javascript", [True, False], ids=["scripts", "no scripts"])


@with_and_without_javascript
@pytest.mark.parametrize("way", [choice_pages.request, choice_pages.pushed], ids=["plain", "pushed"])
def test_a_user_searches_chooses_and_approves(visitors: Visitors, javascript: bool, way: object) -> None:
    visitor = visitors(javascript=javascript)
    assert callable(way)
    visitor.open(way(visitor))

    visitor.fill("Bank", "nothing")
    visitor.press("Search")
    assert visitor.page.get_by_text("No bank matches your search").is_visible()
    visitor.follow("Show all banks")
    visitor.page.get_by_label("Country").select_option(label="Germany")
    visitor.fill("Bank", "demo")
    visitor.press("Search")
    choice_pages.chooses(visitor, 2)
    psu.approve(visitor, 2)

    assert visitor.page.url.startswith(f"{visitor.tpp.callback}?")
    assert "authorization_code=" in visitor.page.url


def test_a_bank_can_be_chosen_with_the_keyboard(visitors: Visitors) -> None:
    visitor = visitors()
    visitor.open(choice_pages.request(visitor))

    visitor.enter_at(visitor.page.locator("a.choice").first)

    assert "/demo-bank/two/" in visitor.page.url


def test_the_bank_logos_are_shown(visitors: Visitors) -> None:
    visitor = visitors()
    visitor.open(choice_pages.request(visitor))

    logo = visitor.page.locator("a.choice img").first
    assert logo.evaluate("image => image.complete && image.naturalWidth > 0")


def test_the_bank_list_is_filtered_while_typing(visitors: Visitors) -> None:
    visitor = visitors()
    visitor.open(choice_pages.request(visitor))

    visitor.fill("Bank", "nothing")

    assert visitor.page.get_by_text("Press Search to search all banks").is_visible()
    assert not visitor.page.locator("a.choice").first.is_visible()


def test_cancelling_the_bank_choice_returns_to_the_application(visitors: Visitors) -> None:
    visitor = visitors()
    visitor.open(choice_pages.request(visitor, state="kept"))

    visitor.follow(re.compile("^Cancel and go back to"))

    assert visitor.page.url.startswith(f"{visitor.tpp.callback}?")
    assert "error=access_denied" in visitor.page.url
    assert "state=kept" in visitor.page.url


def test_a_search_after_the_consent_redirects_to_the_application(visitor: Visitor, operator: bootstrap.Hub) -> None:
    """The page's policy allows it: Chromium applies ``form-action`` to the redirects after a form, too."""
    with serving({"/back": "Back"}) as shop:
        create = operator.openbanking.clients.create
        client = create(owner="browser@example.com", title="Shop", callback_urls=[f"{shop}/back"]).client
        visitor.tpp = Tpp(visitor.tpp.base, client.client_id, f"{shop}/back")
        visitor.may_reach(shop)
        visitor.open(choice_pages.request(visitor, state=new_id()))
        first = visitor.page
        visitor.page = first.context.new_page()
        visitor.open(first.url)
        choice_pages.chooses(visitor, 2)
        psu.approve(visitor, 2)

        visitor.page = first
        visitor.fill("Bank", "demo")
        visitor.press("Search")

        assert visitor.page.url.startswith(f"{shop}/back?error=invalid_request")
