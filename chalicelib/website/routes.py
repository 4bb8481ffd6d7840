"""The routes of the web interface, its static files, the OpenAPI documents, and the service's health.

The pages are loaded when somebody first goes there.
"""

from __future__ import annotations

from chalice.app import Response

from chalicelib.bootstrap import hub
from chalicelib.foundation.http.web import JSON, Incoming, Routes, View, json_answer, text_answer
from chalicelib.website.openapi_documents import DOCUMENTS, description
from chalicelib.website.page_links import PLACES, SIMULATOR


def _failed(incoming: Incoming, error: Exception) -> Response:
    from chalicelib.website import site

    return site.failed(incoming, error)


def _page(place: str) -> View:
    def served(incoming: Incoming) -> Response:
        from chalicelib.website import site

        return site.serve(place, incoming)

    return served


website_routes = Routes(__name__, _failed)

for _place, _methods in PLACES.items():
    website_routes.serve(_place, _methods, _page(_place))

sandbox_routes = Routes(f"{__name__}.sandbox", _failed)
"""What there is in sandboxes only."""
sandbox_routes.serve(SIMULATOR, ["GET", "POST"], _page(SIMULATOR))


def _unknown(incoming: Incoming) -> Response:
    from chalicelib.website import site

    return site.not_found(incoming)


website_routes.serve_below("", ["GET"], _unknown)


@website_routes.get("/static/{name}")
def static(incoming: Incoming) -> Response:
    """A style sheet, script or picture under its hashed name."""
    from chalicelib.website.pages import error_page, statics

    found = statics().answer(incoming.uri["name"])
    if found is None:
        return error_page("Not found", "There is no such file.", "Load the page again that led here.", status=404)
    return found


@website_routes.get("/health")
def health(incoming: Incoming) -> Response:
    """Whether the service answers, and which stage it is; asks no other service."""
    return json_answer({"status": "ok", "stage": hub().settings.stage})


def _described(name: str) -> View:
    def described(incoming: Incoming) -> Response:
        """An OpenAPI document; a caller who has it already is told so (304)."""
        settings = hub().settings
        found = description(name, settings.bank_api_url if name.startswith("bank") else settings.public_url)
        headers = {"Cache-Control": "public, max-age=300", "ETag": found.tag}
        if found.is_known(incoming.headers.get("if-none-match", "")):
            return text_answer("", JSON, 304, headers)
        return text_answer(found.text, JSON, headers=headers)

    return described


for _name in DOCUMENTS:
    website_routes.serve(f"/openapi/{_name}.json", ["GET"], _described(_name))
