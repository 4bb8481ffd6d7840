"""The search of the documentation: titles, headings, and the text under them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass

_FOLDER = Path(__file__).parent / "docs"
_MOST_RESULTS = 30
_BEFORE, _LENGTH = 60, 180
"""Characters of an excerpt: before the first word that was found, and in all."""
_HEADING = re.compile(r'<h[2-6] id="([^"]+)">(.*?)</h[2-6]>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True)
class Section:
    """The text of a page up to the next heading; ``anchor`` is empty before the first one."""

    page: str
    document: str
    anchor: str
    title: str
    text: str

    @property
    def place(self) -> str:
        page = "/docs" if self.page == "README" else f"/docs/{self.page}"
        return f"{page}#{self.anchor}" if self.anchor else page


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A section that contains all search words; ``excerpt`` is the place in its text, empty if the title has them."""

    place: str
    title: str
    document: str
    excerpt: str


def search(words: str) -> Sequence[SearchResult]:
    """The sections that contain all of ``words``: first those whose title has them, pages before headings."""
    wanted = words.casefold().split()
    if not wanted:
        return ()
    titles = [each for each in _sections() if all(word in each.title.casefold() for word in wanted)]
    found = [_result(each, "") for each in sorted(titles, key=lambda each: bool(each.anchor))]
    for section in _sections():
        if len(found) >= _MOST_RESULTS:
            break
        text = f"{section.title} {section.text}".casefold()
        if section not in titles and all(word in text for word in wanted):
            found.append(_result(section, _excerpt(section.text, wanted)))
    return found[:_MOST_RESULTS]


def _result(section: Section, excerpt: str) -> SearchResult:
    return SearchResult(section.place, section.title, section.document if section.anchor else "", excerpt)


def _excerpt(text: str, wanted: Sequence[str]) -> str:
    folded = text.casefold()
    first = min((place for word in wanted if (place := folded.find(word)) >= 0), default=0)
    start = max(first - _BEFORE, 0)
    if start:
        start = text.find(" ", start, first) + 1 or start
    return f"{'…' if start else ''}{text[start : start + _LENGTH].strip()}{'…' if len(text) > start + _LENGTH else ''}"


@cache
def _sections() -> Sequence[Section]:
    index = jsontext.loads((_FOLDER / "index.json").read_text("utf-8"))
    entries = [index["home"], *(each for entries in index["menu"].values() for each in entries)]
    return [section for entry in entries for section in _sections_of(entry["page"], entry["title"])]


def _sections_of(page: str, title: str) -> Iterator[Section]:
    first, *parts = _HEADING.split((_FOLDER / f"{page}.html").read_text("utf-8"))
    yield Section(page, title, "", title, _plain(first))
    for anchor, heading, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        yield Section(page, title, anchor, _plain(heading), _plain(text))


def _plain(markup: str) -> str:
    text = " ".join(html.unescape(_TAG.sub(" ", markup)).split())
    return re.sub(r" (?=[,.;:)])", "", text)
