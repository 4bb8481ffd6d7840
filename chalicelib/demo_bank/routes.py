"""The routes of both demonstration banks, derived from the banks' profiles, their webhooks and their pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalice.app import Blueprint, Request, Response

from chalicelib.demo_bank import authorize, home, pages, webhooks
from chalicelib.demo_bank.pages import Visit
from chalicelib.demo_bank.profiles import PROFILES, BankName, Profile
from chalicelib.demo_bank.runtime import HubUnreachable, NotInstalled, bank
from chalicelib.demo_bank.webhooks import Row
from chalicelib.foundation import log
from chalicelib.foundation.web import ANY_CONTENT, Incoming, answering

Page = Callable[[Visit], Response]

PAGES: tuple[tuple[str, str, Page], ...] = (
    ("GET", "", home.landing),
    ("GET", "/authorize", authorize.arrive),
    ("GET", "/sign-in", authorize.sign_in),
    ("POST", "/sign-in", authorize.sign_in),
    ("GET", "/choose", authorize.choose),
    ("POST", "/choose", authorize.choose),
    ("GET", "/confirm", authorize.confirm),
    ("POST", "/confirm", authorize.confirm),
    ("POST", "/refuse", authorize.refuse),
    ("GET", "/consents", home.consents_page),
    ("POST", "/consents", home.sign_in),
    ("POST", "/consents/revoke", home.revoke),
    ("POST", "/consents/sign-out", home.sign_out),
    ("GET", "/static/{file}", pages.static),
)
"""Method, path below the bank's address, and view of every page."""


def build() -> Blueprint:
    """The blueprint of both banks."""
    blueprint = Blueprint(__name__)

    def current() -> Request:
        return blueprint.current_request

    for profile in PROFILES:
        base = f"/demo-bank/{profile.name}"
        for method, place, view in PAGES:
            _add(blueprint, method, base + place, _page(current, profile.name, view))
        for row in webhooks.ROWS[profile.version]:
            _add(blueprint, "POST", base + row.path, _webhook(current, profile, row))
        _add(blueprint, "POST", f"{base}/{{action}}", _webhook(current, profile, None))
        _add(blueprint, "GET", f"{base}/{{action}}", _page(current, profile.name, _nothing_here))
    return blueprint


def _add(blueprint: Blueprint, method: str, path: str, view: Any) -> None:
    name = f"{method}_{path.strip('/')}".lower().translate(str.maketrans("/-", "__", "{}"))
    blueprint.route(path, methods=[method], name=name, content_types=ANY_CONTENT)(view)


def _webhook(current: Callable[[], Request], profile: Profile, row: Row | None) -> Any:
    """A view for one webhook, or without a row for those that do not exist."""

    def failed(incoming: Incoming, error: Exception) -> Response:
        return webhooks.failure(bank(profile.name), incoming, error)

    def view(incoming: Incoming) -> Response:
        at = bank(profile.name)
        return webhooks.answer(at, row, incoming) if row else webhooks.unknown(at, incoming)

    return answering(current, failed)(view)


def _page(current: Callable[[], Request], name: BankName, view: Page) -> Any:
    """A view for one page of a PSU."""

    def failed(incoming: Incoming, error: Exception) -> Response:
        return _failed(Visit(bank(name), incoming), error)

    def visited(incoming: Incoming) -> Response:
        visit = Visit(bank(name), incoming)
        if visit.is_post and visit.is_foreign:
            text = "A page of another site sent this form, so it was not taken. Please start from this bank's pages."
            return pages.message(visit, "This form came from elsewhere", text, status=403)
        return view(visit)

    return answering(current, failed)(visited)


def _nothing_here(visit: Visit) -> Response:
    return pages.message(visit, "Not found", "There is nothing at this address.", status=404)


def _failed(visit: Visit, error: Exception) -> Response:
    """A page for what went wrong; nothing of the error itself reaches the PSU."""
    log.exception("demo bank: page failed", bank=visit.bank.profile.name)
    if isinstance(error, HubUnreachable):
        title, status = "The open banking service does not answer", 502
        text = "Nothing was shared and nothing has changed. Please wait a moment and load this page again."
    elif isinstance(error, NotInstalled):
        title, status = "This bank is not open yet", 503
        text = "It has not been registered with the open banking service."
    else:
        title, status = "Something went wrong here", 500
        text = "The mistake is ours, not yours. Please load this page again."
    return pages.message(visit, title, text, status=status)


bank_routes = build()
