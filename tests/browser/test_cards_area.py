"""Somebody of a programme manager who opens the Cards area, and plays the network with a card that is new."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import card_pages, user
from tests.browser.card_pages import simulates
from tests.browser.checks import too_wide
from tests.browser.visitor import HEIGHT, Visitor, Visitors

pytestmark = pytest.mark.pages
A4 = 718
"""The width of a sheet within Chromium's margins, in CSS pixels."""
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
def test_a_user_takes_a_new_card_to_a_cleared_purchase(visitors: Visitors, javascript: bool) -> None:
    visitor = visitors(javascript=javascript, width=1280 if javascript else 390)
    card_pages.sign_in(visitor)
    visitor.open(f"/cards/{card_pages.new_card(visitor)}")
    said = []
    for form, button in (
        ("Authorization", "Request"),
        ("Activate the card", "Activate"),
        ("Bank details", "Open"),
        ("Inbound payment", "Send"),
        ("Authorization", "Request"),
        ("Clearing", "Collect"),
    ):
        simulates(form, button)(visitor)
        said.append(visitor.page.locator("#outcome h3, #toast p").inner_text())

    activated = "The card is active: it can be used now."
    assert said == ["Declined", activated, "Bank details opened", "The payment is settled", "Approved", "Collected"]
    assert visitor.page.locator(".figures dd").all_inner_texts() == ["475.00 EUR", "475.00 EUR", "0.00 EUR", "0.00 EUR"]
    user.go_to(visitor, "Cards")
    assert "475.00 EUR" in visitor.page.locator("tbody tr").first.inner_text()


def test_the_balance_chart_has_a_description(visitor: Visitor) -> None:
    card_pages.sign_in(visitor)
    visitor.open(f"/cards/{card_pages.new_card(visitor)}")
    for form, button in (
        ("Activate", "Activate"),
        ("Bank details", "Open"),
        ("Inbound payment", "Send"),
        ("Inbound payment", "Send"),
    ):
        simulates(form, button)(visitor)
    picture = visitor.page.get_by_role("img", name="Balance of account")

    assert "from 500.00 EUR to 1,000.00 EUR" in (picture.locator("desc").text_content() or "")
    box = picture.bounding_box()
    assert box is not None
    assert box["width"] > 600


def test_one_form_is_open_at_a_time_and_reachable_with_the_keyboard(visitor: Visitor) -> None:
    card_pages.sign_in(visitor)
    visitor.open(f"/cards/{card_pages.new_card(visitor)}")
    forms = visitor.page.locator(".card-forms details")
    for name in ("Authorization", "Clearing"):
        summary = forms.locator("summary", has_text=name).first
        summary.focus()
        visitor.page.keyboard.press("Enter")

    assert visitor.page.locator(".card-forms details[open] summary").all_inner_texts() == [
        "Clearing: the shop collects"
    ]


@pytest.mark.parametrize("javascript", [True, False])
def test_the_first_invalid_field_has_the_focus_and_is_on_the_screen(visitors: Visitors, javascript: bool) -> None:
    visitor = visitors(javascript=javascript)
    card_pages.sign_in(visitor)
    visitor.open(f"/cards/{card_pages.new_card(visitor)}")
    simulates("Authorization", "Request", amount="a lot", pin="73")(visitor)
    field = visitor.page.locator(":focus")

    assert field.get_attribute("name") == "amount"
    assert field.get_attribute("aria-invalid") == "true"
    error = visitor.page.locator(f"#{field.get_attribute('aria-describedby')}")
    assert "Enter an amount of EUR" in error.inner_text()
    box = error.bounding_box()
    assert box is not None
    assert 0 < box["y"] < HEIGHT


def test_a_card_is_issued_managed_used_and_its_statement_downloaded_with_the_keyboard_alone(visitor: Visitor) -> None:
    page, keyboard = visitor.page, visitor.page.keyboard
    card_pages.sign_in(visitor)
    visitor.open("/cards")
    visitor.enter_at(page.get_by_role("link", name="Issue a card"))
    for label, words in NEW.items():
        visitor.tab_to(page.get_by_label(label, exact=True).first)
        keyboard.type(words)
    visitor.enter_at(page.get_by_role("button", name="Issue the card"))
    said = [page.locator("#toast p").inner_text()]

    for form, button in (("Activate the card", "Activate"), ("Block, unblock", "Change the status")):
        opens_with_keys(visitor, form)
        visitor.enter_at(page.get_by_role("button", name=button, exact=True))
        said.append(page.locator("#toast p").inner_text())
    opens_with_keys(visitor, "Authorization: a shop")
    visitor.enter_at(page.get_by_role("form", name="Authorization: a shop").get_by_role("button", name="Request"))
    said.append(page.locator("#outcome h3").inner_text())
    page.reload()
    visitor.enter_at(page.get_by_role("link", name="Statement of account"))
    visitor.tab_to(page.get_by_role("link", name="Download CSV"))
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


def opens_with_keys(visitor: Visitor, form: str) -> None:
    visitor.tab_to(visitor.page.locator("summary", has_text=form).first)
    visitor.page.keyboard.press("Enter")


def test_a_printed_statement_is_not_cut_off(visitor: Visitor) -> None:
    card_pages.sign_in(visitor)
    visitor.open("/cards/1/statement")
    visitor.page.set_viewport_size({"width": A4, "height": HEIGHT})
    visitor.page.emulate_media(media="print")

    assert too_wide(visitor.page, A4) == []
    for hidden in ("Filter", "Print"):
        assert not visitor.page.get_by_role("button", name=hidden).is_visible()
