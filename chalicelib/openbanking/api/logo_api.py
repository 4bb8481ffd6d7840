"""The banks' logos for web pages and applications. A logo is public and cached permanently by its digest in the URL.

Other instances and applications may use a logo's URL after the logo was replaced. The URL then redirects to the new
logo.
"""

from __future__ import annotations

from chalice.app import Response

from chalicelib.foundation.http.web import Incoming, Routes, UnreadableBody, WrongMethod, binary_answer, text_answer
from chalicelib.openbanking.api import answers
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.records.bank_logos import is_logo_digest, logo_path
from chalicelib.openbanking.records.banks import CACHED_SECONDS

_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}
_MOVED = {"Cache-Control": f"public, max-age={CACHED_SECONDS}"}


def _failure_page(openbanking: OpenBankingContainer, incoming: Incoming, error: Exception) -> Response:
    if isinstance(error, WrongMethod):
        what = f"This address accepts only {error.allowed}."
        return openbanking.error_page("Not possible here", what, "Go to the start page.", status=405)
    if isinstance(error, UnreadableBody):
        what = f"The request cannot be read: {error}."
        return openbanking.error_page("Not possible here", what, "Go to the start page.", status=400)
    answers.as_refusal(error)
    return openbanking.error_page(
        "Something went wrong here", "The service failed to read the logo.", "Load it again in a moment.", status=500
    )


logo_routes = Routes[OpenBankingContainer](__name__, _failure_page)


@logo_routes.get("/banks/{bic}/logo/{digest}")
def logo(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Return a bank's logo. A URL with an outdated digest redirects to the current logo's URL."""
    bic, digest = incoming.uri["bic"], incoming.uri["digest"]
    found = openbanking.banks.find_logo(bic) if is_logo_digest(digest) else None
    if found is None:
        return openbanking.error_page(
            "Not found", "There is no such logo.", "Look up the bank again: its logo may have changed.", status=404
        )
    if found.digest != digest:
        location = f"{openbanking.shared.settings.public_url}{logo_path(bic, found.digest)}"
        return text_answer("", "text/plain; charset=utf-8", 302, _MOVED | {"Location": location})
    return binary_answer(found.content, found.media_type, _HEADERS)
