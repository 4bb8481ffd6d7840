"""The addresses of the documentation: of its pages, and of the parts of long pages."""

from __future__ import annotations

from chalicelib.website.docs_index import documents

PAGE_PLACES = [each.place for each in documents()]
DIVIDED = [each for each in documents() if each.parts]
ALL_PLACES = [*PAGE_PLACES, *(part.place for each in DIVIDED for part in each.parts)]
