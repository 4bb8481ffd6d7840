"""The Cards area in a browser: card issuing, the network simulator, and statements, also with the keyboard alone."""

from pathlib import Path

import pytest

from tests.browser import user
from tests.browser.page_checks import too_wide
from tests.browser.window import HEIGHT, Window, Windows

pytestmark = pytest.mark.pages
A4 = 718
"""The width of an A4 sheet without Chromium's margins, in CSS pixels."""
NEW = {
    "Country of use": "Germany",
    "Name on the card": "ADA LOVELACE",
    "First name": "Ada",
    "Last name": "Lovelace",
    "Address": "1 Riverside",
    "Postcode": "E1 6AN",
    "City": "London",
    "Country": "United Kingdom",
    "Phone number": "447700900123",
}


@pytest.mark.parametrize("javascript", [False, True], ids=["without JavaScript", "with JavaScript"])
def test_a_user_issues_a_card_and_simulates_a_cleared_purchase(windows: Windows, javascript: bool) -> None:
    window = windows(javascript=javascript, width=1280 if javascript else 390)
    user.sign_in_as_issuer(window)
    window.open(f"/cards/{user.new_card(window)}")
    said = []
    for form, button in (
        ("Authorization", "Request"),
        ("Activate the card", "Activate"),
        ("Bank details", "Open"),
        ("Inbound payment", "Send"),
        ("Authorization", "Request"),
        ("Clearing", "Collect"),
    ):
        user.simulate(window, form, button)
        said.append(window.page.locator("#outcome h3, #toast p").inner_text())

    activated = "The card is active: it can be used now."
    assert said == ["Declined", activated, "Bank details opened", "The payment is settled", "Approved", "Collected"]
    assert window.page.locator(".figures dd").all_inner_texts() == ["475.00 EUR", "475.00 EUR", "0.00 EUR", "0.00 EUR"]
    user.go_to(window, "Cards")
    assert "475.00 EUR" in window.page.locator("tbody tr").first.inner_text()


def test_the_balance_chart_has_a_description(window: Window) -> None:
    user.sign_in_as_issuer(window)
    window.open(f"/cards/{user.new_card(window)}")
    for form, button in (
        ("Activate", "Activate"),
        ("Bank details", "Open"),
        ("Inbound payment", "Send"),
        ("Inbound payment", "Send"),
    ):
        user.simulate(window, form, button)
    picture = window.page.get_by_role("img", name="Balance of account")

    assert "from 500.00 EUR to 1,000.00 EUR" in (picture.locator("desc").text_content() or "")
    box = picture.bounding_box()
    assert box is not None
    assert box["width"] > 600


def test_only_one_card_form_is_open_at_a_time_and_all_forms_are_reachable_with_the_keyboard(window: Window) -> None:
    user.sign_in_as_issuer(window)
    window.open(f"/cards/{user.new_card(window)}")
    forms = window.page.locator(".card-forms details")
    for name in ("Authorization", "Clearing"):
        summary = forms.locator("summary", has_text=name).first
        summary.focus()
        window.page.keyboard.press("Enter")

    assert window.page.locator(".card-forms details[open] summary").all_inner_texts() == ["Clearing: the shop collects"]


@pytest.mark.parametrize("javascript", [True, False])
def test_the_first_invalid_field_is_focused_and_visible(windows: Windows, javascript: bool) -> None:
    window = windows(javascript=javascript)
    user.sign_in_as_issuer(window)
    window.open(f"/cards/{user.new_card(window)}")
    user.simulate(window, "Authorization", "Request", amount="a lot", pin="73")
    field = window.page.locator(":focus")

    assert field.get_attribute("name") == "amount"
    assert field.get_attribute("aria-invalid") == "true"
    error = window.page.locator(f"#{field.get_attribute('aria-describedby')}")
    assert "Enter an amount of EUR" in error.inner_text()
    box = error.bounding_box()
    assert box is not None
    assert 0 < box["y"] < HEIGHT


def test_a_card_is_issued_managed_and_used_with_the_keyboard_alone(window: Window) -> None:
    page, keyboard = window.page, window.page.keyboard
    user.sign_in_as_issuer(window)
    window.open("/cards")
    window.enter_at(page.get_by_role("link", name="Issue a card"))
    for label, words in NEW.items():
        window.tab_to(page.get_by_label(label, exact=True).first)
        keyboard.type(words)
    window.enter_at(page.get_by_role("button", name="Issue the card"))
    said = [page.locator("#toast p").inner_text()]

    for form, button in (("Activate the card", "Activate"), ("Block, unblock", "Change the status")):
        opens_with_keys(window, form)
        window.enter_at(page.get_by_role("button", name=button, exact=True))
        said.append(page.locator("#toast p").inner_text())
    opens_with_keys(window, "Authorization: a shop")
    window.enter_at(page.get_by_role("form", name="Authorization: a shop").get_by_role("button", name="Request"))
    said.append(page.locator("#outcome h3").inner_text())
    page.reload()
    window.enter_at(page.get_by_role("link", name="Statement of account"))
    window.tab_to(page.get_by_role("link", name="Download CSV"))
    with page.expect_download() as download:
        keyboard.press("Enter")

    assert said == [
        "The card has been issued. Activate it before it is used.",
        "The card is active: it can be used now.",
        "The card's status has been changed.",
        "Declined",
    ]
    assert download.value.suggested_filename.startswith("statement-")
    assert Path(download.value.path()).read_text("utf-8").count("balance") == 3


def opens_with_keys(window: Window, form: str) -> None:
    window.tab_to(window.page.locator("summary", has_text=form).first)
    window.page.keyboard.press("Enter")


def test_a_printed_statement_is_not_cut_off(window: Window) -> None:
    user.sign_in_as_issuer(window)
    window.open("/cards/1/statement")
    window.page.set_viewport_size({"width": A4, "height": HEIGHT})
    window.page.emulate_media(media="print")

    assert too_wide(window.page, A4) == []
    for hidden in ("Filter", "Print"):
        assert not window.page.get_by_role("button", name=hidden).is_visible()
