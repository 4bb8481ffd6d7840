"""Renders a document as the HTML of its page. A long page is divided into several parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from infra.render.docs.site_pages import HOME, file_of, page_of
from infra.render.docs.site_parts import Heading, Section, markdown, part_name, parts, resolve, sections

ADDRESS = "{{docs}}"
"""Placeholder in rendered pages for the URL of ``/docs``, which depends on the stage."""
_SENTENCE_END = re.compile(r"(?<=\.)\s")
_LONG_NAME = re.compile(r"\S{40,}")
_BREAK = re.compile(r"(?<=[/_])|(?<=::)")


class LinkError(ValueError):
    """A link in a document does not refer to a page of the site."""


def _breakable(name: re.Match[str]) -> str:
    return _BREAK.sub("<wbr>", name[0])


class Renderer:
    """Renders a page without its title, adds anchors and scrollable tables, and rewrites links to pages of the site.

    Instead of its parts, a divided page contains lists of the parts' sections, with the anchors of the parts.
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._current = page
        self._raised = 0
        self._markdown = markdown()
        self._markdown.renderer.rules |= {  # type: ignore[attr-defined]
            "heading_open": self._heading,
            "heading_close": self._heading,
            "table_open": lambda *_: '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n',
            "table_close": lambda *_: "</table></div>\n",
            "link_open": self._open_link,
            "fence": self._block,
            "code_inline": self._code,
        }

    def render(self, text: str) -> str:
        """Return the HTML at the page's own URL. For a divided page, this HTML does not contain the parts. Raises:
        LinkError.
        """
        return self.render_all(text)[self._page]

    def render_all(self, text: str) -> Mapping[str, str]:
        """Return the HTML of the page and its parts, by name. Raises: LinkError."""
        found = sections(text)
        divided = parts(self._page, found)
        whole = "".join(self._list(each) if each in divided else self._html(each.tokens) for each in found)
        return {self._page: whole, **{part_name(self._page, each): self._part(each) for each in divided}}

    # -- pages and parts

    def _part(self, section: Section) -> str:
        self._current, self._raised = part_name(self._page, section), 1
        text = self._html(section.tokens[3:])
        self._current, self._raised = self._page, 0
        return text

    def _list(self, section: Section) -> str:
        part, *below = section.headings
        about = f"<p>{self._inline(part.paragraph.children)}</p>\n" if part.paragraph else ""
        rows = "".join(f'<li id="{each.anchor}">{self._row(each)}</li>\n' for each in below)
        return f'<h2 id="{part.anchor}">{self._link(part)}</h2>\n{about}<ul class="sections">\n{rows}</ul>\n'

    def _row(self, heading: Heading) -> str:
        about = _SENTENCE_END.split(heading.paragraph.content if heading.paragraph else "", maxsplit=1)[0]
        is_complete = about and not about.endswith(":")
        return f"{self._link(heading)}{f'<p>{self._markdown.renderInline(about)}</p>' if is_complete else ''}"

    def _link(self, heading: Heading) -> str:
        return f'<a href="{self._place(self._page, heading.anchor)}">{self._inline(heading.title.children)}</a>'

    def _inline(self, tokens: Sequence[Token] | None) -> str:
        return self._markdown.renderer.renderInline(list(tokens or ()), self._markdown.options, {})  # type: ignore[attr-defined,no-any-return]

    # -- elements

    def _html(self, tokens: Sequence[Token]) -> str:
        text = str(self._markdown.renderer.render(list(tokens), self._markdown.options, {}))
        text = text.replace("<th></th>", "<td></td>")  # a header needs words
        return text.replace(' style="text-align:right"', ' class="number"')

    def _heading(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        tag = f"h{int(token.tag[1:]) - self._raised}"
        return f'<{tag} id="{token.attrs["id"]}">' if token.nesting == 1 else f"</{tag}>\n"

    def _block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Render a code block, which can be focused because it scrolls."""
        language, content = escapeHtml(tokens[index].info), escapeHtml(tokens[index].content)
        return f'<pre tabindex="0"><code class="language-{language}">{content}</code></pre>\n'

    def _code(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Render code in a sentence. A long path or name may contain line breaks, so that a table column with code is
        not too wide.
        """
        content = escapeHtml(tokens[index].content)
        return f"<code>{_LONG_NAME.sub(_breakable, content)}</code>"

    # -- links

    def _open_link(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        target = str(tokens[index].attrs["href"])
        return f'<a href="{self._address(target)}">'

    def _address(self, target: str) -> str:
        if re.match("[a-z]+:", target):
            return target
        path, _, fragment = target.partition("#")
        page = page_of(self._page, path) if path else self._page
        if page is None:
            raise LinkError(f"{file_of(self._page)}: {target} is no page of the documents")
        return self._place(page, fragment)

    def _place(self, page: str, fragment: str) -> str:
        target, anchor_id = resolve(page, fragment)
        if target == self._current and anchor_id:
            return f"#{anchor_id}"
        return f"{ADDRESS}{'' if target == HOME else f'/{target}'}{f'#{anchor_id}' if anchor_id else ''}"
