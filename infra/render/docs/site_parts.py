"""Divides long pages into parts. A part is a section of the second level with a separate URL below the page's URL."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from infra.render.docs.apis import anchor
from infra.render.docs.site_pages import DIVIDED
from infra.render.docs.sources import source_of

_TITLE = re.compile(r"\A# .+\n|^<!--.+-->\n", re.MULTILINE)
_PART = 2
"""The level of the headings at which a page is divided."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with its anchor, and the paragraph directly below it, if any."""

    level: int
    anchor: str
    title: Token
    paragraph: Token | None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the second level with all content below it. The section that introduces a page has no heading."""

    tokens: Sequence[Token]
    headings: Sequence[Heading]

    @property
    def is_group(self) -> bool:
        """Return whether a section has subsections, so that it is a part of a divided page."""
        return len(self.headings) > 1 and self.headings[0].level == _PART


def markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


@cache
def sections(text: str) -> Sequence[Section]:
    """Return the sections of a document without its title. Headings have the same anchors as on GitHub."""
    tokens = markdown().parse(_TITLE.sub("", text))
    _set_anchors(tokens)
    begins = [index for index, each in enumerate(tokens) if each.type == "heading_open" and _level(each) == _PART]
    slices = [tokens[begin:end] for begin, end in pairwise([0, *begins, len(tokens)]) if begin < end]
    return [Section(each, list(_headings(each))) for each in slices]


def parts(page: str, found: Iterable[Section]) -> list[Section]:
    """Return the sections of a page that have separate URLs."""
    return [each for each in found if each.is_group] if page in DIVIDED else []


def part_name(page: str, section: Section) -> str:
    return f"{page}/{section.headings[0].anchor}"


def resolve(page: str, fragment: str) -> tuple[str, str]:
    """Return the page or part that contains an anchor, and the anchor within it. The anchor is empty for the start of a
    part.
    """
    part = _parts_by_anchor(page).get(fragment) if page in DIVIDED else None
    if part is None:
        return page, fragment
    return part, "" if part == f"{page}/{fragment}" else fragment


def plain(inline: Token) -> str:
    """Return the text of a heading or a paragraph, without markup."""
    return "".join(
        each.content if each.type in {"text", "code_inline"} else " " * (each.type == "softbreak")
        for each in inline.children or ()
    )


@cache
def _parts_by_anchor(page: str) -> Mapping[str, str]:
    found = parts(page, sections(source_of(page)))
    return {heading.anchor: part_name(page, each) for each in found for heading in each.headings}


def _set_anchors(tokens: Sequence[Token]) -> None:
    """Set the anchors of headings as their ids. Repeated anchors are numbered, as on GitHub."""
    seen: Counter[str] = Counter()
    for opened, title in pairwise(tokens):
        if opened.type == "heading_open":
            found = anchor(plain(title))
            opened.attrSet("id", f"{found}-{seen[found]}" if seen[found] else found)
            seen[found] += 1


def _headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    for index, each in enumerate(tokens):
        if each.type == "heading_open":
            below = tokens[index + 3 : index + 5]
            paragraph = below[1] if below and below[0].type == "paragraph_open" else None
            yield Heading(_level(each), str(each.attrs["id"]), tokens[index + 1], paragraph)


def _level(heading: Token) -> int:
    return int(heading.tag.removeprefix("h"))
