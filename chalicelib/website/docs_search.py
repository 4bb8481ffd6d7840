"""The search of the documentation in titles, headings, and the text under each heading."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.docs_index import Document, documents, place_of, read_html
from chalicelib.website.rendered_files import cache_until_replaced

MOST_WORDS = 12
"""The maximum number of different words in a search. Each word is looked up in every section, and anyone may search."""
_MOST_RESULTS = 30
_BEFORE, _LENGTH = 60, 180
"""The number of an excerpt's characters before the first found word, and the length of the excerpt."""
_HEADING = re.compile(r'<h[2-6] id="([^"]+)">(.*?)</h[2-6]>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_PART = 2
"""The grade of a word that occurs only inside another word."""
Patterns = Sequence[re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class Section:
    """The text of a page up to the next heading; ``anchor`` is empty before the first heading.

    ``document`` is the title of the page, and of the part, that contains the section. It is empty if the section begins
    a page.
    """

    page: str
    document: str
    anchor: str
    title: str
    text: str
    lower_text: str
    """The searched text: title and text in lower case."""

    @property
    def place(self) -> str:
        return f"{place_of(self.page)}#{self.anchor}" if self.anchor else place_of(self.page)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A section that contains all search words. ``excerpt`` is the matching text, empty if the title matches."""

    place: str
    title: str
    document: str
    excerpt: str


class Rank(NamedTuple):
    """The quality of a section's match with all search words. Sections with the lowest rank are listed first.

    ``grade`` is the worst grade of all words: 0 for a whole word, 1 for the beginning of a word, 2 for a part.
    """

    is_part: bool
    is_not_in_title: bool
    is_heading: bool
    grade: int


def has_too_many(words: str) -> bool:
    """Whether ``words`` has more distinct words than ``MOST_WORDS``, the limit of a search."""
    return len(_distinct_words(words)) > MOST_WORDS


def search(words: str) -> Sequence[SearchResult]:
    """Return the sections that contain all of ``words``, best match first (see ``Rank``).

    If there are no words or too many words (see ``has_too_many``), return no sections.
    """
    wanted = [_patterns(word) for word in _distinct_words(words)]
    if not 0 < len(wanted) <= MOST_WORDS:
        return ()
    ranked = [(rank, each) for each in _sections() if (rank := _rank(each, wanted))]
    ranked.sort(key=lambda found: found[0])
    return [
        SearchResult(each.place, each.title, each.document, _excerpt(each.text, wanted) if rank.is_not_in_title else "")
        for rank, each in ranked[:_MOST_RESULTS]
    ]


def _distinct_words(words: str) -> Sequence[str]:
    return list(dict.fromkeys(words.lower().split()))


def _patterns(word: str) -> Patterns:
    """Return the patterns of a lower-case word: the whole word, the beginning of a longer word, a part of a word."""
    text = re.escape(word)
    begin, end = r"(?<![^\W_])", r"(?![^\W_])"
    return [re.compile(each) for each in (f"{begin}{text}{end}", f"{begin}{text}", text)]


def _rank(section: Section, wanted: Sequence[Patterns]) -> Rank | None:
    """Rank a section by its title or its whole text, whichever rank is lower. Return ``None`` if a word is missing."""
    ranks = []
    if (grade := _grade(section.lower_text, wanted)) is not None:
        ranks.append(Rank(grade == _PART, True, False, grade))
    if (grade := _grade(section.title.lower(), wanted)) is not None:
        ranks.append(Rank(grade == _PART, False, bool(section.document), grade))
    return min(ranks, default=None)


def _grade(text: str, wanted: Sequence[Patterns]) -> int | None:
    """Return the worst grade of all words in ``text``, or ``None`` if a word is missing."""
    if not all(patterns[_PART].search(text) for patterns in wanted):
        return None
    return max(next(grade for grade, each in enumerate(patterns) if each.search(text)) for patterns in wanted)


def _excerpt(text: str, wanted: Sequence[Patterns]) -> str:
    lower = text.lower()
    best = [next(filter(None, (pattern.search(lower) for pattern in patterns)), None) for patterns in wanted]
    first = min((found.start() for found in best if found), default=0)
    start = max(first - _BEFORE, 0)
    if start:
        start = text.find(" ", start, first) + 1 or start
    return f"{'…' if start else ''}{text[start : start + _LENGTH].strip()}{'…' if len(text) > start + _LENGTH else ''}"


@cache_until_replaced
def _sections() -> Sequence[Section]:
    return [section for document in documents() for section in _sections_of(document)]


def _sections_of(document: Document) -> Iterator[Section]:
    """Return the sections of a page and of its parts. The page's summaries of its parts are omitted."""
    parts = {part.page for part in document.parts}
    for section in _split(document.page, "", document.title, document.title):
        if f"{section.page}/{section.anchor}" not in parts:
            yield section
    for part in document.parts:
        yield from _split(part.page, document.title, part.title, f"{document.title}: {part.title}")


def _split(page: str, document: str, title: str, full_title: str) -> Iterator[Section]:
    first, *found = _HEADING.split(read_html(page))
    yield _section(page, document, "", title, _plain(first))
    for anchor, heading, text in zip(found[::3], found[1::3], found[2::3], strict=True):
        yield _section(page, full_title, anchor, _plain(heading), _plain(text))


def _section(page: str, document: str, anchor: str, title: str, text: str) -> Section:
    return Section(page, document, anchor, title, text, f"{title} {text}".lower())


def _plain(markup: str) -> str:
    text = " ".join(html.unescape(_TAG.sub(" ", markup)).split())
    return re.sub(r" (?=[,.;:)])", "", text)
