"""The authorization pages of the bank: the PSU signs in, chooses accounts, and confirms with a key code or refuses."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from chalice.app import Response

from chalicelib.demo_bank import consents, directory, durations, hub_client, journeys
from chalicelib.demo_bank.customers import Customer
from chalicelib.demo_bank.execution import current_statement
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.journeys import PsuJourney, PsuJourneyChanged, UnknownJourney
from chalicelib.demo_bank.pages import NO_REFERRER, Visit, message_page, page, people, sign_in_error
from chalicelib.demo_bank.runtime import HubUnreachable
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import ConditionFailed
from chalicelib.foundation.http.pages import safe_origin, see_other
from chalicelib.foundation.http.web import head_of_redirect
from chalicelib.foundation.identifiers import SECRET_LENGTH, new_secret

COOKIE = "demo_bank_browser"
_SECRET = re.compile(rf"[A-Za-z0-9_-]{{{SECRET_LENGTH}}}")
_STEP_PATHS: Mapping[journeys.State, str] = {"open": "/sign-in", "signed_in": "/choose"}


def begin_authorization(visit: Visit) -> Response:
    """``GET /authorize``: send the complete URL to the service, and start a journey."""
    bank = visit.bank
    if not visit.incoming.query:
        return message_page(
            visit,
            "Nothing to authorize",
            "This page is opened by an application that asks for access to your accounts. Start there.",
            status=400,
        )
    if visit.incoming.is_head:
        return head_of_redirect()
    query = urlencode(visit.incoming.query)
    request_url = f"{bank.profile.authorization_url(bank.settings.public_url)}?{query}"
    try:
        request = hub_client.init_authorization(bank, request_url)
    except HubRefusal as refusal:
        return _hub_refusal_page(visit, refusal.code, refusal.message, link="", label="")
    browser = visit.read_cookie(COOKIE)
    browser = browser if _SECRET.fullmatch(browser) else new_secret()
    journey_id = journeys.begin(bank, request_url, request, browser)
    cookies = visit.set_cookie(COOKIE, browser, journeys.LIFETIME)
    return see_other(visit.link("/sign-in", journey=journey_id), *cookies)


def journey_step(step: Callable[[Visit, PsuJourney], Response]) -> Callable[[Visit], Response]:
    """Wrap a view of a journey step: find the journey, and handle finished and concurrently changed journeys."""

    @wraps(step)
    def view(visit: Visit) -> Response:
        try:
            journey = journeys.find(visit.bank, visit.field("journey"), visit.read_cookie(COOKIE))
        except UnknownJourney:
            return _unknown_journey_page(visit)
        if journey.state in journeys.FINISHED:
            return _answer_finished(visit, journey)
        try:
            return step(visit, journey)
        except PsuJourneyChanged:
            return _redirect_to_current_step(visit, journey.journey_id)

    return view


@journey_step
def sign_in(visit: Visit, journey: PsuJourney) -> Response:
    """Sign the PSU in. After too many wrong passwords, the bank refuses the consent."""
    if journey.state == "consenting":
        return _redirect_to_step(visit, journey)
    if not visit.is_post:
        return _sign_in_page(visit, journey)
    customer = directory.authenticate(visit.bank, visit.field("username"), visit.field("password"))
    if customer:
        return _redirect_to_step(visit, journeys.sign_in(visit.bank, journey, customer))
    journey = journeys.count_failed_sign_in(visit.bank, journey)
    if journey.sign_in_attempts >= journeys.SIGN_IN_ATTEMPTS:
        return _refuse_journey(visit, journey, "The customer could not be authenticated")
    return _redirect_with_error(visit, journey, "/sign-in")


@journey_step
def choose_accounts(visit: Visit, journey: PsuJourney) -> Response:
    """Record the accounts that the PSU chose for the consent."""
    if journey.customer is None or journey.state == "consenting":
        return _redirect_to_step(visit, journey)
    if not visit.is_post:
        return _choose_page(visit, journey, journey.customer)
    wanted = set(visit.values("account"))
    chosen = [account.account_id for account in journey.customer.accounts if account.account_id in wanted]
    if not chosen and journey.needs_accounts(visit.bank):
        return _redirect_with_error(visit, journey, "/choose")
    return _redirect_to_step(visit, journeys.choose_accounts(visit.bank, journey, chosen))


@journey_step
def confirm_consent(visit: Visit, journey: PsuJourney) -> Response:
    """Confirm the consent with the correct key code. After three wrong codes, refuse the consent."""
    if journey.state not in ("confirming", "consenting"):
        return _redirect_to_step(visit, journey)
    if not visit.is_post:
        return _confirm_page(visit, journey)
    if journey.state == "consenting":  # the right key code was given before
        return _send_consent(visit, journey)
    given = "".join(visit.field("key_code").split())
    if hmac.compare_digest(given.encode(), journey.key_code(visit.bank).encode()):
        return _send_consent(visit, journey)
    journey = journeys.count_wrong_key_code(visit.bank, journey)
    if journey.attempts >= journeys.ATTEMPTS:
        return _refuse_journey(visit, journey, "The key code was wrong three times")
    return _redirect_with_error(visit, journey, "/confirm")


@journey_step
def refuse_consent(visit: Visit, journey: PsuJourney) -> Response:
    """Refuse the consent at the PSU's request."""
    return _refuse_journey(visit, journey, "The customer refused")


# -- calls to the service


def _send_consent(visit: Visit, journey: PsuJourney) -> Response:
    """Send the consent to the service, store the response, and redirect the PSU to the TPP."""
    bank = visit.bank
    journey = journeys.claim_submission(bank, journey)
    try:
        given = hub_client.save_consent(
            bank, journey.request_url, journey.scopes, _identifiers(journey), journey.request_id
        )
    except HubRefusal as refusal:
        return _answer_finished(visit, journeys.record_failure(bank, journey, refusal.code, refusal.message))
    except HubUnreachable:
        log.exception("demo bank: no response to consent", bank=bank.profile.name)
        return _confirm_page(visit, journeys.release_claim(bank, journey), status=502)
    consent_writes = consents.put_consent(
        bank,
        given.access_token,
        customer_id=journey.customer_id,
        account_ids=journey.account_ids,
        scopes=journey.scopes,
        tpp_name=journey.tpp_name,
        valid_until=given.valid_until,
        is_one_time=_is_one_time(journey),
    )
    consent_writes += consents.put_consent_days(bank, given.valid_until)
    consent_writes += durations.put_duration(bank, "consent", journey.request_id, journey.begun_at)
    try:
        bank.store.transact([journeys.update_approval(bank, journey, given.callback_url), *consent_writes])
    except ConditionFailed:
        raise PsuJourneyChanged from None
    log.info("demo bank: consent given", bank=bank.profile.name)
    return see_other(given.callback_url)


def _identifiers(journey: PsuJourney) -> dict[str, list[str]]:
    """Group the chosen accounts' identifiers by kind. An IBAN that several currency accounts share is listed once."""
    accounts = journey.accounts
    return {
        "ibans": list(dict.fromkeys(account.iban for account in accounts if account.iban)),
        "account_ids": [account.account_id for account in accounts],
        "account_numbers": [f"{account.sort_code}{account.number}" for account in accounts if account.sort_code],
    }


def _refuse_journey(visit: Visit, journey: PsuJourney, reason: str) -> Response:
    query = urlencode({"error": "access_denied", "error_description": reason})
    joint = "&" if urlsplit(journey.cancel_url).query else "?"
    journey = journeys.record_refusal(visit.bank, journey, f"{journey.cancel_url}{joint}{query}")
    return see_other(journey.result)


# -- pages


def _redirect_to_step(visit: Visit, journey: PsuJourney) -> Response:
    return see_other(visit.link(_STEP_PATHS.get(journey.state, "/confirm"), journey=journey.journey_id))


def _redirect_to_current_step(visit: Visit, journey_id: str) -> Response:
    try:
        journey = journeys.find(visit.bank, journey_id, visit.read_cookie(COOKIE))
    except UnknownJourney:
        return _unknown_journey_page(visit)
    return _answer_finished(visit, journey) if journey.state in journeys.FINISHED else _redirect_to_step(visit, journey)


def _redirect_with_error(visit: Visit, journey: PsuJourney, place: str) -> Response:
    """Redirect to a page that shows the error. A browser could not return to the response of a form."""
    return see_other(visit.link(place, journey=journey.journey_id, again="1"))


def _journey_page(
    visit: Visit, journey: PsuJourney, template: str, step: int, error: str = "", status: int = 200, **context: Any
) -> Response:
    redirect_uri = _request_parameter(journey, "redirect_uri")
    return page(
        visit,
        template,
        status=status,
        leads_to=(journey.cancel_url, redirect_uri),
        journey=journey,
        step=step,
        error=error if visit.field("again") else "",
        returns_to=safe_origin(redirect_uri),
        **context,
    )


def _sign_in_page(visit: Visit, journey: PsuJourney) -> Response:
    found = people(directory.all_customers(visit.bank))
    return _journey_page(visit, journey, "sign_in.html", 1, sign_in_error(visit.bank), **found)


def _choose_page(visit: Visit, journey: PsuJourney, customer: Customer) -> Response:
    shows_balances = customer.shows_balances
    rows = [
        (account, current_statement(visit.bank, account).balance if shows_balances else None)
        for account in customer.accounts
    ]
    required = journey.needs_accounts(visit.bank)
    return _journey_page(
        visit, journey, "choose.html", 2, "Please choose at least one account.", rows=rows, required=required
    )


def _confirm_page(visit: Visit, journey: PsuJourney, status: int = 200) -> Response:
    if journey.state == "consenting":
        waiting = journey.is_claim_active(visit.bank.clock.time())
        return _journey_page(visit, journey, "sending.html", 3, status=status, waiting=waiting)
    left = journeys.ATTEMPTS - journey.attempts
    times = "one more try" if left == 1 else f"{left} more tries"
    error = f"This is not the key code that we sent. You have {times}."
    days = consents.consent_days(visit.bank)
    return _journey_page(
        visit,
        journey,
        "confirm.html",
        3,
        error,
        key_code=journey.key_code(visit.bank),
        days=days,
        valid_until=visit.bank.clock.time() + days * 86400,
        is_one_time=_is_one_time(journey),
    )


def _answer_finished(visit: Visit, journey: PsuJourney) -> Response:
    """Return the response for a finished journey. A form redirects to the journey's result.

    A page that is viewed again (with the back button) does not redirect automatically, because a code that reaches the
    TPP twice would invalidate the PSU's consent.
    """
    if journey.state == "failed":
        return _hub_refusal_page(visit, *journey.error, link=journey.cancel_url, label=f"Back to {journey.tpp_name}")
    if visit.is_post or visit.field("waiting"):
        return see_other(journey.result)
    return page(visit, "finished.html", referrer=NO_REFERRER, journey=journey)


def _hub_refusal_page(visit: Visit, code: str, reason: str, *, link: str, label: str) -> Response:
    text = (
        "The open banking service does not know this request, or it has expired: links like this one work once, within "
        "half an hour. Nothing was shared by opening it. Go back to the application that you came from and start again."
    )
    code = f"{code}: {reason}" if reason else code
    return message_page(
        visit, "This link has been used or has expired", text, status=400, code=code, link=link, label=label
    )


def _unknown_journey_page(visit: Visit) -> Response:
    return message_page(
        visit,
        "This session is over",
        "It has expired, or it was started in another browser. Nothing was shared. "
        "Go back to the application that you came from and start again.",
        status=404,
    )


def _request_parameter(journey: PsuJourney, name: str) -> str:
    return next(iter(parse_qs(urlsplit(journey.request_url).query).get(name, ())), "")


def _is_one_time(journey: PsuJourney) -> bool:
    return _request_parameter(journey, "consent_type") == "one_time"
