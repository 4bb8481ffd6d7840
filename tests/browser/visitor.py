"""A visitor: somebody with a browser of their own who opens pages, presses buttons and hears every complaint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, Response, WebError

from tests.e2e.parties import Tpp
from tests.kit.time import PATIENCE_SECONDS

WIDTH, HEIGHT = 1280, 800
PATIENCE = 1000 * PATIENCE_SECONDS
"""In milliseconds, as Playwright takes it."""

_TABS = 60
_WITHIN_THE_BROWSER = ("about", "blob", "data")
_ANSWERED_WITH = "Failed to load resource: the server responded with a status of "

Colours = Literal["light", "dark"]


def hear_requests(page: Page) -> None:
    """Return once every request that the page has made has come to its route: one that is made now comes last."""
    page.route("**/heard", lambda route: route.fulfill(status=204))
    with page.expect_response("**/heard"):
        page.evaluate("void fetch('/heard')")


class Visitor:
    """One browser context without cookies or history, and its page (Playwright's own, for whatever is not here).

    Attributes:
        stack: what the running stack's file says.
        tpp: the application that the stack came with, to have something to open in the browser.
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

    # -- what a visitor does

    def open(self, address: str) -> None:
        """Go to an address, or to a path of the service."""
        self.page.goto(urljoin(self.stack["base_url"], address))

    def press(self, name: str | re.Pattern[str]) -> None:
        """Press the button of this name, which leads to another page; returns when that has loaded."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=name, exact=True).click()

    def follow(self, name: str | re.Pattern[str]) -> None:
        """Follow the link of this name; returns when the page behind it has loaded."""
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name, exact=True).click()

    def fill(self, label: str, value: str) -> None:
        """Write into the field with this label."""
        self.page.get_by_label(label, exact=True).fill(value)

    def tab_to(self, wanted: Locator) -> None:
        """Go to a field, button or link without a mouse. Raises: AssertionError, if the Tab key does not lead there."""
        for _ in range(_TABS):
            self.page.keyboard.press("Tab")
            if is_focused(wanted):
                return
        raise AssertionError(f"the keyboard does not lead to {wanted}")

    def enter(self) -> None:
        """Press the Enter key on what leads to another page; returns when that has loaded."""
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def enter_at(self, wanted: Locator) -> None:
        """Go to a link or button with the Tab key, and press Enter; returns when the page behind it has loaded."""
        self.tab_to(wanted)
        self.enter()

    def bank(self, version: int, *, faults: bool = False) -> Mapping[str, Any]:
        """The demonstration bank or the fault bank of a version, as the stack's file describes it."""
        banks = self.stack["fault_banks" if faults else "banks"]
        found: Mapping[str, Any] = next(bank for bank in banks if bank["api_version"] == version)
        return found

    # -- what must not happen meanwhile

    def may_reach(self, address: str) -> None:
        """Requests to this address's origin are no complaint: it is an application that the PSU goes back to."""
        self._origins.add(origin(address))

    def forgive(self, text: str) -> None:
        """What the console says with this text in it is no complaint: the test made it happen."""
        self._forgiven.append(text)

    @property
    def complaints(self) -> list[str]:
        """Console errors (breaches of a Content-Security-Policy are such), exceptions, and requests to elsewhere.

        A page that the service answers with a 4xx is what the visitor sees, so the console's word on it does not count.
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
def visiting(
    browser: Browser,
    stack: Mapping[str, Any],
    *,
    width: int = WIDTH,
    colours: Colours = "light",
    javascript: bool = True,
) -> Iterator[Visitor]:
    """A visitor for as long as this lasts.

    Raises:
        AssertionError: at the end, with all complaints, if there was one.
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
        visitor = Visitor(context, stack)
        yield visitor
    finally:
        context.close()
    assert not visitor.complaints, "\n".join(["the browser complained", *visitor.complaints])


def is_focused(place: Locator) -> bool:
    """Whether the keyboard is there."""
    return bool(place.evaluate("element => element === document.activeElement"))


def origin(address: str) -> str:
    """Scheme, host and port of an address."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


Visitors = Callable[..., Visitor]
