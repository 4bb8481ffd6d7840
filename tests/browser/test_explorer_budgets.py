"""Budgets of the API screens: the transferred bytes, and the elements that each *Execute* adds."""

from typing import Any

import pytest
from playwright.sync_api import CDPSession

from tests.browser.explorer import answered, lock, lock_credential, opened, screen
from tests.browser.window import Window

pytestmark = pytest.mark.pages

SCREENS = ("unified", "authorization", "account", "payments", "cards")
WIRE_BYTES = 150 * 1024
"""The limit for the bytes transferred in a first visit: page, style sheets, scripts, images and OpenAPI document."""
ELEMENTS = 600
"""The maximum number of elements that an *Execute* adds to the page."""
COUNT_ADDED = """() => {
    window.added = 0;
    const count = node => 1 + (node.querySelectorAll ? node.querySelectorAll("*").length : 0);
    new MutationObserver(changes => {
        for (const change of changes) for (const node of change.addedNodes) window.added += count(node);
    }).observe(document.body, {childList: true, subtree: true});
}"""


@pytest.mark.parametrize("name", SCREENS)
def test_an_api_screen_with_its_openapi_document_is_within_the_transfer_budget(window: Window, name: str) -> None:
    cdp, sizes = _session(window), dict[str, float]()
    addresses: dict[str, str] = {}
    cdp.on("Network.responseReceived", lambda event: addresses.update({event["requestId"]: event["response"]["url"]}))
    cdp.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    cdp.send("Network.enable")
    screen(window, name)
    window.page.wait_for_load_state("networkidle")

    loaded = {addresses[each]: size for each, size in sizes.items()}
    assert any("/openapi/" in address for address in loaded)
    assert sum(loaded.values()) <= WIRE_BYTES, loaded


def test_the_openapi_document_is_loaded_once_for_all_screens(window: Window) -> None:
    cdp, cached = _session(window), list[bool]()

    def note(event: dict[str, Any]) -> None:
        if "/openapi/" in event["response"]["url"]:
            cached.append(event["response"]["fromDiskCache"])

    screen(window, "account")
    cdp.on("Network.responseReceived", note)
    cdp.send("Network.enable")
    for name in ("payments", "authorization"):
        screen(window, name)

    assert cached == [True, True]


@pytest.mark.parametrize(("name", "operation"), [("payments", "direct_payment_initiation"), ("cards", "createCard")])
def test_each_executed_call_adds_a_limited_number_of_elements_to_the_page(
    window: Window, name: str, operation: str
) -> None:
    page = window.page
    screen(window, name)
    if name == "cards":
        lock_credential(window)
    else:
        lock(window, window.stack["client"]["client_id"])
    opened(page, operation)
    page.evaluate(COUNT_ADDED)
    for times in (1, 2, 3):
        page.get_by_role("button", name="Execute", exact=True).click()
        assert answered(page).status == "200"
        assert page.evaluate("window.added") <= times * ELEMENTS


def _session(window: Window) -> CDPSession:
    return window.page.context.new_cdp_session(window.page)
