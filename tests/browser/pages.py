"""The table of all pages: what is checked in every page, and what ``make screenshots`` shows."""

from __future__ import annotations

from collections.abc import Mapping

from tests.browser import (
    bank_pages,
    card_pages,
    choice_pages,
    clock_pages,
    docs_pages,
    performance_pages,
    website_pages,
)
from tests.browser.walks import Walk

WALKS: tuple[Walk, ...] = (
    *website_pages.walks(),
    *card_pages.walks(),
    *performance_pages.walks(),
    *docs_pages.walks(),
    *bank_pages.walks(),
    *choice_pages.walks(),
    *clock_pages.walks(),
)

IMAGES: Mapping[str, str] = {
    "website-journey-specification-balance": "explorer",
    "website-journey-tokens": "tokens",
    "website-deliveries-delivered": "event",
    "performance-banks": "performance",
}
"""Pages that the README shows, and the images of ``docs/images`` with what a wide window shows of them."""
