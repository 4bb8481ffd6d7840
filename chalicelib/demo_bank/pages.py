"""The frame of the banks' pages: requests as visits, templates, security headers, cookies and static files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from chalice.app import Response

from chalicelib.demo_bank import wording
from chalicelib.demo_bank.runtime import Bank
from chalicelib.foundation.web import BODY_BYTES, Incoming, text_answer

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_ORIGIN = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+")
_STATIC_TYPES = {
    "style.css": "text/css; charset=utf-8",
    "one.css": "text/css; charset=utf-8",
    "two.css": "text/css; charset=utf-8",
    "one.svg": "image/svg+xml",
    "two.svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Visit:
    """One request of a PSU's browser at one bank."""

    bank: Bank
    incoming: Incoming

    @property
    def is_post(self) -> bool:
        return self.incoming.method == "POST"

    @property
    def is_foreign(self) -> bool:
        """Whether the browser says that another site's page sent this request."""
        return self.incoming.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")

    @cached_property
    def fields(self) -> list[tuple[str, str]]:
        """The form of a POST, the query of a GET; empty when it cannot be read."""
        if not self.is_post:
            return list(self.incoming.query)
        if len(self.incoming.body) > BODY_BYTES:
            return []
        try:
            return parse_qsl(self.incoming.body.decode(), keep_blank_values=True, errors="strict", max_num_fields=200)
        except ValueError:
            return []

    def field(self, name: str) -> str:
        """The first value of a field, or nothing."""
        return next((value for key, value in self.fields if key == name), "")

    def chosen(self, name: str) -> list[str]:
        """Every value of a field."""
        return [value for key, value in self.fields if key == name]

    def cookie(self, name: str) -> str:
        try:
            cookies = SimpleCookie(self.incoming.headers.get("cookie", ""))
        except CookieError:
            return ""
        return cookies[name].value if name in cookies else ""

    def link(self, place: str, **query: str) -> str:
        """A link inside the bank."""
        return f"{self.bank.path}{place}" + (f"?{urlencode(query)}" if query else "")


def page(visit: Visit, template: str, *, status: int = 200, leads_to: Iterable[str] = (), **context: Any) -> Response:
    """A page of the bank. ``leads_to`` are the addresses that its forms' redirects may end at."""
    text = (
        _environment()
        .get_template(template)
        .render(bank=visit.bank.profile, path=visit.bank.path, version=_static_version(), **context)
    )
    return text_answer(text, "text/html; charset=utf-8", status, _security_headers(leads_to))


def message(
    visit: Visit, title: str, text: str, *, status: int, code: str = "", link: str = "", label: str = ""
) -> Response:
    """A page that says one thing, perhaps with the service's code and one way on."""
    return page(visit, "message.html", status=status, title=title, text=text, code=code, link=link, label=label)


def see_other(location: str, cookie: str = "") -> Response:
    """The browser goes on with GET; ``cookie`` is a whole Set-Cookie value."""
    headers = _security_headers(()) | {"Location": location} | ({"Set-Cookie": cookie} if cookie else {})
    return text_answer("", "text/plain; charset=utf-8", 303, headers)


def set_cookie(bank: Bank, name: str, value: str, seconds: int, place: str = "") -> str:
    """A Set-Cookie value for the bank's pages below ``place``; no seconds delete it."""
    secure = "; Secure" if bank.settings.public_url.startswith("https://") else ""
    path = bank.path + place
    return f"{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def static(visit: Visit, name: str) -> Response:
    """A style sheet or a picture."""
    if name not in _STATIC_TYPES:
        return message(visit, "Not found", "There is nothing at this address.", status=404)
    return text_answer(_static(name), _STATIC_TYPES[name], headers={"Cache-Control": "public, max-age=3600"})


def _security_headers(leads_to: Iterable[str]) -> dict[str, str]:
    places = " ".join(("'self'", *sorted({origin for url in leads_to if (origin := safe_origin(url))})))
    policy = (
        "default-src 'none'; style-src 'self'; img-src 'self'; "
        f"form-action {places}; frame-ancestors 'none'; base-uri 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }


def safe_origin(url: str) -> str:
    """Scheme, host and port, if they can stand in a policy without changing it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    origin = f"{parts.scheme}://{parts.netloc}"
    return origin if _ORIGIN.fullmatch(origin) else ""


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # few requests need templates

    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: Mapping[str, Any] = {
        "money": wording.money,
        "grouped": wording.grouped,
        "sort_code": wording.sort_code,
        "day": wording.day,
        "day_of_month": wording.day_of_month,
        "scope_words": wording.scope_words,
    }
    environment.filters.update(filters)
    return environment


@cache
def _static(name: str) -> str:
    return (_HERE / "static" / name).read_text(encoding="utf-8")


@cache
def _static_version() -> str:
    """Changes with the static files, so that browsers may keep them."""
    content = "".join(_static(name) for name in sorted(_STATIC_TYPES))
    return hashlib.sha256(content.encode()).hexdigest()[:8]
