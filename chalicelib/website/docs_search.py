"""The search of the documentation: titles, headings, and the text under them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.docs_index import Document, documents, place_of, read_html
from chalicelib.website.rendered_files import cache_until_replaced

MOST_WORDS = 12
"""The different words of a search. Each costs a look at every section, and anybody may search."""
_MOST_RESULTS = 30
_BEFORE, _LENGTH = 60, 180
"""Characters of an excerpt: before the first word that was found, and in all."""
_HEADING = re.compile(r'<h[2-6] id="([^"]+)">(.*?)</h[2-6]>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True)
class Section:
    """The text of a page up to the next heading; ``anchor`` is empty before the first one.

    ``document`` is the title of the page, and of the part, that contains it; empty for a page.
    """

    page: str
    document: str
    anchor: str
    title: str
    text: str

    @property
    def place(self) -> str:
        return f"{place_of(self.page)}#{self.anchor}" if self.anchor else place_of(self.page)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A section that contains all search words; ``excerpt`` is the place in its text, empty if the title has them."""

    place: str
    title: str
    document: str
    excerpt: str


def has_too_many(words: str) -> bool:
    """Whether ``words`` are more different ones than ``MOST_WORDS``, which a search does not take."""
    return len(_distinct_words(words)) > MOST_WORDS


def search(words: str) -> Sequence[SearchResult]:
    """The sections that contain all of ``words``: first those whose title has them, pages before headings.

    Empty if there is no word, or if there are too many (see ``has_too_many``).
    """
    wanted = _distinct_words(words)
    if not 0 < len(wanted) <= MOST_WORDS:
        return ()
    titles = [each for each in _sections() if all(word in each.title.casefold() for word in wanted)]
    found = [_result(each, "") for each in sorted(titles, key=lambda each: bool(each.document))]
    for section in _sections():
        if len(found) >= _MOST_RESULTS:
            break
        text = f"{section.title} {section.text}".casefold()
        if section not in titles and all(word in text for word in wanted):
            found.append(_result(section, _excerpt(section.text, wanted)))
    return found[:_MOST_RESULTS]


def _distinct_words(words: str) -> Sequence[str]:
    return list(dict.fromkeys(words.casefold().split()))


def _result(section: Section, excerpt: str) -> SearchResult:
    return SearchResult(section.place, section.title, section.document, excerpt)


def _excerpt(text: str, wanted: Sequence[str]) -> str:
    folded = text.casefold()
    first = min((place for word in wanted if (place := folded.find(word)) >= 0), default=0)
    start = max(first - _BEFORE, 0)
    if start:
        start = text.find(" ", start, first) + 1 or start
    return f"{'…' if start else ''}{text[start : start + _LENGTH].strip()}{'…' if len(text) > start + _LENGTH else ''}"


@cache_until_replaced
def _sections() -> Sequence[Section]:
    return [section for document in documents() for section in _sections_of(document)]


def _sections_of(document: Document) -> Iterator[Section]:
    """The sections of a page and of its parts; the lists of the parts' sections on the page do not count."""
    parts = {part.page for part in document.parts}
    for section in _split(document.page, "", document.title, document.title):
        if f"{section.page}/{section.anchor}" not in parts:
            yield section
    for part in document.parts:
        yield from _split(part.page, document.title, part.title, f"{document.title}: {part.title}")


def _split(page: str, document: str, title: str, full_title: str) -> Iterator[Section]:
    first, *found = _HEADING.split(read_html(page))
    yield Section(page, document, "", title, _plain(first))
    for anchor, heading, text in zip(found[::3], found[1::3], found[2::3], strict=True):
        yield Section(page, full_title, anchor, _plain(heading), _plain(text))


def _plain(markup: str) -> str:
    text = " ".join(html.unescape(_TAG.sub(" ", markup)).split())
    return re.sub(r" (?=[,.;:)])", "", text)
