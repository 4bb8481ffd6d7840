"""The pages of the web interface by path, their access rules, the home page and the terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from chalice.app import Response

from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.http.web import BODY_BYTES, Incoming, UnreadableBody, WrongMethod
from chalicelib.openbanking.records.bank_record import sort_by_name
from chalicelib.website import docs_views, rendered_files, specification_views, start_views
from chalicelib.website.accounts import account_views
from chalicelib.website.authorization import authorize_views, callback_views
from chalicelib.website.banks import bank_views, conformance_views, signature_views
from chalicelib.website.cards import card_list_views, card_statement_views, card_views
from chalicelib.website.clients import (
    activity_views,
    client_security_views,
    client_settings_views,
    client_views,
    consent_views,
)
from chalicelib.website.container import WebsiteContainer
from chalicelib.website.events import delivery_views, receiver_views
from chalicelib.website.page_links import LATEST_EVENTS, RECEIVER, SIMULATOR
from chalicelib.website.pages import Visit, error_page, message_page, not_found_page, page
from chalicelib.website.performance import performance_views
from chalicelib.website.rendered_files import NotRendered, explain_missing

RENDERING_SECONDS = 3
"""The number of seconds after which a browser reloads a page that the local stack is still rendering."""


def show_home(visit: Visit) -> Response:
    """``GET /``: show the introduction or, for signed-in users, their own start page."""
    if visit.email is not None:
        return start_views.show_start(visit)
    return page(
        visit,
        "home.html",
        bank_base=visit.website.shared.settings.bank_api_url,
        banks=sort_by_name(visit.website.openbanking.banks.directory()),
    )


View = Callable[[Visit], Response]

FOR_EVERYBODY: Mapping[tuple[str, str], View] = {
    ("GET", "/"): show_home,
    ("GET", "/terms"): lambda visit: page(visit, "terms.html"),
    ("GET", "/register"): account_views.registration_form,
    ("POST", "/register"): account_views.register,
    ("GET", "/sign-in"): account_views.sign_in_form,
    ("POST", "/sign-in"): account_views.sign_in,
    ("GET", "/sign-out"): account_views.sign_out_form,
    ("POST", "/sign-out"): account_views.sign_out,
    ("GET", "/confirm/{secret}"): account_views.confirmation_form,
    ("POST", "/confirm/{secret}"): account_views.confirm_registration,
    ("GET", "/forgotten"): account_views.forgotten_page,
    ("POST", "/forgotten"): account_views.request_password_reset,
    ("GET", "/reset/{secret}"): account_views.password_reset_form,
    ("POST", "/reset/{secret}"): account_views.reset_password,
    ("GET", "/authorize/callback"): callback_views.authorization_callback,
    ("GET", "/payments/callback"): callback_views.payment_callback,
    ("GET", "/specifications/{screen}"): specification_views.show_specification,
    ("GET", "/performance"): performance_views.show_performance,
    ("GET", "/banks/{bic}"): bank_views.show_bank,
    ("GET", "/banks/{bic}/conformance"): conformance_views.show_report,
    ("GET", "/verify-signature"): signature_views.signature_form,
    ("POST", "/verify-signature"): signature_views.verify_signature,
    ("GET", "/docs"): docs_views.show_document,
    ("GET", "/docs/{page}"): docs_views.show_document,
    ("GET", "/docs/{page}/{subpage}"): docs_views.show_document,
    ("GET", "/docs/{page}/{subpage}/{part}"): docs_views.show_document,
    ("GET", SIMULATOR): card_views.redirect_to_card,
}
"""Views of public pages, by method and path."""

FOR_USERS: Mapping[tuple[str, str], View] = {
    ("GET", "/account"): account_views.account_page,
    ("POST", "/account"): account_views.change_account,
    ("GET", "/clients"): client_views.list_clients,
    ("GET", "/clients/new"): client_views.new_client_page,
    ("POST", "/clients/new"): client_views.create_client,
    ("GET", "/clients/{client_id}"): client_views.show_client,
    ("POST", "/clients/{client_id}"): client_views.change_client,
    ("GET", "/clients/{client_id}/settings"): client_settings_views.show_settings,
    ("POST", "/clients/{client_id}/settings"): client_settings_views.change_settings,
    ("GET", "/clients/{client_id}/security"): client_security_views.show_security,
    ("POST", "/clients/{client_id}/security"): client_security_views.change_security,
    ("GET", "/clients/{client_id}/history"): client_views.show_history,
    ("GET", "/clients/{client_id}/activity"): activity_views.show_activity,
    ("GET", "/authorize"): authorize_views.show_authorization,
    ("POST", "/authorize"): authorize_views.run_authorization,
    ("POST", "/authorize/callback"): callback_views.continue_journey,
    ("GET", "/consents"): consent_views.list_consents,
    ("GET", "/consents/{consent_id}"): consent_views.show_consent,
    ("POST", "/consents/{consent_id}"): consent_views.end_consent,
    ("GET", "/cards"): card_list_views.list_cards,
    ("GET", "/cards/activity"): card_list_views.list_activity,
    ("GET", "/cards/new"): card_views.new_card_form,
    ("POST", "/cards/new"): card_views.issue_card,
    ("POST", "/cards/{card_id}"): card_views.change_card,
    ("GET", "/cards/{card_id}"): card_views.show_card,
    ("GET", "/cards/{card_id}/statement"): card_statement_views.show_statement,
    ("POST", SIMULATOR): card_views.simulate,
    ("GET", "/deliveries"): delivery_views.list_deliveries,
    ("POST", RECEIVER): receiver_views.use_built_in_receiver,
    ("GET", LATEST_EVENTS): delivery_views.list_latest,
    ("GET", "/deliveries/{delivery_id}"): delivery_views.show_delivery,
    ("POST", "/deliveries/{delivery_id}"): delivery_views.resend_delivery,
}
"""Views of pages for signed-in users, by method and path."""


def serve(website: WebsiteContainer, place: str, incoming: Incoming) -> Response:
    visit, key = Visit(incoming, website), (incoming.method, place)
    if key not in FOR_EVERYBODY:
        return serve_user_page(visit, FOR_USERS[key])
    return _refuse_form(visit) if _has_foreign_form(visit) else FOR_EVERYBODY[key](visit)


def serve_user_page(visit: Visit, view: View) -> Response:
    """Run a view for a signed-in user. Other visitors must sign in first."""
    if _has_foreign_form(visit):
        return _refuse_form(visit)
    if visit.email is None:
        asked = visit.incoming
        address = asked.route.format(**asked.uri) + (f"?{urlencode(asked.query)}" if asked.query else "")
        return visit.redirect("/sign-in", next=address)
    return view(visit)


def _has_foreign_form(visit: Visit) -> bool:
    return visit.is_post and not visit.has_valid_form_token


def _refuse_form(visit: Visit) -> Response:
    if len(visit.incoming.body) > BODY_BYTES:
        what = f"A form may have at most {BODY_BYTES // 1024} KB. Nothing was changed."
        return message_page(
            visit, "This form is too large", what, "/", "To the start page", "Go back, and send less.", status=413
        )
    return message_page(
        visit,
        "This form is out of date",
        "You have been signed out, or another site sent this form. Nothing was changed.",
        *(("/sign-in", "Sign in") if visit.email is None else ("/", "To the start page")),
        "Go back, reload the page, and submit the form again.",
        status=403,
    )


def answer_not_found(website: WebsiteContainer, incoming: Incoming) -> Response:
    return not_found_page(Visit(incoming, website))


def answer_failure(website: WebsiteContainer, incoming: Incoming, error: Exception) -> Response:
    """Respond with an error page that does not reveal details of the error."""
    if isinstance(error, WrongMethod):
        what = f"This address accepts only {error.allowed}."
        return error_page(website, "Not possible here", what, "Go to the start page.", status=405)
    if isinstance(error, UnreadableBody):
        what = f"The request cannot be read: {error}."
        return error_page(website, "Not possible here", what, "Go to the start page.", status=400)
    if isinstance(error, NotRendered):
        is_local = website.shared.settings.is_local
        what = explain_missing(is_local=is_local)
        response = error_page(website, "No documents yet", what, "The other pages work.", status=503)
        if is_local and not rendered_files.rendering_failed.is_set():
            response.headers["Refresh"] = str(RENDERING_SECONDS)
        return response
    log.exception("page failed", error=type(error).__name__)
    if isinstance(error, StoreError):
        what = (
            "The storage did not respond. It is unknown whether your last step took effect: check before you repeat it."
        )
        status = 503
    else:
        what, status = "The error is the service's, not yours.", 500
    return error_page(
        website,
        "Something went wrong here",
        what,
        "Reload the page. If it fails again, give the operator the number below.",
        status=status,
        request_id=incoming.request_id,
    )
