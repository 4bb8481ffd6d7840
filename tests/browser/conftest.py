"""Chromium for all tests of pages, and visitors with a browser of their own for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.browser.visitor import Visitor, Visitors, visiting
from tests.kit.processes import require


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without a browser no test of this room can say anything."""
    require("chromium")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium.launched() as launched:
        yield launched


@pytest.fixture
def visitors(browser: Browser, stack: dict[str, Any]) -> Iterator[Visitors]:
    """Makes visitors with the options of ``visiting``; the test fails at its end if a browser complained."""
    with ExitStack() as open_contexts:
        yield lambda **options: open_contexts.enter_context(visiting(browser, stack, **options))


@pytest.fixture
def visitor(visitors: Visitors) -> Visitor:
    """Somebody on a wide screen, in light colours, with JavaScript."""
    return visitors()
