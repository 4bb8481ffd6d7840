"""Keyboard access: a complete call in the API explorer, and the menus of all pages."""

import json

import pytest
from playwright.sync_api import Locator

from tests.browser import user
from tests.browser.explorer import answered, screen
from tests.browser.page_checks import PHONE
from tests.browser.window import Window, Windows, is_focused

pytestmark = pytest.mark.pages

_CLIPBOARD = "() => navigator.clipboard.readText()"


def write(window: Window, label: str, value: str) -> None:
    window.tab_to(window.page.get_by_label(label, exact=True))
    window.page.keyboard.type(value)


def press(window: Window, place: Locator, key: str = "Enter") -> None:
    window.tab_to(place)
    window.page.keyboard.press(key)


def test_a_call_is_filled_in_executed_and_copied_with_the_keyboard(window: Window) -> None:
    page, keyboard = window.page, window.page.keyboard
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    screen(window, "authorization")
    write(window, "Client ID", window.stack["client"]["client_id"])
    keyboard.press("Enter")
    page.locator("#credentials-state", has_text="Locked.").wait_for()

    window.tab_to(page.get_by_label("Search operations"))
    keyboard.type("banks")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    title = page.get_by_role("heading", name="List the banks", exact=True)
    title.wait_for()
    assert is_focused(title), "what has been opened is read out, and the next Tab leads into it"
    write(window, "country", "DE")
    press(window, page.get_by_role("button", name="Execute", exact=True))
    answer = answered(page)
    assert [bank["country"] for bank in answer.body["banks"]] == ["DE"] * 2

    python = page.locator(".code-tabs").get_by_label("Python", exact=True)
    window.tab_to(page.locator(".code-tabs").get_by_label("curl", exact=True))
    keyboard.press("ArrowRight")
    assert python.is_checked()
    press(window, page.get_by_role("button", name="Copy the request"))
    page.get_by_role("status").get_by_text("Copied", exact=True).wait_for()
    assert "banks_page(" in page.evaluate(_CLIPBOARD)
    press(window, page.get_by_role("button", name="Copy the body"))
    page.locator("#announcement", has_text="Copied").wait_for()
    assert json.loads(page.evaluate(_CLIPBOARD)) == answer.body

    banks = page.locator(".json-node .json-node").first
    press(window, banks.locator("summary").first)
    assert banks.get_attribute("open") is None
    keyboard.press("Enter")
    assert banks.get_attribute("open") is not None


def test_enter_on_the_current_operation_focuses_its_title(window: Window) -> None:
    page = window.page
    screen(window, "cards", "getHolder")
    title = page.locator("#operation-title")
    assert not is_focused(title), "loading a page moves nobody"
    page.locator("a[data-operation=getHolder]").focus()
    page.keyboard.press("Enter")

    assert is_focused(title)


def test_the_browser_back_button_focuses_the_operation_title(window: Window) -> None:
    page = window.page
    screen(window, "payments", "payment_status")
    page.locator("a[data-operation=bulk_payment_initiation]").press("Enter")
    page.get_by_role("heading", name="Initiate a bulk payment", exact=True).wait_for()
    page.go_back()
    page.get_by_role("heading", name="Read a payment's status", exact=True).wait_for()

    assert is_focused(page.locator("#operation-title"))


def test_the_skip_link_and_the_account_menu_are_usable_with_the_keyboard(window: Window) -> None:
    page, keyboard = window.page, window.page.keyboard
    email = user.register(window)
    keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    assert is_focused(skip)
    box = skip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    keyboard.press("Enter")
    keyboard.press("Tab")
    assert page.evaluate("() => document.querySelector('main').contains(document.activeElement)")

    page.reload()
    press(window, page.locator("summary", has_text=email))
    press(window, page.get_by_role("link", name="Account", exact=True))
    page.get_by_role("heading", name="Account", exact=True).wait_for()


@pytest.mark.parametrize("javascript", [True, False])
def test_the_phone_menu_is_usable_with_the_keyboard(windows: Windows, javascript: bool) -> None:
    window = windows(width=PHONE, javascript=javascript)
    user.register(window)
    press(window, window.page.locator("summary[aria-label=Menu]"))
    press(window, window.page.get_by_role("link", name="Consents", exact=True))

    window.page.get_by_role("heading", name="Consents", exact=True).wait_for()
