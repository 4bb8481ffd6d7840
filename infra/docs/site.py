"""Renders the documents at build time for ``/docs`` in the web interface.

Each page of ``docs/`` becomes an HTML fragment and a copy of its Markdown in ``chalicelib/website/docs``. The
``index.json`` there contains the menu, and the headings for the search.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
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


class LinkError(ValueError):
    """A link in a document does not lead to a page of the site."""


def texts() -> dict[Path, str]:
    """The expected content of each file of the site. Raises: LinkError."""
    sources = {page: (SOURCE / f"{page}.md").read_text("utf-8") for page in page_names()}
    found = {TARGET / f"{page}.md": text for page, text in sources.items()}
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


def _index(sources: Mapping[str, str]) -> dict[str, object]:
    entries = {page: _entry(page, text) for page, text in sources.items()}
    return {"home": entries[HOME], "menu": {name: [entries[page] for page in pages] for name, pages in MENU.items()}}


def _entry(page: str, text: str) -> dict[str, object]:
    """A page's title, first sentence, and headings with their anchors."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = [
        (int(opened.tag[1]), _plain(content)) for opened, content in pairwise(tokens) if opened.type == "heading_open"
    ]
    paragraphs = (_plain(content) for opened, content in pairwise(tokens) if opened.type == "paragraph_open")
    return {
        "page": page,
        "title": headings[0][1],
        "summary": re.split(r"(?<=[.:]) ", next(paragraphs), maxsplit=1)[0],
        "headings": [{"level": level, "title": title, "anchor": anchor(title)} for level, title in headings[1:]],
    }


def _plain(inline: Token) -> str:
    return "".join(
        each.content if each.type in {"text", "code_inline"} else " " * (each.type == "softbreak")
        for each in inline.children or ()
    )


class Renderer:
    """Renders a page without its title: adds anchors and scrollable tables, and rewrites links to pages of the site."""

    def __init__(self, page: str) -> None:
        self._page = page
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
        text = str(self._markdown.render(body)).replace("<th></th>", "<td></td>")  # a header needs words
        return text.replace(' style="text-align:right"', ' class="number"')

    def _open_heading(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return f'<{tokens[index].tag} id="{anchor(_plain(tokens[index + 1]))}">'

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
        place = posixpath.normpath(posixpath.join(posixpath.dirname(self._page), path))
        if place.startswith("..") or not (SOURCE / place).is_file():
            raise LinkError(f"docs/{self._page}.md: {target} is no page of the documents")
        page = place.removesuffix(".md")
        return f"{ADDRESS}{'' if page == HOME else f'/{page}'}{f'#{fragment}' if fragment else ''}"
