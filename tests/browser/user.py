"""What a user does in the web interface, in a browser."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from playwright.sync_api import Locator

from tests.browser import psu
from tests.browser.visitor import Visitor
from tests.kit.time import wait_for

PASSWORD = "correct horse battery"


def register(visitor: Visitor) -> str:
    """Register a new user, who is signed in afterwards; answers the email."""
    email = f"{secrets.token_hex(6)}@example.com"
    visitor.open("/register")
    visitor.fill("Email", email)
    visitor.fill("Password", PASSWORD)
    visitor.page.get_by_label("I agree to the terms").check()
    visitor.press("Register")
    return email


def sign_in(visitor: Visitor, email: str, password: str = PASSWORD) -> None:
    visitor.open("/sign-in")
    visitor.fill("Email", email)
    visitor.fill("Password", password)
    visitor.press("Sign in")


def sign_out(visitor: Visitor) -> None:
    """By the menu of the account."""
    visitor.page.locator("summary[aria-label^='Account ']").click()
    visitor.press("Sign out")


def mailed_link(visitor: Visitor, email: str) -> str:
    """The path of the link in the mail to an address. Raises: AssertionError, if none comes."""

    def look() -> str:
        for file in Path(visitor.stack["mails"]).glob("*.txt"):
            text = file.read_text("utf-8")
            if text.startswith(f"To: {email}\n"):
                found = re.search(rf"^{re.escape(visitor.stack['base_url'])}(/\S+)$", text, re.MULTILINE)
                assert found is not None
                return found[1]
        return ""

    return wait_for(look, "no mail came")


def create_client(
    visitor: Visitor, title: str = "Budget Friend", events_url: str = "", *, has_secret: bool = False
) -> str:
    """Answers the Client ID."""
    visitor.open("/clients/new")
    visitor.fill("Title", title)
    visitor.page.get_by_label("With a client secret").set_checked(has_secret)
    visitor.fill("Events URL (optional)", events_url)
    visitor.press("Create")
    return visitor.page.locator("#client-id").inner_text()


def go_to(visitor: Visitor, entry: str) -> None:
    """Follow an entry of the main menu, which a narrow screen opens first."""
    button = visitor.page.locator("summary[aria-label=Menu]")
    if button.is_visible() and visitor.page.locator("details.drawer[open]").count() == 0:
        button.click()
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("navigation", name="Main").get_by_role("link", name=entry, exact=True).click()


def choose_bank(visitor: Visitor, version: int) -> None:
    """From the menu to the page of the request."""
    go_to(visitor, "Authorize")
    visitor.press(f"Choose {visitor.bank(version)['name']}")


def run_request(visitor: Visitor) -> None:
    """On to the bank."""
    visitor.press("Run and go to the bank")


def authorize(visitor: Visitor, version: int) -> None:
    """From the menu to the tokens, saying yes to everything at the bank."""
    choose_bank(visitor, version)
    run_request(visitor)
    psu.approve(visitor, version)


def refuse(visitor: Visitor, version: int) -> None:
    """From the menu to the bank and, saying no there, back."""
    choose_bank(visitor, version)
    run_request(visitor)
    visitor.press(re.compile("and go back to"))


def reload_until(visitor: Visitor, wanted: Locator) -> None:
    """Load the page again and again until something is on it. Raises: AssertionError, if it does not appear."""

    def look() -> bool:
        if wanted.count():
            return True
        visitor.page.reload()
        return False

    wait_for(look, f"{wanted} did not appear")
