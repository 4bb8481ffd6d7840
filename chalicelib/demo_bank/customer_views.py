"""Demo bank pages outside the authorization process: the front page, and a customer's consents, accounts and
transactions.

Customers sign in to see their data. A signed-in customer can also confirm payments.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import wraps

from chalice.app import Response

from chalicelib.demo_bank import consents
from chalicelib.demo_bank.customers import Customer, CustomerAccount
from chalicelib.demo_bank.directory import all_customers, authenticate, find_customer
from chalicelib.demo_bank.execution import current_statement
from chalicelib.demo_bank.faults import FAULTS
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.instructions import REFERENCES
from chalicelib.demo_bank.pages import Visit, message_page, page, people, sign_in_error
from chalicelib.demo_bank.runtime import TABLE, DemoBank, HubUnreachable
from chalicelib.demo_bank.transactions import Statement, first_of_month
from chalicelib.foundation import log
from chalicelib.foundation.http.pages import see_other
from chalicelib.foundation.identifiers import digest, new_secret
from chalicelib.foundation.lazy_dataclasses import dataclass

COOKIE = "demo_bank_session"
"""The name of the session cookie. The cookie's value is not stored."""
LIFETIME = 1800


@dataclass(frozen=True, slots=True)
class CustomerSession:
    """A signed-in customer. Every form in the session has ``form_token``."""

    customer: Customer
    form_token: str


def find_session(visit: Visit) -> CustomerSession | None:
    """Return the session of the browser's cookie, or ``None`` if no session exists or the customer was deleted."""
    bank, cookie = visit.bank, visit.read_cookie(COOKIE)
    item = bank.store.get(TABLE, _session_key(bank, cookie)) if cookie else None
    if item is None or item["expires_at"] <= bank.clock.real.time():
        return None
    customer = find_customer(bank, item["customer_id"])
    return CustomerSession(customer, bank.derive("form", cookie).hex()) if customer else None


def find_form_session(visit: Visit) -> CustomerSession | None:
    """Return the session of the browser's cookie, if the submitted form contains the session's token."""
    session = find_session(visit)
    is_own = session and hmac.compare_digest(visit.field("form_token").encode(), session.form_token.encode())
    return session if is_own else None


def sign_in_page(visit: Visit, place: str, title: str, text: str) -> Response:
    """Render the sign-in form for the page at ``place``."""
    error = sign_in_error(visit.bank) if visit.field("again") else ""
    found = people(all_customers(visit.bank))
    return page(visit, "area_sign_in.html", error=error, **found, place=place, title=title, text=text)


def sign_in(visit: Visit) -> Response:
    """Sign the customer in, start a session, and redirect to the page that required the sign-in."""
    customer = authenticate(visit.bank, visit.field("username"), visit.field("password"))
    if customer is None:
        return see_other(visit.link(_return_path(visit), again="1"))
    return see_other(visit.link(_return_path(visit)), *begin_session(visit, customer))


def begin_session(visit: Visit, customer: Customer) -> Sequence[str]:
    """Start a session. Returns the Set-Cookie values."""
    bank, cookie = visit.bank, new_secret()
    members = {"customer_id": customer.customer_id, "expires_at": bank.clock.real.time() + LIFETIME}
    bank.store.put(TABLE, _session_key(bank, cookie) | members)
    return visit.set_cookie(COOKIE, cookie, LIFETIME)


def require_session(view: Callable[[Visit, CustomerSession], Response]) -> Callable[[Visit], Response]:
    """Wrap a view of a form that requires a signed-in customer. Without a session or form token, redirect to the
    sign-in form.
    """

    @wraps(view)
    def view_if_signed_in(visit: Visit) -> Response:
        session = find_form_session(visit)
        return view(visit, session) if session else see_other(visit.link(_return_path(visit)))

    return view_if_signed_in


@require_session
def sign_out(visit: Visit, _: CustomerSession) -> Response:
    visit.bank.store.delete(TABLE, _session_key(visit.bank, visit.read_cookie(COOKIE)))
    return see_other(visit.link(_return_path(visit)), *visit.set_cookie(COOKIE, "", 0))


def _session_key(bank: DemoBank, cookie: str) -> dict[str, str]:
    return bank.key(f"session#{digest(cookie)}")


def _return_path(visit: Visit) -> str:
    return f"/{visit.incoming.uri['first']}"


_CONSENTS = "/consents"


def landing_page(visit: Visit) -> Response:
    """``GET /``: show the front page."""
    found = people(all_customers(visit.bank))
    members = visit.bank.format.reference_members
    faults = FAULTS if visit.bank.profile.plays_faults else ()
    return page(visit, "landing.html", **found, references=REFERENCES, reference_members=members, faults=faults)


def list_consents(visit: Visit) -> Response:
    """``GET /consents``: show the customer's consents, or the sign-in form. ``revoke`` shows the confirmation page."""
    session = find_session(visit)
    if session is None:
        return sign_in_page(
            visit, _CONSENTS, "My consents", "Sign in to see which applications have access to your accounts."
        )
    if visit.field("revoke"):
        return _revocation_page(visit, session)
    return _consents_page(visit, session)


def _revocation_page(visit: Visit, session: CustomerSession) -> Response:
    consent = consents.get_consent(visit.bank, visit.field("revoke"))
    if consent is None or consent.customer_id != session.customer.customer_id:
        return _consents_page(visit, session, _UNKNOWN, status=404)
    if consent.status != "active":
        return _consents_page(visit, session)
    return page(
        visit, "consent_end.html", session=session, consent=consent, accounts=consent.accounts(session.customer)
    )


@require_session
def revoke_consent(visit: Visit, session: CustomerSession) -> Response:
    """End a consent at the bank, then at the service. If the service fails, the customer can retry."""
    bank = visit.bank
    consent = consents.get_consent(bank, visit.field("consent"))
    if consent is None or consent.customer_id != session.customer.customer_id:
        return _consents_page(visit, session, _UNKNOWN, status=404)
    try:
        consents.revoke(bank, consent)
    except HubRefusal as refusal:
        return _consents_page(visit, session, f"{_UNCONFIRMED} It says: {refusal.message} ({refusal.code})", status=502)
    except HubUnreachable:
        log.exception("demo bank: no response to revocation", bank=bank.profile.name)
        return _consents_page(visit, session, _UNCONFIRMED, status=502)
    return see_other(visit.link(_CONSENTS))


_UNKNOWN = "This consent does not exist."
_UNCONFIRMED = "The consent is revoked here, but the open banking service has not confirmed it yet. Please try again."


def _consents_page(visit: Visit, session: CustomerSession, error: str = "", status: int = 200) -> Response:
    bank = visit.bank
    now = bank.clock.time()
    found = consents.list_consents(bank, session.customer.customer_id)
    return page(
        visit,
        "consents.html",
        status=status,
        session=session,
        error=error,
        active=[(consent, consent.accounts(session.customer)) for consent in found if consent.is_active(now)],
        ended=[(consent, consent.accounts(session.customer)) for consent in found if not consent.is_active(now)],
    )


_ACCOUNTS = "/my-accounts"
_MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")


def list_accounts(visit: Visit) -> Response:
    """``GET /my-accounts``: show the customer's accounts, or the sign-in form."""
    session = find_session(visit)
    if session is None:
        return sign_in_page(visit, _ACCOUNTS, "My accounts", "Sign in to see balances and transactions.")
    shows_balances = session.customer.shows_balances
    rows = [
        (account, current_statement(visit.bank, account) if shows_balances else None)
        for account in session.customer.accounts
    ]
    return page(visit, "accounts.html", session=session, rows=rows)


def show_account(visit: Visit, account_id: str) -> Response:
    """``GET /my-accounts/<id>?month=2026-03``: show an account's transactions in one month, newest first."""
    session = find_session(visit)
    if session is None:
        return see_other(visit.link(_ACCOUNTS))
    account = session.customer.account(account_id)
    if account is None:
        return message_page(visit, "Not found", "You have no such account.", status=404)
    return _account_page(visit, session, account, current_statement(visit.bank, account))


def _account_page(visit: Visit, session: CustomerSession, account: CustomerAccount, statement: Statement) -> Response:
    today = visit.bank.clock.now().date()
    earliest = first_of_month(statement.booked[0].booked_on if statement.booked else today, 0)
    wanted = visit.field("month")
    month = date.fromisoformat(f"{wanted}-01") if _MONTH.fullmatch(wanted) else first_of_month(today, 0)
    month = min(max(month, earliest), first_of_month(today, 0))
    following = first_of_month(month, -1)
    return page(
        visit,
        "account.html",
        session=session,
        account=account,
        statement=statement,
        month=month,
        pending=list(reversed(statement.pending)) if following > today else [],
        booked=[entry for entry in reversed(statement.booked) if month <= entry.booked_on < following],
        closing=sum(entry.amount for entry in statement.booked if entry.booked_on < following),
        earlier=first_of_month(month, 1) if month > earliest else None,
        later=following if following <= today else None,
    )
