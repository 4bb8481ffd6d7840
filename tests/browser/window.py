"""A Chromium window that opens pages, presses buttons and records all errors. The window connects only to the stack."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    Response,
    WebError,
    sync_playwright,
)

from tests.e2e.parties import Tpp
from tests.kit import processes
from tests.kit.time import PATIENCE_SECONDS

WIDTH, HEIGHT = 1280, 800
PATIENCE = 1000 * PATIENCE_SECONDS
"""The timeout for Playwright, in milliseconds."""

_EXECUTABLE = Path(processes.PATHS["chromium"])
MISSING = "" if _EXECUTABLE.exists() else f"there is no {_EXECUTABLE}: install Chromium, or name one with CHROMIUM"
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_TABS = 60
_WITHIN_THE_BROWSER = ("about", "blob", "data")
_ANSWERED_WITH = "Failed to load resource: the server responded with a status of "

Colours = Literal["light", "dark"]


@contextmanager
def launched() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_EXECUTABLE, args=_FLAGS, chromium_sandbox=False)
        try:
            yield browser
        finally:
            browser.close()


def wait_for_requests(page: Page) -> None:
    page.route("**/heard", lambda route: route.fulfill(status=204))
    with page.expect_response("**/heard"):
        page.evaluate("void fetch('/heard')")


class Window:
    """A browser context without cookies or history, and its Playwright page.

    Attributes:
        stack: the parsed JSON file of the running stack.
        tpp: the predefined client of the stack.
    """

    def __init__(self, context: BrowserContext, stack: Mapping[str, Any]) -> None:
        self.stack = stack
        self.tpp = Tpp(stack["base_url"], stack["client"]["client_id"], stack["client"]["callback_url"])
        self._origins = {origin(stack["base_url"])}
        self._forgiven: list[str] = []
        self._complaints: list[str] = []
        self._console: list[tuple[str, str]] = []
        self._refusals: set[str] = set()
        context.set_default_timeout(PATIENCE)
        context.on("console", self._hear)
        context.on("weberror", self._hear_exception)
        context.on("request", self._see_request)
        context.on("response", self._see_response)
        self.page = context.new_page()

    # -- actions

    def open(self, address: str) -> None:
        self.page.goto(urljoin(self.stack["base_url"], address))

    def press(self, name: str | re.Pattern[str]) -> None:
        """Press the button with the given name, and wait until the next page has loaded."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=name, exact=True).click()

    def follow(self, name: str | re.Pattern[str]) -> None:
        """Follow the link with the given name, and wait until the linked page has loaded."""
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name, exact=True).click()

    def fill(self, label: str, value: str) -> None:
        self.page.get_by_label(label, exact=True).fill(value)

    def submit(self, button: str, **fields: str) -> None:
        for name, value in fields.items():
            self.page.locator(f"#{name}").fill(value)
        self.press(button)

    def open_first_row(self) -> None:
        with self.page.expect_navigation():
            self.page.locator("tbody a").first.click()

    def tab_to(self, wanted: Locator) -> None:
        for _ in range(_TABS):
            self.page.keyboard.press("Tab")
            if is_focused(wanted):
                return
        raise AssertionError(f"the keyboard does not lead to {wanted}")

    def enter(self) -> None:
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def enter_at(self, wanted: Locator) -> None:
        self.tab_to(wanted)
        self.enter()

    def bank(self, version: int, *, faults: bool = False) -> Mapping[str, Any]:
        banks = self.stack["fault_banks" if faults else "banks"]
        found: Mapping[str, Any] = next(bank for bank in banks if bank["api_version"] == version)
        return found

    def show(self, body: str, *, policy: str = "default-src * 'unsafe-inline'", status: int = 200) -> None:
        """Open a page with the given content at an address of the service. ``policy`` is the page's security policy."""
        content = f'<!doctype html><html lang="en"><head><title>Made up</title></head><body>{body}</body></html>'
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
        self.page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        self.answer("/made-up", content, headers, status)
        self.open("/made-up")

    def answer(self, path: str, content: str, headers: Mapping[str, str], status: int = 200) -> None:
        """Intercept requests for a path of the service, and respond with the given content."""
        answer = {"status": status, "headers": dict(headers), "body": content}
        self.page.route(f"{self.stack['base_url']}{path}", lambda route: route.fulfill(**answer))

    # -- errors

    def may_reach(self, address: str) -> None:
        """Allow requests to the origin of the given address, for example to a TPP's callback URL."""
        self._origins.add(origin(address))

    def forgive(self, text: str) -> None:
        """Ignore browser errors that contain the given text, because the test expects these errors."""
        self._forgiven.append(text)

    @property
    def complaints(self) -> list[str]:
        """Return console errors (including Content-Security-Policy violations), exceptions, and requests to other
        origins.

        Omit the console error for a page that the service returns with a 4xx status.
        """
        heard = [
            f"console: {text} ({url})"
            for text, url in self._console
            if not (text.startswith(f"{_ANSWERED_WITH}4") and url in self._refusals)
        ]
        return [complaint for complaint in self._complaints + heard if not self._is_forgiven(complaint)]

    def _is_forgiven(self, complaint: str) -> bool:
        return any(text in complaint for text in self._forgiven)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "assert"):
            self._console.append((message.text, message.location["url"]))

    def _hear_exception(self, error: WebError) -> None:
        self._complaints.append(f"exception: {error.error}")

    def _see_request(self, request: Request) -> None:
        if urlsplit(request.url).scheme not in _WITHIN_THE_BROWSER and origin(request.url) not in self._origins:
            self._complaints.append(f"request to elsewhere: {request.method} {request.url}")

    def _see_response(self, response: Response) -> None:
        if 400 <= response.status < 500 and response.request.is_navigation_request():
            self._refusals.add(response.url)


@contextmanager
def open_window(
    browser: Browser,
    stack: Mapping[str, Any],
    *,
    width: int = WIDTH,
    colours: Colours = "light",
    javascript: bool = True,
) -> Iterator[Window]:
    """Open a window until the end of the block.

    Raises:
        AssertionError: at the end, if errors were recorded. The message lists all errors.
    """
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme=colours,
        java_script_enabled=javascript,
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
    )
    try:
        window = Window(context, stack)
        yield window
    finally:
        context.close()
    assert not window.complaints, "\n".join(["the browser complained", *window.complaints])


def is_focused(place: Locator) -> bool:
    return bool(place.evaluate("element => element === document.activeElement"))


def origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


Windows = Callable[..., Window]
