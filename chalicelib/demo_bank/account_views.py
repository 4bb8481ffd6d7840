"""The pages where customers see their accounts, and every transaction on them month by month."""

from __future__ import annotations

import re
from datetime import date

from chalice.app import Response

from chalicelib.demo_bank.customers import CustomerAccount
from chalicelib.demo_bank.execution import current_statement
from chalicelib.demo_bank.pages import Visit, message_page, page
from chalicelib.demo_bank.sessions import CustomerSession
from chalicelib.demo_bank.sign_in_views import find_session, sign_in_page
from chalicelib.demo_bank.transactions import Statement, first_of_month
from chalicelib.foundation.http.pages import see_other

PATH = "/my-accounts"
_MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")


def list_accounts(visit: Visit) -> Response:
    """``GET /my-accounts``: the customer's accounts, or the form to sign in."""
    session = find_session(visit)
    if session is None:
        return sign_in_page(visit, PATH, "My accounts", "Sign in to see balances and transactions.")
    rows = [(account, current_statement(visit.bank, account)) for account in session.customer.accounts]
    return page(visit, "accounts.html", session=session, rows=rows)


def show_account(visit: Visit, account_id: str) -> Response:
    """``GET /my-accounts/<id>?month=2026-03``: one account's transactions of a month, newest first."""
    session = find_session(visit)
    if session is None:
        return see_other(visit.link(PATH))
    account = session.customer.account(account_id)
    if account is None:
        return message_page(visit, "Not found", "You have no such account.", status=404)
    return _account_page(visit, session, account, current_statement(visit.bank, account))


def _account_page(visit: Visit, session: CustomerSession, account: CustomerAccount, statement: Statement) -> Response:
    today = visit.bank.clock.now().date()
    earliest = first_of_month(statement.booked[0].booked_on, 0)
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
