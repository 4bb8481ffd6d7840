"""The documentation at ``/docs``: pages rendered by ``make docs``, their Markdown, a search, and ``/llms.txt``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from chalice.app import Response

from chalicelib.foundation.http.web import text_answer
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website import rendered_files
from chalicelib.website.docs_index import FOLDER, HOME, Document, Part, documents, menu, read_html
from chalicelib.website.docs_search import MOST_WORDS, has_too_many, search
from chalicelib.website.openapi_documents import SCREENS, SpecificationScreen
from chalicelib.website.pages import Visit, message_page, page
from chalicelib.website.rendered_files import cache_until_replaced

_ADDRESS = "{{docs}}"
_MARKDOWN, _PLAIN = "text/markdown; charset=utf-8", "text/plain; charset=utf-8"
_CACHE = {"Cache-Control": "public, max-age=300"}
_TRY_OUT: Mapping[str, str] = {
    "reference/tpp-api(/unified-(api|payments))?": "unified",
    "reference/tpp-api/authorization": "authorization",
    "reference/tpp-api/account": "account",
    "reference/tpp-api/payments": "payments",
    "reference/card-actions(/.+)?": "cards",
}
"""The name of the screen on which calls can be tried out, by a pattern for the pages and parts that describe the calls.
"""


@dataclass(frozen=True, slots=True)
class DocsPage:
    """A page, or one of its parts with the previous and next parts."""

    document: Document
    part: Part | None = None
    previous: Part | None = None
    following: Part | None = None

    @property
    def page(self) -> str:
        return self.part.page if self.part else self.document.page

    @property
    def title(self) -> str:
        return self.part.title if self.part else self.document.title


def show_document(visit: Visit) -> Response:
    """``GET /docs`` and below: show a page or a part, search results (``q``), or, with ``.md``, Markdown.

    The folder of a page, which a reader may enter by shortening a URL, redirects to the start page.
    """
    name = "/".join(visit.incoming.uri.values())
    if (file := _find_source(name)) is not None:
        return answer_source(file)
    found = _pages().get(name or HOME)
    if found is None and any(page.startswith(f"{name}/") for page in _pages()):
        return visit.redirect("/docs")
    if found is None:
        what, next_step = "There is no such page.", "Choose one of the list, or search."
        return message_page(visit, "No such page", what, "/docs", "To the documentation", next_step)
    words = visit.field("q").strip()
    return page(
        visit,
        "docs.html",
        docs_page=found,
        menu_sections=menu(),
        html=read_html(found.page).replace(_ADDRESS, visit.link("/docs")),
        screen=_find_screen(found.page),
        words=words,
        results=search(words),
        too_many_words=MOST_WORDS if has_too_many(words) else None,
    )


def answer_source(file: str) -> Response:
    """Respond with the Markdown of a page, or with a file that a guide refers to."""
    content_type = _MARKDOWN if file.endswith(".md") else _PLAIN
    return text_answer(rendered_files.read(f"{FOLDER}/{file}"), content_type, headers=_CACHE)


def answer_llms(base: str) -> Response:
    """Respond with a list of all pages (llmstxt.org). Each entry has the page's first sentence and the URL of its
    Markdown under ``base``.
    """
    lines = ["# Causeway", "", f"> {documents()[0].summary}"]
    for section, found in menu().items():
        lines += ["", f"## {section}", ""]
        lines += [f"- [{each.title}]({base}{each.place}.md): {each.summary}" for each in found]
    return text_answer("\n".join([*lines, ""]), _PLAIN, headers=_CACHE)


@cache_until_replaced
def _pages() -> Mapping[str, DocsPage]:
    """All pages and parts by name."""
    return {each.page: each for document in documents() for each in _pages_of(document)}


def _pages_of(document: Document) -> Iterator[DocsPage]:
    """Return the page of a document, followed by its parts in order."""
    yield DocsPage(document)
    parts: Sequence[Part | None] = [None, *document.parts, None]
    for previous, part, following in zip(parts, parts[1:], parts[2:], strict=False):
        yield DocsPage(document, part, previous, following)


def _find_screen(name: str) -> SpecificationScreen | None:
    """Return the screen on which a user can try out the calls of a page or part."""
    wanted = next((screen for pattern, screen in _TRY_OUT.items() if re.fullmatch(pattern, name)), None)
    return next((each for each in SCREENS if each.name == wanted), None)


def _find_source(name: str) -> str | None:
    """Return the name of a file that is served unchanged: Markdown, or a file that a guide refers to."""
    names = (name if name.endswith(".md") else "", f"{name}.txt")
    return next((each for each in names if each in _files()), None)


@cache_until_replaced
def _files() -> frozenset[str]:
    folder = rendered_files.FOLDER / FOLDER
    return frozenset(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
