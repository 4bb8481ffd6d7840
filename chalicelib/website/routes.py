"""The web interface's addresses: the first page, the shared callback, and the service's health."""

from __future__ import annotations

from chalice.app import Blueprint, Request, Response

from chalicelib.bootstrap import hub
from chalicelib.foundation import log
from chalicelib.foundation.identifiers import Credential
from chalicelib.foundation.web import Incoming, answering, json_answer, text_answer
from chalicelib.website.pages import error_page, page, stylesheet

website_routes = Blueprint(__name__)


def _current() -> Request:
    return website_routes.current_request


def _failed(incoming: Incoming, error: Exception) -> Response:
    log.exception("failed", error=type(error).__name__)
    return error_page("Something went wrong here", "The service failed.", "Please try again.", status=500)


view = answering(_current, _failed)


@website_routes.route("/", methods=["GET"])
@view
def home(incoming: Incoming) -> Response:
    settings = hub().settings
    return page("home.html", base=settings.public_url, stage=settings.stage, banks=hub().banks.directory())


@website_routes.route("/authorize/callback", methods=["GET"])
@view
def callback(incoming: Incoming) -> Response:
    """Where PSUs of clients without a Callback URL of their own come back to: shows what came, exchanges nothing."""
    query = dict(incoming.query)
    code = query.get("authorization_code") or query.get("code") or ""
    return page(
        "callback.html",
        base=hub().settings.public_url,
        code=code if Credential.parse(code, parts=1) else None,  # anybody can make an address; no quotes get in here
        state=query.get("state"),
        error=query.get("error"),
        description=query.get("error_description"),
        lifetime=hub().settings.code_lifetime,
    )


@website_routes.route("/static/style.css", methods=["GET"])
@view
def style(incoming: Incoming) -> Response:
    return text_answer(stylesheet(), "text/css; charset=utf-8", headers={"Cache-Control": "public, max-age=3600"})


@website_routes.route("/health", methods=["GET"])
@view
def health(incoming: Incoming) -> Response:
    """Whether the service answers, and which stage it is; asks no other service."""
    return json_answer({"status": "ok", "stage": hub().settings.stage})
