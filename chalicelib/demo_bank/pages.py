"""The frame of the banks' pages: visits at one bank, its templates, its cookies and its static files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from chalice.app import Response

from chalicelib.demo_bank import display_text
from chalicelib.demo_bank.runtime import DemoBank
from chalicelib.foundation.http import pages
from chalicelib.foundation.http.static_files import StaticFiles
from chalicelib.foundation.http.templates import Templates

NO_REFERRER = "no-referrer"
_AREA = ("my-accounts", "consents")
"""The first parts of the addresses that belong to no journey of an application's."""
_FOLDER = Path(__file__).parent
_SHARED = Path(pages.__file__).parent


@dataclass(frozen=True)
class Visit(pages.Visit):
    """One request of a PSU's browser at one bank."""

    bank: DemoBank

    def link(self, place: str, **query: str) -> str:
        """A link inside the bank."""
        return f"{self.bank.path}{place}" + (f"?{urlencode(query)}" if query else "")


def page(
    visit: Visit,
    template: str,
    *,
    status: int = 200,
    leads_to: Iterable[str] = (),
    referrer: str = "same-origin",
    **values: Any,
) -> Response:
    """A page of the bank.

    Args:
        visit: whose page it is.
        template: its name.
        status: of the answer.
        leads_to: the addresses that its forms, or the redirects that answer them, may end at.
        referrer: ``NO_REFERRER`` where a code stands on the page.
        values: what the template needs.
    """
    bank = visit.bank
    text = _templates().render(
        template,
        bank=bank.profile,
        path=bank.path,
        static=lambda name: f"{bank.path}/static/{_static_files().name(name)}",
        **values,
    )
    window = pages.OWN_WINDOW if visit.incoming.uri.get("first") in _AREA else pages.ANY_WINDOW
    return pages.html_answer(text, status, pages.security_headers(leads_to, referrer=referrer) | window)


def message_page(
    visit: Visit, title: str, text: str, *, status: int, code: str = "", link: str = "", label: str = ""
) -> Response:
    """A page that says one thing, perhaps with the service's code and one way on."""
    return page(visit, "message.html", status=status, title=title, text=text, code=code, link=link, label=label)


def not_found_page(visit: Visit) -> Response:
    return message_page(visit, "Not found", "There is nothing at this address.", status=404)


def cookie_header(bank: DemoBank, name: str, value: str, seconds: int) -> str:
    """A Set-Cookie value for the bank's pages; no seconds delete it."""
    return pages.cookie(name, value, seconds, path=bank.path, secure=bank.settings.is_https)


def serve_static_file(visit: Visit, name: str) -> Response:
    """``GET /static/<hashed name>``: a style sheet or a picture."""
    return _static_files().answer(name) or not_found_page(visit)


@cache
def _static_files() -> StaticFiles:
    """The style sheets and pictures of both banks, and what all pages of the service share."""
    return StaticFiles((_FOLDER / "static", _SHARED / "static"))


@cache
def _templates() -> Templates:
    filters: Mapping[str, Callable[..., Any]] = {
        "money": display_text.money,
        "group_by_four": display_text.group_by_four,
        "sort_code": display_text.sort_code,
        "day": display_text.day,
        "day_of_month": display_text.day_of_month,
        "scope_text": display_text.scope_text,
    }
    return Templates((_FOLDER / "templates",), filters)
