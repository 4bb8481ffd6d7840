"""Renders the documents at build time for ``/docs`` in the web interface.

Each page of ``docs/``, and each document of the Python package, becomes an HTML fragment and a copy of its Markdown in
``chalicelib/website/docs``. The ``index.json`` there contains the menu.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from infra.docs.apis import anchor
from infra.openapi.document import ROOT

SOURCE = ROOT / "docs"
TARGET = ROOT / "chalicelib" / "website" / "docs"
ADDRESS = "{{docs}}"
"""Placeholder in rendered pages for the URL of ``/docs``, which depends on the stage."""
MENU: Mapping[str, Sequence[str]] = {
    "Guides": (
        "guides/tpp",
        "guides/tpp-fapi",
        "guides/tpp-faults",
        "guides/tpp-customers",
        "guides/bank",
        "guides/programme-manager",
        "guides/operator",
        "web-interface",
        "sandbox",
    ),
    "Python package": (
        "sdk",
        "reference/sdk-tpp",
        "reference/sdk-tpp-models",
        "reference/sdk-events",
        "reference/sdk-errors",
        "reference/sdk-keys",
        "reference/sdk-listen",
        "reference/sdk-bank",
        "reference/sdk-bank-models",
        "sdk-changelog",
    ),
    "Concepts": (
        "concepts/versions",
        "concepts/requests",
        "concepts/consents-and-tokens",
        "concepts/client-security",
        "concepts/payments",
        "concepts/deferred-calls",
        "concepts/delivery",
        "concepts/bank-integration",
        "concepts/bank-conformance",
        "concepts/card-requests",
        "concepts/card-data",
        "concepts/card-network",
        "concepts/external-payments",
        "concepts/ledger",
        "statistics",
    ),
    "Reference": (
        "reference/tpp-api",
        "reference/security-profile",
        "reference/bank-api-v1",
        "reference/bank-api-v2",
        "reference/bank-checks",
        "reference/card-actions",
        "reference/card-events",
        "reference/card-values",
        "reference/commands",
        "reference/settings",
    ),
    "Running it": ("deployment", "operations", "programme-file", "data", "figures", "capacity", "architecture", "tour"),
}
"""The menu's pages by section; the home page, ``README.md``, comes first."""
HOME = "README"
PACKAGE_PAGES: Mapping[str, str] = {"sdk": "sdk/README.md", "sdk-changelog": "sdk/CHANGELOG.md"}
"""Pages whose files are not below ``docs``, because they belong to a package that is published by itself."""
_TARGET = re.compile(r"(?<=\]\()([^)#\s:]+\.md)(?=[)#])")


class LinkError(ValueError):
    """A link in a document does not lead to a page of the site."""


def texts() -> dict[Path, str]:
    """The expected content of each file of the site. Raises: LinkError."""
    sources = {page: (ROOT / file_of(page)).read_text("utf-8") for page in page_names()}
    found = {TARGET / f"{page}.md": markdown_copy(page, text) for page, text in sources.items()}
    found |= {TARGET / f"{page}.html": Renderer(page).render(text) for page, text in sources.items()}
    found |= {
        TARGET / "guides" / f"{file.name}.txt": file.read_text("utf-8")
        for file in SOURCE.glob("guides/*")
        if file.suffix in {".py", ".yaml"}
    }
    return {**found, TARGET / "index.json": json.dumps(_index(sources), indent=1, ensure_ascii=False) + "\n"}


def page_names() -> Iterator[str]:
    yield HOME
    for pages in MENU.values():
        yield from pages


def file_of(page: str) -> str:
    """The file of a page, relative to the repository."""
    return PACKAGE_PAGES.get(page, f"docs/{page}.md")


def page_of(page: str, target: str) -> str | None:
    """The page, or other file of ``docs``, to which a link of a page leads, if there is one."""
    file = posixpath.normpath(posixpath.join(posixpath.dirname(file_of(page)), target))
    for name, package_file in PACKAGE_PAGES.items():
        if package_file == file:
            return name
    is_document = file.startswith("docs/") and (ROOT / file).is_file()
    return file.removeprefix("docs/").removesuffix(".md") if is_document else None


def markdown_copy(page: str, text: str) -> str:
    """A page's Markdown, whose links lead to the copies of other pages."""

    def rewrite(link: re.Match[str]) -> str:
        found = page_of(page, link[1])
        is_as_written = found is None or not {page, found} & set(PACKAGE_PAGES)
        return link[1] if is_as_written else posixpath.relpath(f"{found}.md", posixpath.dirname(page))

    return _TARGET.sub(rewrite, text)


def _index(sources: Mapping[str, str]) -> dict[str, object]:
    entries = {page: _entry(page, text) for page, text in sources.items()}
    return {"home": entries[HOME], "menu": {name: [entries[page] for page in pages] for name, pages in MENU.items()}}


def _entry(page: str, text: str) -> dict[str, object]:
    """A page's title and first sentence."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = (_plain(content) for opened, content in pairwise(tokens) if opened.type == "heading_open")
    paragraphs = (_plain(content) for opened, content in pairwise(tokens) if opened.type == "paragraph_open")
    return {"page": page, "title": next(headings), "summary": re.split(r"(?<=[.:]) ", next(paragraphs), maxsplit=1)[0]}


def _anchors(titles: Iterable[str]) -> Iterator[str]:
    """The anchors of a page's headings; repeated ones are numbered, as on GitHub."""
    seen: Counter[str] = Counter()
    for title in titles:
        found = anchor(title)
        yield f"{found}-{seen[found]}" if seen[found] else found
        seen[found] += 1


def _plain(inline: Token) -> str:
    return "".join(
        each.content if each.type in {"text", "code_inline"} else " " * (each.type == "softbreak")
        for each in inline.children or ()
    )


class Renderer:
    """Renders a page without its title: adds anchors and scrollable tables, and rewrites links to pages of the site."""

    def __init__(self, page: str) -> None:
        self._page = page
        self._places: Iterator[str] = iter(())
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self._markdown.renderer.rules |= {  # type: ignore[attr-defined]
            "heading_open": self._open_heading,
            "table_open": lambda *_: '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n',
            "table_close": lambda *_: "</table></div>\n",
            "link_open": self._open_link,
            "fence": self._block,
        }

    def render(self, text: str) -> str:
        body = re.sub(r"\A# .+\n|^<!--.+-->\n", "", text, flags=re.MULTILINE)
        tokens = self._markdown.parse(body)
        self._places = _anchors(_plain(each) for opened, each in pairwise(tokens) if opened.type == "heading_open")
        text = str(self._markdown.renderer.render(tokens, self._markdown.options, {})).replace(
            "<th></th>", "<td></td>"
        )  # a header needs words
        return text.replace(' style="text-align:right"', ' class="number"')

    def _open_heading(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return f'<{tokens[index].tag} id="{next(self._places)}">'

    def _block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Render a code block, focusable because it scrolls."""
        language, content = escapeHtml(tokens[index].info), escapeHtml(tokens[index].content)
        return f'<pre tabindex="0"><code class="language-{language}">{content}</code></pre>\n'

    def _open_link(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        target = str(tokens[index].attrs["href"])
        return f'<a href="{self._address(target)}">'

    def _address(self, target: str) -> str:
        if re.match("[a-z]+:|#", target):
            return target
        path, _, fragment = target.partition("#")
        page = page_of(self._page, path)
        if page is None:
            raise LinkError(f"{file_of(self._page)}: {target} is no page of the documents")
        return f"{ADDRESS}{'' if page == HOME else f'/{page}'}{f'#{fragment}' if fragment else ''}"
