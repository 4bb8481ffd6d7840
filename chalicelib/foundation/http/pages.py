"""What all web pages of the service have in common: forms and cookies that come in, and headers that go out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from chalice.app import Response

from chalicelib.foundation.http.web import BODY_BYTES, Incoming, text_answer
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from jinja2 import Environment


HTML = "text/html; charset=utf-8"
OWN_WINDOW = {"Cross-Origin-Opener-Policy": "same-origin"}
"""The page has no part in the window that another site has opened, nor in the site's own."""
ANY_WINDOW = {"Cross-Origin-Opener-Policy": "unsafe-none"}
"""An application may have opened the window and wait for its PSU there: one page on the way would end that."""
_ORIGIN = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+")
_FIELDS = 200
_NO_DEVICES = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class ErrorPage(Protocol):
    """Makes a page for a person whom something went wrong for."""

    def __call__(self, title: str, what: str, next_step: str, *, status: int) -> Response: ...


@dataclass(frozen=True)
class Visit:
    """One request of a person's browser."""

    incoming: Incoming

    @property
    def is_post(self) -> bool:
        return self.incoming.method == "POST"

    @property
    def is_foreign(self) -> bool:
        """Whether another site's page sent this request, by the browser's headers."""
        return self.incoming.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")

    @cached_property
    def fields(self) -> list[tuple[str, str]]:
        """The form of a POST, the query of a GET; empty when it cannot be read."""
        if not self.is_post:
            return list(self.incoming.query)
        if len(self.incoming.body) > BODY_BYTES:
            return []
        try:
            body = self.incoming.body.decode()
            return parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=_FIELDS)
        except ValueError:
            return []

    def field(self, name: str) -> str:
        """The first value of a field, or nothing."""
        return next((value for key, value in self.fields if key == name), "")

    def values(self, name: str) -> list[str]:
        """Every value of a field."""
        return [value for key, value in self.fields if key == name]

    def cookie(self, name: str) -> str:
        """The value of a cookie, or nothing. Whatever other cookies look like, they do not hide it."""
        pairs = (part.strip().partition("=") for part in self.incoming.headers.get("cookie", "").split(";"))
        return next((value for key, _, value in pairs if key == name), "")


def security_headers(leads_to: Iterable[str] = (), *, referrer: str = "same-origin", **sources: str) -> dict[str, str]:
    """The security headers of a page.

    Args:
        leads_to: the addresses at which the page's forms and their redirects may end.
        referrer: ``no-referrer`` where codes or tokens pass; it makes a form's Origin ``null``.
        sources: further sources of a directive of the policy, for example ``script_src="'self'"``.
    """
    places = " ".join(("'self'", *sorted({origin for url in leads_to if (origin := safe_origin(url))})))
    allowed = {"style_src": "'self'", "img_src": "'self'"} | sources
    directives = [f"{name.replace('_', '-')} {value}" for name, value in allowed.items()]
    policy = ["default-src 'none'", *directives, f"form-action {places}", "frame-ancestors 'none'", "base-uri 'none'"]
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Referrer-Policy": referrer,
        "X-Frame-Options": "DENY",
        "Permissions-Policy": _NO_DEVICES,
    }


def html_answer(text: str, status: int, security: Mapping[str, str], cookie: str = "") -> Response:
    """A page that no cache keeps; ``cookie`` is a whole Set-Cookie value."""
    return text_answer(text, HTML, status, {**security, **_set_cookie_header(cookie)})


def see_other(location: str, *cookies: str) -> Response:
    """The browser goes on with GET; each of ``cookies`` is a whole Set-Cookie value."""
    headers = {**security_headers(referrer="no-referrer"), "Location": location, **_set_cookie_header(*cookies)}
    return text_answer("", "text/plain; charset=utf-8", 303, headers)


def cookie(name: str, value: str, seconds: int, *, path: str, secure: bool) -> str:
    """A Set-Cookie value that scripts cannot read and other sites' forms do not send; no seconds delete the cookie."""
    flags = "; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")
    return f"{name}={value}; Path={path}; Max-Age={seconds}{flags}"


def safe_origin(url: str) -> str:
    """Scheme, host and port, if they can stand in a policy without changing it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    origin = f"{parts.scheme}://{parts.netloc}"
    return origin if _ORIGIN.fullmatch(origin) else ""


def _set_cookie_header(*values: str) -> dict[str, Any]:
    """The header of some Set-Cookie values; of several a list, which Chalice sends as several headers."""
    given = [value for value in values if value]
    return {"Set-Cookie": given if len(given) > 1 else given[0]} if given else {}


TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What a room may have in its folder, all of it text, by suffix."""
_FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class StaticFiles:
    """The files of some folders, the first folder wins, and single ``files`` from elsewhere; read on demand."""

    folders: Sequence[Path]
    files: Sequence[Path] = ()

    def name(self, file: str) -> str:
        """The name that ``file`` is served under: ``style.css`` is ``style.0123456789ab.css``. Raises: KeyError."""
        return self._files_by_name[file]

    def answer(self, name: str) -> Response | None:
        """The file that is served under ``name``, or ``None``."""
        file = self._files.get(name)
        if file is None:
            return None
        text = file.read_text(encoding="utf-8")
        return text_answer(text, TYPES[file.suffix], headers={"Cache-Control": _FOR_GOOD})

    @cached_property
    def _files(self) -> Mapping[str, Path]:
        """The files by the names that they are served under."""
        found = {file.name: file for file in self.files}
        for folder in reversed(self.folders):
            found |= {file.name: file for file in folder.iterdir() if file.suffix in TYPES}
        return {_hashed_name(file): file for file in found.values()}

    @cached_property
    def _files_by_name(self) -> Mapping[str, str]:
        return {file.name: served for served, file in self._files.items()}


def _hashed_name(file: Path) -> str:
    return f"{file.stem}.{digest(file.read_bytes())[:12]}{file.suffix}"


@dataclass(frozen=True)
class Templates:
    """The templates in some folders, the first of which wins; ``filters`` by the names that templates use."""

    folders: Sequence[Path]
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def render(self, template: str, /, **context: Any) -> str:
        """The text of a page. Raises: jinja2.UndefinedError, for a value that the template needs and was not given."""
        return self._environment.get_template(template).render(**context)

    def load(self) -> None:
        """Load every template now, so that no visitor waits for it."""
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # few requests need templates

        environment = Environment(
            loader=FileSystemLoader(self.folders),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters.update(self.filters)
        return environment
