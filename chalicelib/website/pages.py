"""Pages: templates under a Content-Security-Policy that allows no inline script and no inline style."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chalice.app import Response

from chalicelib.bootstrap import hub
from chalicelib.foundation.web import text_answer

if TYPE_CHECKING:
    from jinja2 import Environment

_ROOM = Path(__file__).parent
_SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # only pages need it

    return Environment(
        loader=FileSystemLoader(_ROOM / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )


def page(template: str, status: int = 200, **values: Any) -> Response:
    """A page made from a template."""
    text = _environment().get_template(template).render(path=hub().settings.public_path, **values)
    return text_answer(text, "text/html; charset=utf-8", status, _SECURITY)


def error_page(title: str, what: str, next_step: str, *, status: int) -> Response:
    """A page for a person whom something went wrong for: what happened, and what to do."""
    return page("error.html", status, title=title, what=what, next_step=next_step)


@cache
def stylesheet() -> str:
    return (_ROOM / "static" / "style.css").read_text(encoding="utf-8")
