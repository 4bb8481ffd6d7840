"""What the API screens cost: the bytes that a browser loads for one, and its work for an *Execute*."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import CDPSession

from tests.browser.specification_pages import answered, lock, lock_credential, opened, screen
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.pages

SCREENS = ("authorization", "account", "payments", "cards")
WIRE_BYTES = 150 * 1024
"""Of a first visit: the page, its style sheets, scripts and pictures, and the OpenAPI document, as they are sent."""
WORK = 0.1
"""Seconds of the page's own processor time for an *Execute*, with its answer shown."""
RUNS = 3
"""Of which the best counts: the machine does other things, too."""


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_with_its_document_is_small_on_the_wire(visitor: Visitor, name: str) -> None:
    cdp, sizes = _session(visitor), dict[str, float]()
    addresses: dict[str, str] = {}
    cdp.on("Network.responseReceived", lambda event: addresses.update({event["requestId"]: event["response"]["url"]}))
    cdp.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    cdp.send("Network.enable")
    screen(visitor, name)
    visitor.page.wait_for_load_state("networkidle")

    loaded = {addresses[each]: size for each, size in sizes.items()}
    assert any("/openapi/" in address for address in loaded)
    assert sum(loaded.values()) <= WIRE_BYTES, loaded


def test_the_document_is_loaded_once_for_all_screens_of_it(visitor: Visitor) -> None:
    cdp, cached = _session(visitor), list[bool]()

    def note(event: dict[str, Any]) -> None:
        if "/openapi/" in event["response"]["url"]:
            cached.append(event["response"]["fromDiskCache"])

    screen(visitor, "account")
    cdp.on("Network.responseReceived", note)
    cdp.send("Network.enable")
    for name in ("payments", "authorization"):
        screen(visitor, name)

    assert cached == [True, True]


@pytest.mark.parametrize(("name", "operation"), [("payments", "direct_payment_initiation"), ("cards", "createCard")])
def test_an_execute_takes_little_of_the_pages_processor_time(visitor: Visitor, name: str, operation: str) -> None:
    page = visitor.page
    screen(visitor, name)
    if name == "cards":
        lock_credential(visitor)
    else:
        lock(visitor, visitor.stack["client"]["client_id"])
    opened(page, operation)
    cdp = _session(visitor)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    spent = [_work_of_an_execute(visitor, cdp) for _ in range(RUNS)]

    assert min(spent) < WORK, spent


def _session(visitor: Visitor) -> CDPSession:
    return visitor.page.context.new_cdp_session(visitor.page)


def _work_of_an_execute(visitor: Visitor, cdp: CDPSession) -> float:
    """Seconds of processor time that the page's main thread spends from the press until the answer is drawn."""
    before = _task_duration(cdp)
    visitor.page.get_by_role("button", name="Execute", exact=True).click()
    assert answered(visitor.page).status == "200"
    visitor.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return _task_duration(cdp) - before


def _task_duration(cdp: CDPSession) -> float:
    metrics: list[dict[str, Any]] = cdp.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))
