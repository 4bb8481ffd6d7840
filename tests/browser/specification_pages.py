"""The API specification screens: how a call is opened and executed there."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.visitor import Visitor

KEPT = "() => sessionStorage.length"
SWAGGER_UI = ("heading-order",)
"""Rules that the headings of Swagger UI break once a call is opened."""


def screen(visitor: Visitor, name: str) -> None:
    visitor.open(f"/specifications/{name}")
    ready(visitor)


def ready(visitor: Visitor) -> None:
    """Wait for Swagger UI to have taken the place of the list."""
    visitor.page.locator(".opblock-summary-control[aria-expanded]").first.wait_for()


def opened(page: Page, path: str) -> Locator:
    """An operation, ready to be executed."""
    operation = page.locator(".opblock", has=page.locator(f'[data-path="{path}"]'))
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    return operation


def executed(page: Page, path: str) -> tuple[str, Any, str]:
    """Try an operation as it is offered: the status and the body of the answer, and the command for it."""
    operation = opened(page, path)
    operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table tbody .response").first
    answer.wait_for()
    status = answer.locator(".response-col_status").inner_text().strip()
    body = json.loads(answer.locator("pre.microlight").first.inner_text())
    return status, body, operation.locator(".curl-command pre").inner_text()
