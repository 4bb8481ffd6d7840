"""The PSU's way through a payment: sign in, choose the account if none was named, confirm with a key code, or refuse.

One address shows whatever is to be done next, ``/payment/<secret>``; the forms post to ``/payment/sign-in``,
``choose``, ``confirm`` and ``refuse`` with the secret in their field ``payment``. At the end the browser goes back to
the TPP.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from chalice.app import Response

from chalicelib.demo_bank import consents, customers, execution, orders, reports, sign_in_views
from chalicelib.demo_bank.customers import Account, Customer
from chalicelib.demo_bank.execution import Moved
from chalicelib.demo_bank.initiation import can_pay
from chalicelib.demo_bank.orders import Order
from chalicelib.demo_bank.pages import NO_REFERRER, Visit, message, page
from chalicelib.demo_bank.sessions import Session
from chalicelib.foundation.http.pages import safe_origin, see_other

PLACE = "/payment/"
KEY_CODES = 3
SIGN_INS = 5
REPORT_SECONDS = 5
"""So long a PSU waits while the service is told; what it has not been told then is due anyway."""
_RUNS = 2

Step = Callable[[Visit, Order], Response]


def show(visit: Visit, secret: str) -> Response:
    """``GET /payment/<secret>``: the page of the step that the payment is at, or how it ended."""
    order = orders.find_by_secret(visit.bank, secret)
    if order is None:
        return _unknown(visit)
    if not visit.incoming.is_head:
        order = execution.refresh(visit.bank, order)
    session = _of_payer(order, sign_in_views.session_of(visit))
    if order.state != "open":
        return page(visit, "payment_outcome.html", referrer=NO_REFERRER, order=order, is_own=session is not None)
    if session is None:
        return _sign_in_page(visit, order)
    if not order.account_id or (visit.field("change") and not order.is_fixed):
        return _choose_page(visit, order, session)
    return _confirm_page(visit, order, session)


def payment_step(step: Step) -> Callable[[Visit], Response]:
    """A form of one step; when the payment is over, every form leads back to the TPP, where it led before."""

    @wraps(step)
    def view(visit: Visit) -> Response:
        order = orders.find_by_secret(visit.bank, visit.field("payment"))
        if order is None:
            return _unknown(visit)
        order = seen = execution.refresh(visit.bank, order)
        for _ in range(_RUNS):
            if order.state != "open" or _asked(order) != _asked(seen):
                break
            try:
                return step(visit, order)
            except Moved:
                order = orders.find(visit.bank, order.payment_id) or order
        return see_other(_link(visit, order, again="moved") if order.state == "open" else order.back)

    return view


def _asked(order: Order) -> tuple[str, str, int]:
    """What a form was about; a report that was sent or postponed meanwhile changes nothing of it."""
    return order.customer_id, order.account_id, order.attempts


@payment_step
def sign_in(visit: Visit, order: Order) -> Response:
    """Who is the PSU? After too many wrong passwords the payment is cancelled."""
    bank = visit.bank
    customer = customers.sign_in(bank.profile.name, visit.field("username"), visit.field("password"))
    if customer is None:
        tried = replace(order, sign_in_attempts=order.sign_in_attempts + 1)
        if tried.sign_in_attempts >= SIGN_INS:
            return _cancel(visit, tried, "The customer could not be authenticated")
        execution.move(bank, order, tried)
        return see_other(_link(visit, order, again="password"))
    if not _may_pay(visit, order, customer):
        return see_other(_link(visit, order, again="customer"))
    if order.customer_id != customer.customer_id:
        order = execution.sign_in(bank, order, customer)
    return see_other(_link(visit, order), sign_in_views.begin(visit, customer))


def payer_step(step: Callable[[Visit, Order, Session], Response]) -> Step:
    """A form of the signed-in customer; without a session, or without its form token, it leads to the sign-in."""

    @wraps(step)
    def checked(visit: Visit, order: Order) -> Response:
        session = _of_payer(order, sign_in_views.session_of_form(visit))
        if session is None:
            return see_other(_link(visit, order))
        return step(visit, order, session)

    return checked


@payment_step
@payer_step
def choose(visit: Visit, order: Order, session: Session) -> Response:
    """Which account pays?"""
    account = next((row for row in _payable(visit, order, session) if row.account_id == visit.field("account")), None)
    if account is None or order.is_fixed:
        return see_other(_link(visit, order, again="account"))
    if execution.book(visit.bank, account).available < order.amount:
        return see_other(_link(visit, order, again="funds", change="1"))
    order = execution.choose(visit.bank, order, account)
    _report(visit, order)
    return see_other(_link(visit, order))


@payment_step
@payer_step
def confirm(visit: Visit, order: Order, session: Session) -> Response:
    """The key code moves the money; three wrong ones cancel the payment."""
    bank = visit.bank
    if not order.account_id:
        return see_other(_link(visit, order))
    given = "".join(visit.field("key_code").split())
    if not hmac.compare_digest(given.encode(), order.key_code(bank).encode()):
        tried = replace(order, attempts=order.attempts + 1)
        if tried.attempts >= KEY_CODES:
            return _cancel(visit, tried, "The key code was wrong three times")
        execution.move(bank, order, tried)
        return see_other(_link(visit, order, again="code"))
    order = execution.confirm(bank, order)
    _report(visit, order)
    return see_other(order.back)


@payment_step
def refuse(visit: Visit, order: Order) -> Response:
    """The PSU says no; whoever has the link may, since nothing is shown and no money moves."""
    return _cancel(visit, order, "The customer refused")


def _cancel(visit: Visit, order: Order, reason: str) -> Response:
    order = execution.cancel(visit.bank, order, reason)
    _report(visit, order)
    return see_other(order.back)


def _report(visit: Visit, order: Order) -> None:
    reports.send(visit.bank, order, visit.bank.clock.monotonic() + REPORT_SECONDS)


# -- who may do what


def _of_payer(order: Order, session: Session | None) -> Session | None:
    """The session of the customer whose payment this is; of a direct payment nobody's before the sign-in here."""
    return session if session and session.customer.customer_id == order.customer_id else None


def _may_pay(visit: Visit, order: Order, customer: Customer) -> bool:
    """Whether the payment is this customer's: the one who gave the consent, or who owns the account, or anybody."""
    if order.consent:
        return order.customer_id == customer.customer_id
    return not order.is_fixed or order.account(visit.bank) in customer.accounts


def _payable(visit: Visit, order: Order, session: Session) -> list[Account]:
    """The accounts that may pay: in the currency, approved if there is a consent, and not a receiver's."""
    consent = consents.read(visit.bank, order.consent)
    found = consent.accounts_to_pay_from(visit.bank) if consent else session.customer.accounts
    receiving = {credit.account_id for credit in order.credits}
    return [row for row in found if can_pay(row, order.currency) and row.account_id not in receiving]


# -- pages

_MOVED = "This payment changed while you were deciding. Please look at it once more."


def _link(visit: Visit, order: Order, **query: str) -> str:
    return visit.link(f"{PLACE}{orders.secret(visit.bank, order.payment_id)}", **query)


def _payment_page(
    visit: Visit, order: Order, template: str, step: int, errors: dict[str, str], **context: Any
) -> Response:
    return page(
        visit,
        template,
        leads_to=(order.callback_url,),
        order=order,
        secret=orders.secret(visit.bank, order.payment_id),
        step=step,
        asker=order.tpp_name or "An application",
        returns_to=safe_origin(order.callback_url),
        error=({"moved": _MOVED} | errors).get(visit.field("again"), ""),
        **context,
    )


def _sign_in_page(visit: Visit, order: Order) -> Response:
    errors = {
        "password": "User name and password do not match. Please try again.",
        "customer": "This payment is not from an account of this customer. Please sign in as its owner.",
    }
    people = [
        customer
        for customer in customers.customers(visit.bank.profile.name).values()
        if _may_pay(visit, order, customer)
    ]
    return _payment_page(visit, order, "payment_sign_in.html", 1, errors, customers=people)


def _choose_page(visit: Visit, order: Order, session: Session) -> Response:
    errors = {
        "account": "Please choose the account to pay from.",
        "funds": "There is not enough money on this account. Please choose another one.",
    }
    rows = [(row, execution.book(visit.bank, row).available) for row in _payable(visit, order, session)]
    return _payment_page(visit, order, "payment_choose.html", 2, errors, rows=rows, session=session)


def _confirm_page(visit: Visit, order: Order, session: Session) -> Response:
    left = KEY_CODES - order.attempts
    times = "one more try" if left == 1 else f"{left} more tries"
    errors = {"code": f"This is not the key code that we sent. You have {times}."}
    account = order.account(visit.bank)
    assert account is not None
    return _payment_page(
        visit,
        order,
        "payment_confirm.html",
        3,
        errors,
        session=session,
        account=account,
        available=execution.book(visit.bank, account).available,
        lines=orders.lines(visit.bank, order) if order.kind == "bulk" else [],
        key_code=order.key_code(visit.bank),
    )


def _unknown(visit: Visit) -> Response:
    return message(
        visit,
        "There is no such payment",
        "This link does not belong to a payment at this bank. No money was moved. "
        "Go back to the application that you came from and start again.",
        status=404,
    )
