"""Browser tests of the bank choice page: search, keyboard use, logos, and the redirects to bank and application."""

import re

import pytest

from chalicelib import bootstrap
from chalicelib.foundation.identifiers import new_id
from tests.browser import psu
from tests.browser.conftest import serve_application
from tests.browser.window import Window, Windows
from tests.e2e.parties import Tpp

pytestmark = pytest.mark.pages

with_and_without_javascript = pytest.mark.parametrize("javascript", [True, False], ids=["scripts", "no scripts"])


@with_and_without_javascript
@pytest.mark.parametrize("way", [psu.request_without_bank, psu.pushed_request_without_bank], ids=["plain", "pushed"])
def test_a_psu_searches_for_a_bank_chooses_the_bank_and_approves_a_consent(
    windows: Windows, javascript: bool, way: object
) -> None:
    window = windows(javascript=javascript)
    assert callable(way)
    window.open(way(window))

    window.fill("Bank", "nothing")
    window.press("Search")
    assert window.page.get_by_text("No bank matches your search").is_visible()
    window.follow("Show all banks")
    window.page.get_by_label("Country").select_option(label="Germany")
    window.fill("Bank", "demo")
    window.press("Search")
    psu.choose_bank(window, 2)
    psu.approve(window, 2)

    assert window.page.url.startswith(f"{window.tpp.callback}?")
    assert "authorization_code=" in window.page.url


def test_a_bank_can_be_chosen_with_the_keyboard(windows: Windows) -> None:
    window = windows()
    window.open(psu.request_without_bank(window))

    window.enter_at(window.page.locator("a.choice").first)

    assert "/demo-bank/two/" in window.page.url


def test_the_bank_list_shows_the_logo_of_a_bank(windows: Windows) -> None:
    window = windows()
    window.open(psu.request_without_bank(window))

    logo = window.page.locator("a.choice img").first
    assert logo.evaluate("image => image.complete && image.naturalWidth > 0")


def test_the_bank_list_is_filtered_while_typing(windows: Windows) -> None:
    window = windows()
    window.open(psu.request_without_bank(window))

    window.fill("Bank", "nothing")

    assert window.page.get_by_text("Press Search to search all banks").is_visible()
    assert not window.page.locator("a.choice").first.is_visible()


def test_cancelling_the_bank_choice_redirects_to_the_application(windows: Windows) -> None:
    window = windows()
    window.open(psu.request_without_bank(window, state="kept"))

    window.follow(re.compile("^Cancel and go back to"))

    assert window.page.url.startswith(f"{window.tpp.callback}?")
    assert "error=access_denied" in window.page.url
    assert "state=kept" in window.page.url


def test_a_bank_search_after_the_consent_redirects_to_the_application(window: Window, operator: bootstrap.Hub) -> None:
    """Chromium also applies ``form-action`` to the redirects that follow a form. The policy allows these redirects."""
    with serve_application({"/back": "Back"}) as shop:
        create = operator.openbanking.clients.create
        client = create(owner="browser@example.com", title="Shop", callback_urls=[f"{shop}/back"]).client
        window.tpp = Tpp(window.tpp.base, client.client_id, f"{shop}/back")
        window.may_reach(shop)
        window.open(psu.request_without_bank(window, state=new_id()))
        first = window.page
        window.page = first.context.new_page()
        window.open(first.url)
        psu.choose_bank(window, 2)
        psu.approve(window, 2)

        window.page = first
        window.fill("Bank", "demo")
        window.press("Search")

        assert window.page.url.startswith(f"{shop}/back?error=invalid_request")
