"""Helpers that open and execute calls on the screens of the API explorer in a browser."""

import json
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser import psu, user
from tests.browser.window import Window

KEPT = "() => sessionStorage.length"
LANGUAGES = ("curl", "Python", "JavaScript")
_CREDENTIAL = {"access_key": "Access key", "access_api_id": "API id", "access_api_key": "API key"}


@dataclass(frozen=True)
class Executed:
    status: str
    body: Any
    summary: str
    command: str


def screen(window: Window, name: str, operation: str = "") -> None:
    window.open(f"/specifications/{name}{f'#{operation}' if operation else ''}")
    ready(window)


def ready(window: Window) -> None:
    window.page.locator(".x-operation").wait_for()


def opened(page: Page, operation: str) -> Locator:
    page.locator(f'a[data-operation="{operation}"]').click()
    page.locator(f'a[data-operation="{operation}"][aria-current]').wait_for()
    return page.get_by_role("form", name="Request", exact=True)


def execute(page: Page, press: str = "Execute") -> Executed:
    command = sample(page, "curl")
    page.get_by_role("button", name=press, exact=True).click()
    return answered(page, command)


def answered(page: Page, command: str = "") -> Executed:
    summary = page.locator(".x-answer:not([aria-busy]) .x-summary:has(strong)")
    summary.wait_for()
    raw = page.locator(".x-raw")
    text = (raw.text_content() if raw.count() else "") or "null"
    said = summary.inner_text()
    return Executed(said.split(" ", 1)[0], json.loads(text), said, command)


def executed(page: Page, operation: str) -> Executed:
    opened(page, operation)
    return execute(page)


def sample(page: Page, language: str) -> str:
    page.locator(".code-tabs").get_by_label(language, exact=True).check()
    return str(page.locator(".x-sample code").text_content())


def body(page: Page) -> Any:
    show(page, "JSON")
    found = json.loads(page.get_by_label("Request body as JSON").input_value())
    show(page, "Form")
    return found


def show(page: Page, view: str) -> None:
    page.locator(".x-switch").get_by_label(view, exact=True).check()


def lock(window: Window, client_id: str, token: str = "") -> None:
    window.fill("Client ID", client_id)
    window.fill("Access token", token)
    window.page.get_by_role("button", name="Lock", exact=True).click()
    window.page.locator("#credentials-state", has_text="Locked.").wait_for()


def enter_credential(window: Window, **parts: str) -> None:
    """Enter a programme manager's credential. ``parts`` replace parts of the stack's credential."""
    credential = {**window.stack["programme"]["credentials"]["full"], **parts}
    for part, label in _CREDENTIAL.items():
        window.fill(label, credential[part])
    window.page.get_by_role("button", name="Lock", exact=True).click()


def lock_credential(window: Window) -> None:
    enter_credential(window)
    window.page.locator("#credentials-state", has_text="Locked.").wait_for()


def authorized(window: Window, version: int, *, native: bool = False) -> None:
    """Register a user, request a token for all unified or native scopes, and open the Unified screen with the token."""
    user.register(window)
    user.create_client(window)
    user.choose_bank(window, version)
    if native:
        window.follow(f"Scopes of version {version}")
    for box in window.page.locator("[name=scope]").all():
        box.check()
    user.run_request(window)
    psu.approve(window, version)
    window.follow("Use in API screens")
    ready(window)


def go_to_screen(window: Window, title: str) -> None:
    window.page.get_by_role("navigation", name="API specifications").get_by_role("link", name=title).click()
    window.page.wait_for_url(f"**/specifications/{title.lower()}")
    ready(window)
