"""Pages that nobody serves: the browser gets them from the test, to see that a check finds what it is there to find."""

from __future__ import annotations

from tests.browser.visitor import Visitor

STRICT = "default-src 'none'; style-src 'self'"
LAX = "default-src * 'unsafe-inline'"


def show(visitor: Visitor, body: str, *, policy: str = LAX, status: int = 200) -> None:
    """Open a page with this content at an address of the service; ``policy`` is its Content-Security-Policy."""
    html = f'<!doctype html><html lang="en"><head><title>Made up</title></head><body>{body}</body></html>'
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
    address = f"{visitor.stack['base_url']}/made-up"
    visitor.page.route(address, lambda route: route.fulfill(status=status, headers=headers, body=html))
    visitor.page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    visitor.page.goto(address)
