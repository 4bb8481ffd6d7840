"""The documentation at ``/docs``: pages rendered by ``make docs``, their Markdown, a search, and ``/llms.txt``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from chalice.app import Response

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.web import text_answer
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.docs_search import search
from chalicelib.website.openapi_documents import SCREENS
from chalicelib.website.pages import Visit, message_page, page

_FOLDER = Path(__file__).parent / "docs"
_ADDRESS = "{{docs}}"
_MARKDOWN, _PLAIN = "text/markdown; charset=utf-8", "text/plain; charset=utf-8"
_CACHE = {"Cache-Control": "public, max-age=300"}
_TRY_OUT: Mapping[str, str] = {"reference/tpp-api": "authorization", "reference/card-actions": "cards"}
"""Pages whose calls can be tried out, with the name of the screen."""


@dataclass(frozen=True, slots=True)
class Document:
    """A page of the documentation; ``place`` is its path relative to the service's URL."""

    page: str
    title: str
    summary: str

    @property
    def place(self) -> str:
        return "/docs" if self.page == "README" else f"/docs/{self.page}"


def show_document(visit: Visit) -> Response:
    """``GET /docs`` and below: a page, search results (``q``), or, with ``.md``, the Markdown of a page."""
    name = "/".join(visit.incoming.uri.values())
    if (file := _find_source(name)) is not None:
        return answer_source(file)
    found = next((each for each in documents() if each.page == (name or "README")), None)
    if found is None:
        what, next_step = "There is no such page.", "Choose one of the list, or search."
        return message_page(visit, "No such page", what, "/docs", "To the documentation", next_step)
    words = visit.field("q").strip()
    text = (_FOLDER / f"{found.page}.html").read_text("utf-8")
    return page(
        visit,
        "docs.html",
        document=found,
        menu_sections=menu(),
        html=text.replace(_ADDRESS, visit.link("/docs")),
        screen=next((each for each in SCREENS if each.name == _TRY_OUT.get(found.page)), None),
        words=words,
        results=search(words),
    )


def answer_source(file: str) -> Response:
    """Respond with the Markdown of a page, or with a file that a guide refers to."""
    content_type = _MARKDOWN if file.endswith(".md") else _PLAIN
    return text_answer((_FOLDER / file).read_text("utf-8"), content_type, headers=_CACHE)


def answer_llms(base: str) -> Response:
    """Respond with a list of all pages: first sentence and URL of the Markdown under ``base`` (llmstxt.org)."""
    lines = ["# Causeway", "", f"> {_home().summary}"]
    for section, found in menu().items():
        lines += ["", f"## {section}", ""]
        lines += [f"- [{each.title}]({base}{each.place}.md): {each.summary}" for each in found]
    return text_answer("\n".join([*lines, ""]), _PLAIN, headers=_CACHE)


def documents() -> Sequence[Document]:
    return [_home(), *(each for found in menu().values() for each in found)]


@cache
def menu() -> Mapping[str, Sequence[Document]]:
    """The pages by section of the menu."""
    return {section: [_document(each) for each in entries] for section, entries in _index()["menu"].items()}


@cache
def _home() -> Document:
    return _document(_index()["home"])


@cache
def _index() -> dict[str, Any]:
    found: dict[str, Any] = jsontext.loads((_FOLDER / "index.json").read_text("utf-8"))
    return found


def _find_source(name: str) -> str | None:
    """The name of a file that is served unchanged: Markdown, or a file that a guide refers to."""
    names = (name if name.endswith(".md") else "", f"{name}.txt")
    return next((each for each in names if each in _files()), None)


@cache
def _files() -> frozenset[str]:
    return frozenset(_names())


def _names() -> Iterator[str]:
    return (file.relative_to(_FOLDER).as_posix() for file in _FOLDER.rglob("*") if file.is_file())


def _document(entry: dict[str, Any]) -> Document:
    return Document(entry["page"], entry["title"], entry["summary"])
