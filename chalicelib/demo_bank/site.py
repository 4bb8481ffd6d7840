"""The URLs of a demonstration bank: PSU pages, style sheets, and webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chalice.app import Response

from chalicelib.demo_bank import authorize_views, customer_views, pages, payment_views, webhooks
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.pages import Visit
from chalicelib.demo_bank.profiles import BY_NAME, BankName
from chalicelib.demo_bank.runtime import DemoBank, HubUnreachable, NotInstalled, Services
from chalicelib.foundation import log
from chalicelib.foundation.http.web import Incoming, UnreadableBody, WrongMethod

Page = Callable[[Visit], Response]

PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "/"): customer_views.landing_page,
    ("GET", "/authorize"): authorize_views.begin_authorization,
    ("GET", "/sign-in"): authorize_views.sign_in,
    ("POST", "/sign-in"): authorize_views.sign_in,
    ("GET", "/choose"): authorize_views.choose_accounts,
    ("POST", "/choose"): authorize_views.choose_accounts,
    ("GET", "/confirm"): authorize_views.confirm_consent,
    ("POST", "/confirm"): authorize_views.confirm_consent,
    ("POST", "/refuse"): authorize_views.refuse_consent,
    ("POST", "/payment/sign-in"): payment_views.sign_in,
    ("POST", "/payment/choose"): payment_views.choose_account,
    ("POST", "/payment/confirm"): payment_views.confirm_payment,
    ("POST", "/payment/refuse"): payment_views.refuse_payment,
    ("GET", "/my-accounts"): customer_views.list_accounts,
    ("POST", "/my-accounts"): customer_views.sign_in,
    ("GET", "/consents"): customer_views.list_consents,
    ("POST", "/consents"): customer_views.sign_in,
    ("POST", "/consents/revoke"): customer_views.revoke_consent,
    ("POST", "/consents/sign-out"): customer_views.sign_out,
}
"""The HTTP method, path below the bank's base URL, and view of every page."""

PAGES_BELOW: Mapping[str, Callable[[Visit, str], Response]] = {
    "/payment/": payment_views.show_payment,
    "/my-accounts/": customer_views.show_account,
    "/static/": pages.serve_static_file,
}
"""The views by path prefix. Each view receives the rest of the path."""

_FOREIGN = "Another site sent this form, so it was not accepted. Please start from this bank's pages."


def serve(host: Services, name: BankName, incoming: Incoming) -> Response:
    """Return a bank's response to a request."""
    place = _path(incoming)
    page = PAGES.get((incoming.method, place))
    if page is None and incoming.method == "POST":
        return _answer_webhook(get_bank(name, host), place, incoming)
    visit = Visit(incoming, get_bank(name, host))
    if visit.is_post and visit.is_foreign:
        return pages.message_page(visit, "This form came from elsewhere", _FOREIGN, status=403)
    if page is not None:
        return page(visit)
    for beginning, family in PAGES_BELOW.items():
        if place.startswith(beginning):
            return family(visit, place.removeprefix(beginning))
    return pages.not_found_page(visit)


def answer_failure(host: Services, incoming: Incoming, error: Exception) -> Response:
    """Respond to an exception of a view. Programs receive the error format of the version, and people an error page."""
    at = get_bank(BY_NAME[incoming.route.split("/")[2]].name, host)
    if incoming.method == "POST" and ("POST", _path(incoming)) not in PAGES:
        return webhooks.answer_failure(at, incoming, error)
    return _failure_page(Visit(incoming, at), error)


def _path(incoming: Incoming) -> str:
    return "/" + "/".join(incoming.uri[part] for part in ("first", "second") if part in incoming.uri)


def _answer_webhook(at: DemoBank, place: str, incoming: Incoming) -> Response:
    row = webhooks.webhook_rows(at.profile.protocol).get(place)
    return webhooks.answer_webhook(at, row, incoming) if row else webhooks.refuse_unknown_path(at, incoming)


def _failure_page(visit: Visit, error: Exception) -> Response:
    """Render the error page without details of the error."""
    if isinstance(error, WrongMethod):
        return pages.message_page(visit, "Not possible here", f"This address accepts only {error.allowed}.", status=405)
    if isinstance(error, UnreadableBody):
        return pages.message_page(visit, "Not possible here", f"The request cannot be read: {error}.", status=400)
    log.exception("demo bank: page failed", bank=visit.bank.profile.name)
    if isinstance(error, HubUnreachable):
        title, status = "The open banking service does not respond", 502
        text = "Nothing was shared and nothing has changed. Please wait a moment and reload this page."
    elif isinstance(error, NotInstalled):
        title, status = "This bank is not open yet", 503
        text = "It has not been registered with the open banking service."
    else:
        title, status = "Something went wrong here", 500
        text = "The error is ours, not yours. Please reload this page."
    return pages.message_page(visit, title, text, status=status)
