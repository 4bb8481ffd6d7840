"""The routes of the web interface, its static files, the OpenAPI documents, and the health check.

Page views are loaded on the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib.foundation.http.web import FORM_CHALLENGE, JSON, Incoming, Routes, View, json_answer, text_answer
from chalicelib.foundation.version import VERSION
from chalicelib.website.openapi_documents import DOCUMENTS, GENERATORS, load_document
from chalicelib.website.page_links import LATEST_EVENTS, PAGES, RECEIVER, SIMULATOR
from chalicelib.website.rendered_files import NotRendered, explain_missing

if TYPE_CHECKING:
    from chalicelib.website.container import WebsiteContainer


def _answer_failure(website: WebsiteContainer, incoming: Incoming, error: Exception) -> Response:
    from chalicelib.website import site

    return site.answer_failure(website, incoming, error)


def _page_view(place: str) -> View[WebsiteContainer]:
    def serve(website: WebsiteContainer, incoming: Incoming) -> Response:
        from chalicelib.website import site

        return site.serve(website, place, incoming)

    return serve


website_routes = Routes["WebsiteContainer"](__name__, _answer_failure, challenge=FORM_CHALLENGE)

for _place, _methods in PAGES.items():
    website_routes.serve(_place, _methods, _page_view(_place))

website_routes.serve(LATEST_EVENTS, ["GET"], _page_view(LATEST_EVENTS))

sandbox_routes = Routes["WebsiteContainer"](f"{__name__}.sandbox", _answer_failure, challenge=FORM_CHALLENGE)
"""Routes that exist in sandboxes only."""
sandbox_routes.serve(SIMULATOR, ["GET", "POST"], _page_view(SIMULATOR))
sandbox_routes.serve(RECEIVER, ["POST"], _page_view(RECEIVER))


@sandbox_routes.post(f"{RECEIVER}/{{behaviour}}")
def receive_event(website: WebsiteContainer, incoming: Incoming) -> Response:
    """Respond to an event as the built-in receiver of sandboxes."""
    from chalicelib.website.events.receiver_views import answer_event

    return answer_event(website, incoming)


def _answer_not_found(website: WebsiteContainer, incoming: Incoming) -> Response:
    from chalicelib.website import site

    return site.answer_not_found(website, incoming)


website_routes.serve_below("", ["GET"], _answer_not_found)


@website_routes.get("/static/{name}")
def static(website: WebsiteContainer, incoming: Incoming) -> Response:
    from chalicelib.website.pages import error_page, static_files

    found = static_files().answer(incoming.uri["name"])
    if found is None:
        next_step = "Reload the page that led here."
        return error_page(website, "Not found", "There is no such file.", next_step, status=404)
    return found


@website_routes.get("/docs.md")
def docs_markdown(website: WebsiteContainer, incoming: Incoming) -> Response:
    """Return the documentation's start page as Markdown. Other pages are under ``/docs``."""
    from chalicelib.website.docs_views import answer_source

    return answer_source("README.md")


@website_routes.get("/llms.txt")
def llms(website: WebsiteContainer, incoming: Incoming) -> Response:
    """Return the documentation's table of contents for language models."""
    from chalicelib.website.docs_views import answer_llms

    return answer_llms(website.shared.settings.public_url)


@website_routes.get("/.well-known/security.txt")
def security_txt(website: WebsiteContainer, incoming: Incoming) -> Response:
    """Return the contact for vulnerability reports (RFC 9116), or 404 if the operator has set none."""
    from chalicelib.website.security_text import security_text

    settings = website.shared.settings
    if settings.security_contact is None:
        return text_answer("No contact is set (SECURITY_CONTACT).\n", "text/plain; charset=utf-8", 404)
    text = security_text(settings.security_contact, settings.public_url, website.shared.clock.real.now())
    return text_answer(text, "text/plain; charset=utf-8", headers={"Cache-Control": "public, max-age=300"})


@website_routes.get("/health")
def health(website: WebsiteContainer, incoming: Incoming) -> Response:
    """Respond with status, stage and version. No other services are called."""
    return json_answer({"status": "ok", "stage": website.shared.settings.stage, "version": VERSION})


def _document_view(name: str) -> View[WebsiteContainer]:
    def answer(website: WebsiteContainer, incoming: Incoming) -> Response:
        """Return an OpenAPI document: the exact one, or with ``for=generators`` the one for code generators.

        Return 304 if the client already has the document, and 503 if the document is not rendered.
        """
        settings, readers = website.shared.settings, {value for name, value in incoming.query if name == "for"}
        if readers - {GENERATORS}:
            return json_answer({"error": f"`for` must be `{GENERATORS}`, or absent for the exact document."}, 400)
        address = settings.bank_api_url if name.startswith("bank") else settings.public_url
        try:
            found = load_document(name, address, *readers)
        except NotRendered:
            return json_answer({"error": explain_missing(is_local=settings.is_local)}, 503)
        headers = {"Cache-Control": "public, max-age=300", "ETag": found.tag, "Vary": "Accept-Encoding"}
        if found.matches(incoming.headers.get("if-none-match", "")):
            return text_answer("", JSON, 304, headers)
        return text_answer(found.text, JSON, headers=headers)

    return answer


for _name in DOCUMENTS:
    website_routes.serve(f"/openapi/{_name}.json", ["GET"], _document_view(_name))
