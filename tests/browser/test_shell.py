"""The shell of all pages: its menus, messages, and what a keyboard reaches, with and without JavaScript."""

from __future__ import annotations

import pytest

from tests.browser import user
from tests.browser.checks import PHONE, check_page
from tests.browser.visitor import Visitor, Visitors, is_focused

pytestmark = pytest.mark.pages

MENU = ["Start", "Clients", "Authorize", "Consents", "API", "Events", "Performance", "Cards", "Docs"]


@pytest.mark.parametrize("javascript", [True, False])
def test_the_phone_menu_opens_without_a_script_and_lists_every_entry(visitors: Visitors, javascript: bool) -> None:
    visitor = visitors(width=PHONE, javascript=javascript)
    user.register(visitor)
    menu = visitor.page.get_by_role("navigation", name="Main")
    assert menu.count() == 0

    visitor.page.locator("summary[aria-label=Menu]").click()

    assert [each.strip() for each in menu.get_by_role("link").all_inner_texts()] == MENU
    user.go_to(visitor, "Clients")
    assert visitor.page.url.endswith("/clients")


def test_a_wide_screen_has_the_menu_at_the_left(visitor: Visitor) -> None:
    user.register(visitor)
    menu = visitor.page.get_by_role("navigation", name="Main")

    assert [each.strip() for each in menu.get_by_role("link").all_inner_texts()] == MENU
    assert visitor.page.locator("summary[aria-label=Menu]").is_hidden()


def test_a_page_is_at_most_1280_pixels_wide(visitors: Visitors) -> None:
    visitor = visitors(width=1800)
    visitor.open("/performance")

    assert visitor.page.locator("main > .wrap").evaluate("element => element.getBoundingClientRect().width") == 1280


def test_open_menus_are_accessible_and_close_with_escape(visitor: Visitor) -> None:
    user.register(visitor)
    account = visitor.page.locator("details.account")
    account.locator("summary").click()
    check_page(visitor.page)

    visitor.page.keyboard.press("Escape")

    assert account.get_attribute("open") is None
    assert is_focused(account.locator("summary"))


def test_an_email_is_shown_on_wide_screens_and_hidden_in_the_menu_on_phones(visitor: Visitor) -> None:
    email = user.register(visitor)
    shown = visitor.page.locator(".account .email")
    assert shown.inner_text() == email
    assert shown.evaluate("element => element.scrollWidth <= element.clientWidth")

    visitor.page.set_viewport_size({"width": PHONE, "height": 800})

    assert shown.evaluate("element => element.clientWidth") <= 1
    visitor.page.locator(".account summary").click()
    assert visitor.page.locator(".panel strong").inner_text() == email


def test_a_message_is_shown_once(visitor: Visitor) -> None:
    user.register(visitor)
    assert visitor.page.get_by_role("status").inner_text() == "Your account has been created, and you are signed in."

    visitor.page.reload()

    assert visitor.page.locator(".toast").count() == 0


def test_tables_of_the_documentation_become_cards_on_a_phone(visitors: Visitors) -> None:
    visitor = visitors(width=PHONE)
    visitor.open("/docs/guides/tpp-faults")
    table = visitor.page.locator("table").nth(1)
    cells = table.get_by_role("row").nth(1).get_by_role("cell")

    assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
    labels = cells.evaluate_all("cells => cells.map(cell => cell.dataset.label)")
    assert labels == [None, "What the bank does", "What you see", "How a good TPP responds"]
    lefts = cells.evaluate_all("cells => cells.map(cell => cell.getBoundingClientRect().left)")
    assert len(set(lefts)) == 1, "they stand below each other"


def test_tables_of_the_documentation_scroll_without_a_script(visitors: Visitors) -> None:
    visitor = visitors(width=PHONE, javascript=False)
    visitor.open("/docs/guides/tpp-faults")

    region = visitor.page.locator(".scroll").nth(1)
    assert region.get_by_role("columnheader").first.is_visible()


def test_the_documentation_is_searched_while_typing(visitor: Visitor) -> None:
    visitor.open("/docs")
    visitor.fill("Search the documentation", "argon2id")

    visitor.page.get_by_role("heading", name="Search", exact=True).wait_for()

    assert "Argon2id" in visitor.page.locator(".results").inner_text()


def test_chart_values_are_readable_with_the_keyboard(visitor: Visitor) -> None:
    visitor.open(f"/performance?bic={visitor.bank(2)['bic']}")
    tips = visitor.page.locator(".chart-tips").first.locator("li")
    visitor.tab_to(tips.last)
    words = "element => getComputedStyle(element, '::before').content"
    assert tips.last.get_attribute("aria-label") in tips.last.evaluate(words)

    visitor.page.keyboard.press("ArrowLeft")

    assert is_focused(tips.nth(-2))
    visitor.page.keyboard.press("Home")
    assert is_focused(tips.first)


def test_the_move_time_button_shows_that_it_is_busy(visitor: Visitor) -> None:
    user.register(visitor)
    visitor.open("/clock")
    visitor.page.evaluate("() => addEventListener('submit', event => event.preventDefault())")

    visitor.page.get_by_role("button", name="Move time").click()

    busy = visitor.page.get_by_role("button", name="Moving time…")
    assert busy.get_attribute("aria-busy") == "true"


def test_no_column_of_the_card_list_is_cut_off_on_a_wide_screen(visitor: Visitor) -> None:
    user.sign_in(visitor, visitor.stack["user"]["email"], visitor.stack["user"]["password"])
    visitor.open("/cards")

    assert visitor.page.locator(".scroll").evaluate("element => element.scrollWidth <= element.clientWidth")
