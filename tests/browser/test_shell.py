"""The common layout of all pages: menus, messages and keyboard access, with and without JavaScript."""

import pytest

from tests.browser import user
from tests.browser.page_checks import PHONE, findings
from tests.browser.window import Window, Windows, is_focused

pytestmark = pytest.mark.pages

MENU = ["Start", "Clients", "Authorize", "Consents", "API", "Events", "Performance", "Cards", "Docs"]


@pytest.mark.parametrize("javascript", [True, False])
def test_the_phone_menu_opens_without_javascript_and_lists_every_entry(windows: Windows, javascript: bool) -> None:
    window = windows(width=PHONE, javascript=javascript)
    user.register(window)
    menu = window.page.get_by_role("navigation", name="Main")
    assert menu.count() == 0

    window.page.locator("summary[aria-label=Menu]").click()

    assert [each.strip() for each in menu.get_by_role("link").all_inner_texts()] == MENU
    user.go_to(window, "Clients")
    assert window.page.url.endswith("/clients")


def test_a_wide_screen_shows_the_menu_on_the_left(window: Window) -> None:
    user.register(window)
    menu = window.page.get_by_role("navigation", name="Main")

    assert [each.strip() for each in menu.get_by_role("link").all_inner_texts()] == MENU
    assert window.page.locator("summary[aria-label=Menu]").is_hidden()


def test_a_page_is_at_most_1280_pixels_wide(windows: Windows) -> None:
    window = windows(width=1800)
    window.open("/performance")

    assert window.page.locator("main > .wrap").evaluate("element => element.getBoundingClientRect().width") == 1280


def test_open_menus_are_accessible_and_close_with_escape(window: Window) -> None:
    user.register(window)
    account = window.page.locator("details.account")
    account.locator("summary").click()
    assert not findings(window.page)

    window.page.keyboard.press("Escape")

    assert account.get_attribute("open") is None
    assert is_focused(account.locator("summary"))


def test_the_user_email_is_shown_on_wide_screens_and_hidden_in_the_phone_menu(window: Window) -> None:
    email = user.register(window)
    shown = window.page.locator(".account .email")
    assert shown.inner_text() == email
    assert shown.evaluate("element => element.scrollWidth <= element.clientWidth")

    window.page.set_viewport_size({"width": PHONE, "height": 800})

    assert shown.evaluate("element => element.clientWidth") <= 1
    window.page.locator(".account summary").click()
    assert window.page.locator(".panel strong").inner_text() == email


def test_a_message_is_shown_only_once(window: Window) -> None:
    user.register(window)
    assert window.page.get_by_role("status").inner_text() == "Your account has been created, and you are signed in."

    window.page.reload()

    assert window.page.locator(".toast").count() == 0


def test_tables_of_the_documentation_are_shown_as_cards_on_a_phone(windows: Windows) -> None:
    window = windows(width=PHONE)
    window.open("/docs/guides/tpp-faults")
    table = window.page.locator("table").nth(1)
    cells = table.get_by_role("row").nth(1).get_by_role("cell")

    assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
    labels = cells.evaluate_all("cells => cells.map(cell => cell.dataset.label)")
    assert labels == [None, "What the bank does", "What you see", "How a good TPP responds"]
    lefts = cells.evaluate_all("cells => cells.map(cell => cell.getBoundingClientRect().left)")
    assert len(set(lefts)) == 1, "they stand below each other"


def test_tables_of_the_documentation_scroll_without_javascript(windows: Windows) -> None:
    window = windows(width=PHONE, javascript=False)
    window.open("/docs/guides/tpp-faults")

    region = window.page.locator(".scroll").nth(1)
    assert region.get_by_role("columnheader").first.is_visible()


def test_the_documentation_is_searched_while_typing(window: Window) -> None:
    window.open("/docs")
    window.fill("Search the documentation", "argon2id")

    window.page.get_by_role("heading", name="Search", exact=True).wait_for()

    assert "Argon2id" in window.page.locator(".results").inner_text()


def test_chart_values_are_readable_with_the_keyboard(window: Window) -> None:
    window.open(f"/performance?bic={window.bank(2)['bic']}")
    tips = window.page.locator(".chart-tips").first.locator("li")
    window.tab_to(tips.last)
    words = "element => getComputedStyle(element, '::before').content"
    assert tips.last.get_attribute("aria-label") in tips.last.evaluate(words)

    window.page.keyboard.press("ArrowLeft")

    assert is_focused(tips.nth(-2))
    window.page.keyboard.press("Home")
    assert is_focused(tips.first)


def test_the_clock_advance_button_shows_a_busy_state(window: Window) -> None:
    user.register(window)
    window.open("/clock")
    window.page.evaluate("() => addEventListener('submit', event => event.preventDefault())")

    window.page.get_by_role("button", name="Move time").click()

    busy = window.page.get_by_role("button", name="Moving time…")
    assert busy.get_attribute("aria-busy") == "true"


def test_no_column_of_the_card_list_is_cut_off_on_a_wide_screen(window: Window) -> None:
    user.sign_in(window, window.stack["user"]["email"], window.stack["user"]["password"])
    window.open("/cards")

    assert window.page.locator(".scroll").evaluate("element => element.scrollWidth <= element.clientWidth")
