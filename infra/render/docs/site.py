"""Renders the documents for ``/docs`` in the web interface.

Each page of ``docs/`` and of the reference, and each document of the Python package, is rendered as an HTML fragment
and copied as Markdown. A long page is rendered as several fragments. ``index.json`` contains the menu.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from itertools import pairwise

from markdown_it.token import Token

from infra.render.docs.renderer import Renderer
from infra.render.docs.site_pages import ADDRESS, HOME, MENU, PACKAGE_PAGES, SOURCE, page_names, page_of
from infra.render.docs.site_parts import Section, markdown, part_name, parts, plain, sections
from infra.render.docs.sources import source_of

_TARGET = re.compile(r"(?<=\]\()([^)#\s:]+\.md|/docs/[^)#\s]+)(?=[)#])")
_SUMMARY_END = re.compile(r"(?<=\.) ")


def texts() -> dict[str, str]:
    """Return the content of each file of the site, by file name. Raises: LinkError."""
    sources = {page: source_of(page) for page in page_names()}
    found = {f"{page}.md": markdown_copy(page, text) for page, text in sources.items()}
    for page, text in sources.items():
        found |= {f"{name}.html": html for name, html in Renderer(page).render_all(text).items()}
    found |= {
        f"guides/{file.name}.txt": file.read_text("utf-8")
        for file in SOURCE.glob("guides/*")
        if file.suffix in {".py", ".yaml"}
    }
    return {**found, "index.json": json.dumps(_index(sources), indent=1, ensure_ascii=False) + "\n"}


def markdown_copy(page: str, text: str) -> str:
    """Return the Markdown of a page, in which links to pages are replaced by links to their Markdown copies."""

    def rewrite(link: re.Match[str]) -> str:
        found = page_of(page, link[1])
        moved = {page, found} & set(PACKAGE_PAGES) or link[1].startswith(ADDRESS)
        is_as_written = found is None or not moved
        return link[1] if is_as_written else posixpath.relpath(f"{found}.md", posixpath.dirname(page))

    return _TARGET.sub(rewrite, text)


def _index(sources: Mapping[str, str]) -> dict[str, object]:
    entries = {page: _entry(page, text) for page, text in sources.items()}
    return {"home": entries[HOME], "menu": {name: [entries[page] for page in pages] for name, pages in MENU.items()}}


def _entry(page: str, text: str) -> dict[str, object]:
    tokens = markdown().parse(text.partition("\n## ")[0])
    headings = (plain(content) for opened, content in pairwise(tokens) if opened.type == "heading_open")
    paragraphs = (content for opened, content in pairwise(tokens) if opened.type == "paragraph_open")
    entry: dict[str, object] = {"page": page, "title": next(headings), "summary": _summary(next(paragraphs))}
    divided = [_part_entry(page, each) for each in parts(page, sections(text))]
    return {**entry, "parts": divided} if divided else entry


def _part_entry(page: str, section: Section) -> dict[str, object]:
    title, *below = section.headings
    anchors = [each.anchor for each in below]
    return {"page": part_name(page, section), "title": plain(title.title), "anchors": anchors}


def _summary(paragraph: Token) -> str:
    return _SUMMARY_END.split(plain(paragraph), maxsplit=1)[0]
