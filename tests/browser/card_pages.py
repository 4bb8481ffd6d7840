"""The pages of the Cards area, and the way to each: somebody of a programme manager looks, and plays the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from tests.browser import user
from tests.browser.visitor import Visitor
from tests.browser.walks import Step, Walk, opens
from tests.cards.issuer import EVERYDAY, GERMANY, HOLDER_BLOCK
from tests.kit.time import PATIENCE_SECONDS


def walks() -> tuple[Walk, ...]:
    """Every page of the area; the user of the stack is linked to its programme manager."""
    return (
        Walk(
            "cards",
            (
                ("not-linked", _registers_and_looks),
                ("begin", _looks),
                ("new", _opens_a_new_card),
                ("issue", opens("/cards/new")),
                ("new-again", _opens_a_new_card),
                ("activated", simulates("Activate the card", "Activate")),
                ("bank-details", simulates("Bank details", "Open")),
                ("money-in", simulates("Inbound payment", "Send")),
                ("approved", simulates("Authorization", "Request", amount="120.00")),
                ("declined", simulates("Authorization", "Request", amount="1200.00")),
                ("not-an-amount", simulates("Authorization", "Request", amount="a lot", pin="73")),
                ("refused", simulates("Reversal", "Cancel", amount="5000.00")),
                ("collected", simulates("Clearing", "Collect", amount="110.00")),
                ("forms", _opens_the_longest_form),
                ("block-question", _asks_to_block),
                ("statement", _opens_a_statement),
                ("list", opens("/cards")),
                ("found", opens("/cards?status=A")),
                ("nothing-found", opens("/cards?digits=12")),
                ("activity", opens("/cards/activity")),
                ("before-all", opens("/cards?before=1")),
                ("not-found", opens("/cards/999999999")),
            ),
            ("/cards", "/cards/new", "/cards/{card_id}", "/cards/{card_id}/statement", "/cards/activity"),
        ),
    )


def called(visitor: Visitor, action: str, **members: Any) -> Mapping[str, Any]:
    """What the card API answers the programme manager of the stack."""
    body = {**visitor.stack["programme"]["credentials"]["full"], "action": action, "api_version": "1.2", **members}
    answer = requests.post(f"{visitor.stack['base_url']}/api", json=body, timeout=PATIENCE_SECONDS).json()
    assert answer["status"] == "success", answer
    data: Mapping[str, Any] = answer["data"]
    return data


def new_card(visitor: Visitor, **members: Any) -> int:
    """A virtual card of a new holder, not activated."""
    least = {
        "card_program_id": EVERYDAY,
        "card_country_ison": GERMANY,
        "card_virtual": 1,
        "card_name_line_3": "ZOE ONEIL",
    }
    return int(called(visitor, "createCard", **least, **HOLDER_BLOCK, **members)["card_id"])


def sign_in(visitor: Visitor) -> None:
    """As the user of the stack."""
    user.sign_in(visitor, visitor.stack["user"]["email"], visitor.stack["user"]["password"])


def simulates(form: str, button: str, **fields: str) -> Step:
    """Fill in a form of the simulator and send it; ``form`` is how its title begins."""

    def step(visitor: Visitor) -> None:
        opened = visitor.page.locator("details", has=visitor.page.locator("summary", has_text=form)).first
        if opened.get_attribute("open") is None:
            opened.locator("summary").click()
        for name, value in fields.items():
            opened.locator(f'[name="{name}"]').fill(value)
        with visitor.page.expect_navigation():
            opened.get_by_role("button", name=button, exact=True).click()

    return step


def _registers_and_looks(visitor: Visitor) -> None:
    user.register(visitor)
    user.go_to(visitor, "Cards")


def _looks(visitor: Visitor) -> None:
    visitor.page.context.clear_cookies()
    sign_in(visitor)
    user.go_to(visitor, "Cards")


def _opens_a_new_card(visitor: Visitor) -> None:
    new_card(visitor)
    visitor.open(f"/cards/{new_card(visitor, card_currency_ison=[978, 840])}")


def _opens_the_longest_form(visitor: Visitor) -> None:
    visitor.page.locator("summary", has_text="Authorization").click()


def _asks_to_block(visitor: Visitor) -> None:
    opened = visitor.page.locator("details", has=visitor.page.locator("summary", has_text="Block, unblock")).first
    opened.locator("summary").click()
    opened.locator('[name="status"]').select_option("B")
    with visitor.page.expect_navigation():
        opened.get_by_role("button", name="Change the status").click()


def _opens_a_statement(visitor: Visitor) -> None:
    visitor.page.get_by_role("link", name="Keep it as it is").click()
    visitor.page.locator('a[href*="/statement"]').first.click()
