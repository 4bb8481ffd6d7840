"""A user of the web interface in a browser: account, clients, authorizations and cards."""

import re
import secrets
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator

from tests.browser import psu
from tests.browser.window import Window
from tests.cards.issuer import EVERYDAY, GERMANY, HOLDER_BLOCK
from tests.e2e.parties import ProgrammeManager
from tests.kit.time import wait_for

PASSWORD = "correct horse battery"


def register(window: Window) -> str:
    email = f"{secrets.token_hex(6)}@example.com"
    window.open("/register")
    window.fill("Email", email)
    window.fill("Password", PASSWORD)
    window.page.get_by_label("I agree to the terms").check()
    window.press("Register")
    return email


def sign_in(window: Window, email: str, password: str = PASSWORD) -> None:
    window.open("/sign-in")
    window.fill("Email", email)
    window.fill("Password", password)
    window.press("Sign in")


def sign_out(window: Window) -> None:
    window.page.locator("summary[aria-label^='Account ']").click()
    window.press("Sign out")


def mailed_link(window: Window, email: str) -> str:

    def look() -> str:
        for file in Path(window.stack["mails"]).glob("*.txt"):
            text = file.read_text("utf-8")
            if text.startswith(f"To: {email}\n"):
                found = re.search(rf"^{re.escape(window.stack['base_url'])}(/\S+)$", text, re.MULTILINE)
                assert found is not None
                return found[1]
        return ""

    return wait_for(look, "no mail came")


def create_client(
    window: Window, title: str = "Budget Friend", events_url: str = "", *, has_secret: bool = False
) -> str:
    window.open("/clients/new")
    window.fill("Title", title)
    window.page.get_by_label("With a client secret").set_checked(has_secret)
    window.fill("Events URL (optional)", events_url)
    window.press("Create")
    return window.page.locator("#client-id").inner_text()


def go_to(window: Window, entry: str) -> None:
    """Follow an entry of the main menu. On a narrow screen, open the menu first."""
    button = window.page.locator("summary[aria-label=Menu]")
    if button.is_visible() and window.page.locator("details.drawer[open]").count() == 0:
        button.click()
    with window.page.expect_navigation():
        window.page.get_by_role("navigation", name="Main").get_by_role("link", name=entry, exact=True).click()


def choose_bank(window: Window, version: int) -> None:
    go_to(window, "Authorize")
    window.press(f"Choose {window.bank(version)['name']}")


def run_request(window: Window) -> None:
    window.press("Run and go to the bank")


def authorize(window: Window, version: int) -> None:
    choose_bank(window, version)
    run_request(window)
    psu.approve(window, version)


def refuse(window: Window, version: int) -> None:
    choose_bank(window, version)
    run_request(window)
    window.press(re.compile("and go back to"))


def reload_until(window: Window, wanted: Locator) -> None:

    def look() -> bool:
        if wanted.count():
            return True
        window.page.reload()
        return False

    wait_for(look, f"{wanted} did not appear")


def save(window: Window, action: str, **fields: str) -> None:
    """Fill in the form fields of a client by id, and press the button with the value ``action``."""
    for name, value in fields.items():
        window.page.locator(f"#{name}").fill(value)
    with window.page.expect_navigation():
        window.page.locator(f'button[name=action][value="{action}"]').click()


# -- cards


def sign_in_as_issuer(window: Window) -> None:
    sign_in(window, window.stack["user"]["email"], window.stack["user"]["password"])


def new_card(window: Window, **members: Any) -> int:
    """Create a virtual card for a new holder, and leave the card inactive."""
    members = {
        **HOLDER_BLOCK,
        "card_program_id": EVERYDAY,
        "card_country_ison": GERMANY,
        "card_virtual": 1,
        "card_name_line_3": "ZOE ONEIL",
        **members,
    }
    return int(ProgrammeManager(window.stack).data("createCard", **members)["card_id"])


def simulate(window: Window, form: str, button: str, **fields: str) -> None:
    """Fill in and send the simulator form with a title that begins with ``form``."""
    details = window.page.locator("details", has=window.page.locator("summary", has_text=form)).first
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    for name, value in fields.items():
        details.locator(f'[name="{name}"]').fill(value)
    with window.page.expect_navigation():
        details.get_by_role("button", name=button, exact=True).click()
