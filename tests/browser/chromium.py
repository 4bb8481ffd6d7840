"""Chromium: where it is, and how it is started so that it speaks to nobody but the stack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.kit import processes

EXECUTABLE = Path(processes.PATHS["chromium"])
MISSING = "" if EXECUTABLE.exists() else f"there is no {EXECUTABLE}: install Chromium, or name one with CHROMIUM"
"""Why there is no browser here; empty when there is one."""

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


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium without a window, on an empty profile that is removed afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=_FLAGS, chromium_sandbox=False)
        try:
            yield browser
        finally:
            browser.close()
