"""The work of the page for an *Execute* on an API screen, in processor time of the browser's main thread."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import CDPSession

from infra.local.background import run_stack
from tests.browser import chromium
from tests.browser.specification_pages import answered, lock, opened, screen
from tests.browser.visitor import Visitor, visiting

GOAL = 0.1
"""Seconds from the press until the answer is drawn."""
_RUNS = 5


def seconds_of_an_execute() -> float:
    """The least of five payments at a demonstration bank of a new stack. Raises: RuntimeError, without Chromium."""
    if chromium.MISSING:
        raise RuntimeError(chromium.MISSING)
    with run_stack() as stack, chromium.launched() as browser, visiting(browser, stack) as visitor:
        screen(visitor, "payments")
        lock(visitor, stack["client"]["client_id"])
        opened(visitor.page, "direct_payment_initiation")
        cdp = visitor.page.context.new_cdp_session(visitor.page)
        cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
        return min(_work_of_an_execute(visitor, cdp) for _ in range(_RUNS))


def _work_of_an_execute(visitor: Visitor, cdp: CDPSession) -> float:
    before = _task_duration(cdp)
    visitor.page.get_by_role("button", name="Execute", exact=True).click()
    status = answered(visitor.page).status
    if status != "200":
        raise AssertionError(status)
    visitor.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return _task_duration(cdp) - before


def _task_duration(cdp: CDPSession) -> float:
    metrics: list[dict[str, Any]] = cdp.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))
