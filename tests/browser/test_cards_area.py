"""Somebody of a programme manager who opens the Cards area, and plays the network with a card that is new."""

from __future__ import annotations

import pytest

from tests.browser import card_pages, user
from tests.browser.card_pages import simulates
from tests.browser.visitor import HEIGHT, Visitor, Visitors


@pytest.mark.parametrize(
    "javascript",
    [pytest.param(False, id="without JavaScript"), pytest.param(True, id="with JavaScript", marks=pytest.mark.pages)],
)
def test_from_a_new_card_to_a_purchase_that_was_collected(visitors: Visitors, javascript: bool) -> None:
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


@pytest.mark.pages
def test_the_picture_of_a_balance_has_its_words(visitor: Visitor) -> None:
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


@pytest.mark.pages
def test_one_form_is_open_at_a_time_and_the_keyboard_gets_there(visitor: Visitor) -> None:
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


@pytest.mark.pages
@pytest.mark.parametrize("javascript", [True, False])
def test_the_first_field_that_is_wrong_has_the_focus_and_is_on_the_screen(visitors: Visitors, javascript: bool) -> None:
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
