"""Fixtures for browser tests: Chromium, browser windows, and the web application of a TPP."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from tests.browser.window import Window, Windows, launched, open_window
from tests.kit.http import serving
from tests.kit.processes import require


def pytest_runtest_setup(item: pytest.Item) -> None:
    require("chromium")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture
def windows(browser: Browser, stack: dict[str, Any]) -> Iterator[Windows]:
    """Yield a function that opens windows with the options of ``open_window``. Fail the test after a browser error."""
    with ExitStack() as open_contexts:
        yield lambda **options: open_contexts.enter_context(open_window(browser, stack, **options))


@pytest.fixture
def window(windows: Windows) -> Window:
    return windows()


@contextmanager
def serve_application(pages: Mapping[str, str]) -> Iterator[str]:
    """Serve ``pages``, which maps paths to HTML, until the end of the block. Yield the origin of the server.

    Other paths return an empty page. The pages declare an empty icon, so that no browser requests an icon while
    the server stops.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            icon = '<link rel="icon" href="data:,">'
            body = (icon + pages.get(urlsplit(self.path).path, "")).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Suppress the request log."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"
