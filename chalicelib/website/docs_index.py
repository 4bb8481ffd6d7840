"""The documentation's pages, from the index that ``make docs`` writes: the menu, and the parts of long pages.

Each function raises ``NotRendered`` if the index does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website import rendered_files
from chalicelib.website.rendered_files import cache_until_replaced

FOLDER = "docs"
"""The folder of the pages among the rendered files."""
HOME = "README"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a long page with its own URL, and the anchors of its sections."""

    page: str
    title: str
    anchors: Sequence[str]

    @property
    def place(self) -> str:
        return place_of(self.page)


@dataclass(frozen=True, slots=True)
class Document:
    """A page of the documentation, with its parts if it is long."""

    page: str
    title: str
    summary: str
    parts: Sequence[Part]

    @property
    def place(self) -> str:
        """The path relative to the service's URL."""
        return place_of(self.page)


def place_of(page: str) -> str:
    """Return the path of a page or part relative to the service's URL."""
    return "/docs" if page == HOME else f"/docs/{page}"


def place_of_section(page: str, anchor: str) -> str:
    """Return the path and anchor of a section, in the part or page that contains it."""
    document = next(each for each in documents() if each.page == page)
    found = next((part.page for part in document.parts if anchor in part.anchors), page)
    return f"{place_of(found)}#{anchor}"


@cache_until_replaced
def documents() -> Sequence[Document]:
    return [_document(_index()["home"]), *(each for found in menu().values() for each in found)]


@cache_until_replaced
def menu() -> Mapping[str, Sequence[Document]]:
    """Return the pages by section of the menu."""
    return {section: [_document(each) for each in entries] for section, entries in _index()["menu"].items()}


def read_html(page: str) -> str:
    """Read the HTML of a page or part."""
    return rendered_files.read(f"{FOLDER}/{page}.html")


@cache_until_replaced
def _index() -> dict[str, Any]:
    found: dict[str, Any] = jsontext.loads(rendered_files.read(f"{FOLDER}/index.json"))
    return found


def _document(entry: dict[str, Any]) -> Document:
    parts = [Part(each["page"], each["title"], tuple(each["anchors"])) for each in entry.get("parts", ())]
    return Document(entry["page"], entry["title"], entry["summary"], parts)
