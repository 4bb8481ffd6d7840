"""Pages outside a journey: the front page, a customer's consents, accounts and transactions."""

from __future__ import annotations

import re
from datetime import date

from chalice.app import Response

from chalicelib.demo_bank import consents, revocations
from chalicelib.demo_bank.customers import CustomerAccount
from chalicelib.demo_bank.directory import all_customers
from chalicelib.demo_bank.execution import current_statement
from chalicelib.demo_bank.faults import FAULTS
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.instructions import REFERENCES
from chalicelib.demo_bank.pages import Visit, message_page, page, people
from chalicelib.demo_bank.runtime import HubUnreachable
from chalicelib.demo_bank.sign_in_views import CustomerSession, find_session, require_session, sign_in_page
from chalicelib.demo_bank.transactions import Statement, first_of_month
from chalicelib.foundation import log
from chalicelib.foundation.http.pages import see_other

_CONSENTS = "/consents"


def landing_page(visit: Visit) -> Response:
    """``GET /``: the front page."""
    found = people(all_customers(visit.bank))
    members = visit.bank.format.reference_members
    faults = FAULTS if visit.bank.profile.plays_faults else ()
    return page(visit, "landing.html", **found, references=REFERENCES, reference_members=members, faults=faults)


def list_consents(visit: Visit) -> Response:
    """``GET /consents``: the customer's consents, or the sign-in form; with ``revoke``, the confirmation page."""
    session = find_session(visit)
    if session is None:
        return sign_in_page(
            visit, _CONSENTS, "My consents", "Sign in to see which applications have access to your accounts."
        )
    if visit.field("revoke"):
        return _revocation_page(visit, session)
    return _consents_page(visit, session)


def _revocation_page(visit: Visit, session: CustomerSession) -> Response:
    """Ask the customer to confirm the revocation, which cannot be undone."""
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
    """End a consent at the bank, then at the service; if the latter fails, the customer can retry."""
    bank = visit.bank
    consent = consents.get_consent(bank, visit.field("consent"))
    if consent is None or consent.customer_id != session.customer.customer_id:
        return _consents_page(visit, session, _UNKNOWN, status=404)
    try:
        revocations.revoke(bank, consent)
    except HubRefusal as refusal:
        return _consents_page(visit, session, f"{_UNTOLD} It says: {refusal.message} ({refusal.code})", status=502)
    except HubUnreachable:
        log.exception("demo bank: no response to revocation", bank=bank.profile.name)
        return _consents_page(visit, session, _UNTOLD, status=502)
    return see_other(visit.link(_CONSENTS))


_UNKNOWN = "This consent does not exist."
_UNTOLD = "The consent is revoked here, but the open banking service has not confirmed it yet. Please try again."


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
    """``GET /my-accounts``: the customer's accounts, or the sign-in form."""
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
    """``GET /my-accounts/<id>?month=2026-03``: an account's transactions in one month, newest first."""
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
