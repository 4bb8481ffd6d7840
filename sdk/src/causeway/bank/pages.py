"""The pages on which a PSU decides. A bank can replace the pages with a template or a function."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from starlette.responses import HTMLResponse

TEMPLATE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>{bank}</title><h1>{title}</h1>\n{content}</html>\n"
)
"""The default template: ``{bank}`` is the bank's name, ``{title}`` the question or message, and ``{content}`` the text
and form. All values are escaped.
"""
PLACEHOLDER = re.compile("{(bank|title|content)}")
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""The headers of every page. They keep the secret in the page's URL from other sites, and prevent other pages from
embedding the page.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A checkbox of the form, or one of several radio buttons."""

    name: str
    """The name of the form field."""
    value: str
    """The value of the form field if the choice is selected."""
    label: str
    """The text that is displayed to the PSU for this choice."""


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page. A page without buttons is a message. Escape all texts before you insert them into HTML."""

    bank: str
    """The bank's name."""
    title: str
    """The question or message of the page."""
    lines: tuple[str, ...] = ()
    """The paragraphs below the title."""
    action: str = ""
    """The URL to which the form is sent by ``POST``. The form has the field ``decision`` with the value of a button,
    and the selected choices.
    """
    choices: tuple[Choice, ...] = ()
    """The choices that the page offers to the PSU, such as accounts."""
    chooses_one: bool = False
    """Whether exactly one choice can be selected. If true, the page has radio buttons instead of checkboxes."""
    buttons: tuple[tuple[str, str], ...] = ()
    """The value and label of each button, for example with the values ``yes`` and ``no``."""
    status: int = 200
    """The HTTP status of the page."""


def render(page: Page, template: str) -> HTMLResponse:
    """Render a page as HTML."""
    parts = {"bank": escape(page.bank), "title": escape(page.title), "content": _content(page)}
    return HTMLResponse(PLACEHOLDER.sub(lambda found: parts[found[1]], template), page.status)


def _content(page: Page) -> str:
    lines = "".join(f"<p>{escape(line)}</p>\n" for line in page.lines)
    if not page.buttons:
        return lines
    choices = "".join(
        f'<p><label><input type="{"radio" if page.chooses_one else "checkbox"}" name="{escape(each.name)}"'
        f' value="{escape(each.value)}"{" checked" if each is page.choices[0] or not page.chooses_one else ""}>'
        f" {escape(each.label)}</label></p>\n"
        for each in page.choices
    )
    buttons = "".join(
        f'<button name="decision" value="{escape(value)}">{escape(label)}</button>\n' for value, label in page.buttons
    )
    return f'{lines}<form method="post" action="{escape(page.action)}">\n{choices}{buttons}</form>\n'
