"""The layout of the API explorer: column widths, column visibility, and folded long content."""

import re

import pytest
from playwright.sync_api import Page

from tests.browser import page_checks, user
from tests.browser.explorer import authorized, execute, executed, lock, screen
from tests.browser.window import Window, Windows

pytestmark = pytest.mark.pages

LEAST = 420
"""The minimum width in pixels of the form and of the response on a screen that is 1280 pixels wide."""


def width(page: Page, place: str) -> float:
    box = page.locator(place).bounding_box()
    assert box is not None
    return box["width"]


def test_the_form_and_the_response_have_the_minimum_width_when_the_menu_is_shown(windows: Windows) -> None:
    window = windows(width=1280)
    page = window.page
    user.register(window)
    screen(window, "payments", "payment_initiation")

    assert width(page, ".x-middle") >= LEAST
    assert width(page, ".x-side") >= LEAST
    table = page.locator(".x-description .scroll")
    assert table.evaluate("element => element.scrollWidth <= element.clientWidth")
    for entry in page.locator(".sidebar .menu a").all():
        assert entry.evaluate("element => element.scrollWidth <= element.clientWidth"), entry.inner_text()


def test_a_balance_response_is_visible_in_the_explorer_without_scrolling(windows: Windows) -> None:
    window = windows(width=1280)
    page = window.page
    authorized(window, 1)
    executed(page, "unified_accounts")
    execute(page, "Balance of Everyday Account")
    words = page.locator(".x-words")

    assert re.fullmatch(r"Everyday Account: [\d,]+\.\d{2} GBP", words.inner_text())
    for place in (page.locator("#operation-title"), page.get_by_role("button", name="Execute", exact=True), words):
        box = place.bounding_box()
        assert box is not None
        assert 0 <= box["y"] < box["y"] + box["height"] <= 800
    assert page.evaluate("() => scrollY") == 0


def test_the_code_sample_and_the_response_have_no_nested_scrollbars(windows: Windows) -> None:
    window = windows(width=1280)
    page = window.page
    screen(window, "payments", "direct_payment_initiation")
    lock(window, window.stack["client"]["client_id"])
    execute(page)
    blocks = page.locator(".x-sample pre, .x-body, .x-body .json").all()

    assert len(blocks) == 3
    for block in blocks:
        assert block.evaluate("element => element.scrollHeight <= element.clientHeight + 2")


def test_stored_credentials_are_shown_in_one_line_that_expands(windows: Windows) -> None:
    window = windows(width=1280)
    page = window.page
    authorized(window, 1)
    box = page.locator("#credentials").bounding_box()
    assert box is not None
    assert box["height"] <= 60
    said = page.locator("#credentials-state").inner_text()
    assert re.match(r"Locked\. Client Budget Friend · access token \w{8}… · Demo Bank One, valid until ", said)
    page.get_by_role("button", name="Show credentials").click()
    assert page.locator("#access-token").is_visible()
    assert "Permissions: account.list" in page.locator("#credentials-more").inner_text()
    page.locator("#access-token").fill("wrong")
    window.forgive("401 (Unauthorized)")
    page.locator("#access-token").press("Tab")
    page.get_by_text("These credentials will be refused.").wait_for()
    page.reload()

    page.get_by_text("Locked. Client Budget Friend").wait_for()
    assert not page.locator("#access-token").is_visible(), "the address names the journey, whose token is good"


def test_a_wide_screen_shows_the_full_menu_on_api_screens(windows: Windows) -> None:
    window = windows(width=1600)
    user.register(window)
    window.open("/clients")
    whole = width(window.page, ".sidebar")
    screen(window, "payments")

    assert width(window.page, ".sidebar") == whole


def test_the_execute_button_and_the_search_field_remain_visible_next_to_a_long_form(window: Window) -> None:
    page = window.page
    screen(window, "payments", "payment_initiation")
    page.mouse.wheel(0, 1500)
    page.wait_for_function("() => scrollY > 1000")

    for place in (page.get_by_role("button", name="Execute", exact=True), page.get_by_label("Search operations")):
        box = place.bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 200


def test_the_execute_button_is_visible_on_a_phone_and_covers_no_field(windows: Windows) -> None:
    window = windows(width=page_checks.PHONE)
    page = window.page
    screen(window, "payments", "payment_initiation")
    execute = page.get_by_role("button", name="Execute", exact=True)
    page.locator(".x-form input").first.focus()
    for _ in range(8):
        page.keyboard.press("Tab")
        bottom = page.evaluate("() => document.activeElement.getBoundingClientRect().bottom")
        bar = page.locator(".x-execute").bounding_box()
        assert bar is not None
        assert bottom <= bar["y"] < bar["y"] + bar["height"] <= 801
        assert execute.is_visible()

    assert not page_checks.too_wide(page)
    execute.click()
    assert "enter a Client ID" in page.get_by_role("alert").inner_text()
    assert page.get_by_role("alert").evaluate("element => element.getBoundingClientRect().bottom") <= 801


def test_the_documented_errors_of_an_operation_are_collapsed_in_the_explorer(window: Window) -> None:
    page = window.page
    screen(window, "payments", "payment_initiation")
    errors = page.locator("details", has=page.locator("summary", has_text="Documented errors: 400, 401"))
    assert errors.get_attribute("open") is None
    assert errors.locator("h3").count() == 0, "drawn when somebody opens them"
    errors.locator("summary").click()

    errors.get_by_role("heading", name="401").wait_for()
    assert errors.get_by_role("heading", name="401").is_visible()
