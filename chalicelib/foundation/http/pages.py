"""Shared parts of all web pages: submitted forms and cookies, security headers, static files and templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar
from urllib.parse import parse_qsl, urlsplit

from chalice.app import Response

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.web import BODY_BYTES, Incoming, text_answer
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment


HTML = "text/html; charset=utf-8"
OWN_WINDOW = {"Cross-Origin-Opener-Policy": "same-origin"}
"""A header that isolates the page's window from windows of other sites."""
ANY_WINDOW = {"Cross-Origin-Opener-Policy": "unsafe-none"}
"""A header that preserves the link to an application that opened the window and waits for the PSU. Every page of the
journey must have this header.
"""
_ORIGIN = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+")
_SHARED = Path(__file__).parent / "templates"
_FIELDS = 250
"""The maximum number of fields in a form. The longest form has 200 check boxes and a few other fields."""
_NO_DEVICES = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class ErrorPage(Protocol):
    """Renders an error page: the title, the error, and the next step."""

    def __call__(self, title: str, what: str, next_step: str, *, status: int) -> Response: ...


Shown_contra = TypeVar("Shown_contra", contravariant=True)


class PageRenderer(Protocol[Shown_contra]):
    """Renders the page that displays a value."""

    def __call__(self, value: Shown_contra, /) -> Response: ...


@dataclass(frozen=True)
class Visit:
    """One request from a person's browser."""

    incoming: Incoming

    @property
    def is_post(self) -> bool:
        return self.incoming.method == "POST"

    @property
    def is_foreign(self) -> bool:
        """Whether a page of a different site or origin sent the request, according to ``Sec-Fetch-Site``."""
        return self.incoming.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")

    @cached_property
    def fields(self) -> list[tuple[str, str]]:
        """Return the form fields of a POST or the query of a GET, or no fields if the form cannot be parsed."""
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
        """Return the first value of a field, or an empty string."""
        return next((value for key, value in self.fields if key == name), "")

    def values(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value for key, value in self.fields if key == name]

    def cookie(self, name: str) -> str:
        """Return the value of a cookie, or an empty string. Other cookies may be malformed."""
        pairs = (part.strip().partition("=") for part in self.incoming.headers.get("cookie", "").split(";"))
        return next((value for key, _, value in pairs if key == name), "")


def security_headers(leads_to: Iterable[str] = (), *, referrer: str = "same-origin", **sources: str) -> dict[str, str]:
    """Return the security headers of a page.

    Args:
        leads_to: URLs that the page's forms may submit or redirect to.
        referrer: the Referrer-Policy. ``no-referrer`` protects codes and tokens, but sets a form's Origin to ``null``.
        sources: CSP directives to add or replace, for example ``script_src="'self'"``.
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


def html_answer(text: str, status: int, security: Mapping[str, str], *cookies: str) -> Response:
    """Create an HTML response that must not be cached. Each of ``cookies`` is a complete Set-Cookie value or an empty
    text.
    """
    return text_answer(text, HTML, status, {**security, **_set_cookie_header(*cookies)})


def see_other(location: str, *cookies: str) -> Response:
    """Create a 303 redirect, which browsers follow with GET. Each of ``cookies`` is a complete Set-Cookie value."""
    headers = {**security_headers(referrer="no-referrer"), "Location": location, **_set_cookie_header(*cookies)}
    return text_answer("", "text/plain; charset=utf-8", 303, headers)


def safe_origin(url: str) -> str:
    """Return the scheme, host and port of ``url``, or an empty string if they are unsafe in a security policy."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    origin = f"{parts.scheme}://{parts.netloc}"
    return origin if _ORIGIN.fullmatch(origin) else ""


def _set_cookie_header(*values: str) -> dict[str, Any]:
    """Return the Set-Cookie header. Multiple values form a list, which Chalice sends as separate headers."""
    given = [value for value in values if value]
    return {"Set-Cookie": given if len(given) > 1 else given[0]} if given else {}


TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The content types of static files by file suffix. All files are text."""
_FOR_GOOD = "public, max-age=31536000, immutable"
_IMPORT = re.compile(r"""(?<=from "\./)[\w.-]+\.js(?=";)""")
"""A regular expression for an import in an ES module, such as ``import { name } from "./file.js";``."""


@dataclass(frozen=True)
class StaticFiles:
    """Static files from ``folders`` (the first match wins), read on demand.

    Public names of files contain a hash, also in imports of scripts, so that the content of each name never changes.
    """

    folders: Sequence[Path]

    def name(self, file: str) -> str:
        """Return the public name of ``file``, which contains a hash: ``style.css`` becomes ``style.0123456789ab.css``.

        The hash of a script covers its imports. Raises: KeyError.
        """
        if file not in self._names:
            found = self._originals[file]
            self._names[file] = f"{found.stem}.{digest(self._text(found).encode())[:12]}{found.suffix}"
        return self._names[file]

    def answer(self, name: str) -> Response | None:
        """Return a response with the file of this public name, or ``None``."""
        file = self._files.get(name)
        if file is None:
            return None
        headers = {"Cache-Control": _FOR_GOOD, "Vary": "Accept-Encoding"}
        return text_answer(self._text(file), TYPES[file.suffix], headers=headers)

    def modules(self, file: str) -> Sequence[str]:
        """Return the public names of all ES modules that ``file`` imports, directly or indirectly. Raises: KeyError."""
        if file not in self._modules:
            self._modules[file] = [self.name(name) for name in self._imported(file)]
        return self._modules[file]

    def _imported(self, file: str) -> Iterable[str]:
        found: dict[str, None] = {}
        waiting = [file]
        while waiting:
            imported = _IMPORT.findall(self._originals[waiting.pop(0)].read_text(encoding="utf-8"))
            waiting += [name for name in imported if name not in found]
            found |= dict.fromkeys(imported)
        return found

    @cached_property
    def _originals(self) -> Mapping[str, Path]:
        found: dict[str, Path] = {}
        for folder in reversed(self.folders):
            found |= {file.name: file for file in folder.iterdir() if file.suffix in TYPES}
        return found

    @cached_property
    def _files(self) -> Mapping[str, Path]:
        return {self.name(name): file for name, file in self._originals.items()}

    @cached_property
    def _names(self) -> dict[str, str]:
        """The public names computed so far, by file."""
        return {}

    @cached_property
    def _modules(self) -> dict[str, Sequence[str]]:
        """The public names of the modules that each requested file imports."""
        return {}

    def _text(self, file: Path) -> str:
        """Return the content of a file as served. Imports in scripts use public names, and must not form a cycle."""
        text = file.read_text(encoding="utf-8")
        return _IMPORT.sub(lambda found: self.name(found[0]), text) if file.suffix == ".js" else text


@cache
def heroicon(name: str, size: int) -> str:
    """Return an outline icon of heroicons.com as inline SVG, ``size`` pixels wide, hidden from screen readers.

    Raises:
        heroicons.IconDoesNotExist: there is no icon of this name.
    """
    from heroicons.jinja import heroicon_outline  # imported late: only templates need it

    return heroicon_outline(name, size=size, aria_hidden="true", **{"class": "icon"})


@dataclass(frozen=True)
class Templates:
    """Templates from ``folders`` (the first match wins) and the shared templates. ``filters`` contains the filters by
    name.
    """

    compiled: ClassVar[BytecodeCache | None] = None
    """The cache of compiled templates that processes share. A Lambda function has no such cache."""

    folders: Sequence[Path]
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def render(self, template: str, /, **context: Any) -> str:
        """Render a page. Raises: jinja2.UndefinedError: a value for the template is missing."""
        return self._environment.get_template(template).render(**context)

    def load(self) -> None:
        """Load every template in advance, so that the first visitors do not wait."""
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # imported late: few requests need templates

        environment = Environment(
            loader=FileSystemLoader((*self.folders, _SHARED)),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            bytecode_cache=self.compiled,
        )
        environment.filters.update(self.filters)
        environment.filters["json_text"] = jsontext.dumps
        environment.globals["heroicon"] = heroicon
        return environment
