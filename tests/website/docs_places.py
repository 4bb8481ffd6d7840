"""The addresses of the documentation: of its pages, and of the parts of long pages."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.website.docs_index import Document, documents, place_of
from infra.render.docs.site_pages import DIVIDED, page_names

PAGES = [*page_names()]
PAGE_PLACES = [place_of(page) for page in PAGES]
DIVIDED_PAGES = sorted(DIVIDED)


def document_of(page: str) -> Document:
    """A page of the documentation, which has been rendered."""
    return next(each for each in documents() if each.page == page)


def places_of(page: str) -> Sequence[str]:
    """The addresses of a page and of its parts."""
    document = document_of(page)
    return [document.place, *(part.place for part in document.parts)]
