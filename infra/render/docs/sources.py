"""Provides the Markdown of every page, which is written manually or generated from the code."""

from __future__ import annotations

from functools import cache

from infra.render.docs import reference
from infra.render.docs.site_pages import GENERATED, file_of, is_generated
from infra.repository import ROOT


@cache
def source_of(page: str) -> str:
    """Return the Markdown of a page."""
    if is_generated(page):
        return reference.PAGES[page.removeprefix(GENERATED)].text
    return (ROOT / file_of(page)).read_text("utf-8")
