"""The web interface's addresses: the first page, the shared callback, and the service's health."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.bootstrap import hub
from chalicelib.foundation import log
from chalicelib.foundation.identifiers import Credential
from chalicelib.foundation.web import JSON, Incoming, Routes, View, json_answer, text_answer
from chalicelib.openbanking.protocol.payments import STATUSES
from chalicelib.website.descriptions import DOCUMENTS, description
from chalicelib.website.pages import error_page, page, stylesheet


def _failed(incoming: Incoming, error: Exception) -> Response:
    log.exception("failed", error=type(error).__name__)
    return error_page("Something went wrong here", "The service failed.", "Please try again.", status=500)


website_routes = Routes(__name__, _failed)


@website_routes.get("/")
def home(incoming: Incoming) -> Response:
    settings = hub().settings
    return page(
        "home.html",
        base=settings.public_url,
        bank_base=settings.bank_api_url,
        stage=settings.stage,
        sandbox=settings.has_demo_banks,
        banks=hub().banks.directory(),
    )


@website_routes.get("/authorize/callback")
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


@website_routes.get("/payments/callback")
def payment_callback(incoming: Incoming) -> Response:
    """Where PSUs come back to after a payment: what the address says and, since it can be forged, what the bank says.

    The bank is asked when the payment's callback_url had its ``bic`` in the query.
    """
    query = dict(incoming.query)
    bic, payment_id = query.get("bic", ""), query.get("payment_id", "")
    known = hub().callback_status.look(bic, payment_id, hub().clients.default_callback) if bic and payment_id else None
    return page(
        "payment.html",
        base=hub().settings.public_url,
        payment_id=payment_id,
        told=query.get("status"),
        told_meaning=_meaning(query.get("status")),
        message=query.get("message"),
        bic=bic,
        known=known,
        known_meaning=_meaning(known.status) if known else "",
    )


def _meaning(status: object) -> str:
    """A payment status of either version in words."""
    names = {str(code): meaning for version in STATUSES.values() for code, meaning in version.items()}
    return names.get(str(status), "")


@website_routes.get("/static/style.css")
def style(incoming: Incoming) -> Response:
    return text_answer(stylesheet(), "text/css; charset=utf-8", headers={"Cache-Control": "public, max-age=3600"})


@website_routes.get("/health")
def health(incoming: Incoming) -> Response:
    """Whether the service answers, and which stage it is; asks no other service."""
    return json_answer({"status": "ok", "stage": hub().settings.stage})


def _described(name: str) -> View:
    def described(incoming: Incoming) -> Response:
        """An OpenAPI document; a caller who has it already is told so (304)."""
        settings = hub().settings
        found = description(name, settings.public_url if name == "tpp" else settings.bank_api_url)
        headers = {"Cache-Control": "public, max-age=300", "ETag": found.tag}
        if found.is_known(incoming.headers.get("if-none-match", "")):
            return text_answer("", JSON, 304, headers)
        return text_answer(found.text, JSON, headers=headers)

    return described


for _name in DOCUMENTS:
    website_routes.serve(f"/openapi/{_name}.json", ["GET"], _described(_name))
