"""The payment pages: the PSU signs in, chooses the account, and confirms with a key code or refuses.

``/payment/<secret>`` shows the current step. The forms post to ``/payment/sign-in``, ``choose``, ``confirm`` and
``refuse``, and contain the secret in the field ``payment``. Finally, the browser is redirected to the TPP.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from chalice.app import Response

from chalicelib.demo_bank import clearing, consents, customer_views, directory, execution, orders
from chalicelib.demo_bank.customer_views import CustomerSession
from chalicelib.demo_bank.customers import Customer, CustomerAccount
from chalicelib.demo_bank.execution import OrderChanged
from chalicelib.demo_bank.initiation import can_pay
from chalicelib.demo_bank.orders import DemoPaymentOrder
from chalicelib.demo_bank.pages import NO_REFERRER, Visit, message_page, page, people, sign_in_error
from chalicelib.foundation.http.pages import safe_origin, see_other

PATH = "/payment/"
KEY_CODES = 3
SIGN_INS = 5
REPORT_SECONDS = 5
"""The maximum number of seconds that a PSU waits while reports are sent to the service. Unsent reports remain due."""
_RUNS = 2

PaymentStepView = Callable[[Visit, DemoPaymentOrder], Response]


def show_payment(visit: Visit, secret: str) -> Response:
    """``GET /payment/<secret>``: show the page of the payment's current step, or the outcome of the payment."""
    order = orders.find_by_secret(visit.bank, secret)
    if order is None:
        return _unknown_payment_page(visit)
    if not visit.incoming.is_head:
        order = execution.refresh(visit.bank, order)
    session = _payer_session(order, customer_views.find_session(visit))
    if order.state != "open":
        return page(visit, "payment_outcome.html", referrer=NO_REFERRER, order=order, is_own=session is not None)
    if session is None:
        return _sign_in_page(visit, order)
    if not order.account_id or (visit.field("change") and not order.is_fixed):
        return _choose_page(visit, order, session)
    return _confirm_page(visit, order, session)


def payment_step(step: PaymentStepView) -> Callable[[Visit], Response]:
    """Wrap the form view of one step. After the payment has ended, every form redirects to the TPP."""

    @wraps(step)
    def view(visit: Visit) -> Response:
        order = orders.find_by_secret(visit.bank, visit.field("payment"))
        if order is None:
            return _unknown_payment_page(visit)
        order = seen = execution.refresh(visit.bank, order)
        for _ in range(_RUNS):
            if order.state != "open" or _form_subject(order) != _form_subject(seen):
                break
            try:
                return step(visit, order)
            except OrderChanged:
                order = orders.find(visit.bank, order.payment_id) or order
        return see_other(_payment_link(visit, order, again="moved") if order.state == "open" else order.return_url)

    return view


def _form_subject(order: DemoPaymentOrder) -> tuple[str, str, int]:
    """Return the order members on which a form depends. If one of these members changes, the form is outdated."""
    return order.customer_id, order.account_id, order.attempts


@payment_step
def sign_in(visit: Visit, order: DemoPaymentOrder) -> Response:
    """Sign the PSU in. After too many wrong passwords, the payment is cancelled."""
    bank = visit.bank
    customer = directory.authenticate(bank, visit.field("username"), visit.field("password"))
    if customer is None:
        tried = replace(order, sign_in_attempts=order.sign_in_attempts + 1)
        if tried.sign_in_attempts >= SIGN_INS:
            return _cancel_payment(visit, tried, "The customer could not be authenticated")
        execution.save_transition(bank, order, tried)
        return see_other(_payment_link(visit, order, again="password"))
    if not _may_pay(order, customer):
        return see_other(_payment_link(visit, order, again="customer"))
    if order.customer_id != customer.customer_id:
        order = execution.assign_customer(bank, order, customer)
    return see_other(_payment_link(visit, order), *customer_views.begin_session(visit, customer))


def payer_step(step: Callable[[Visit, DemoPaymentOrder, CustomerSession], Response]) -> PaymentStepView:
    """Wrap a view of a form that requires a signed-in customer. Without a session or form token, redirect to the
    sign-in form.
    """

    @wraps(step)
    def checked(visit: Visit, order: DemoPaymentOrder) -> Response:
        session = _payer_session(order, customer_views.find_form_session(visit))
        if session is None:
            return see_other(_payment_link(visit, order))
        return step(visit, order, session)

    return checked


@payment_step
@payer_step
def choose_account(visit: Visit, order: DemoPaymentOrder, session: CustomerSession) -> Response:
    """Record the debtor account that the PSU chose."""
    account = next(
        (row for row in _payable_accounts(visit, order, session) if row.account_id == visit.field("account")), None
    )
    if account is None or order.is_fixed:
        return see_other(_payment_link(visit, order, again="account"))
    if execution.current_statement(visit.bank, account).available < order.amount:
        return see_other(_payment_link(visit, order, again="funds", change="1"))
    order = execution.assign_account(visit.bank, order, account)
    _send_reports(visit, order)
    return see_other(_payment_link(visit, order))


@payment_step
@payer_step
def confirm_payment(visit: Visit, order: DemoPaymentOrder, session: CustomerSession) -> Response:
    """Confirm the payment with the correct key code. Three wrong codes cancel the payment."""
    bank = visit.bank
    if not order.account_id:
        return see_other(_payment_link(visit, order))
    given = "".join(visit.field("key_code").split())
    if not hmac.compare_digest(given.encode(), order.key_code(bank).encode()):
        tried = replace(order, attempts=order.attempts + 1)
        if tried.attempts >= KEY_CODES:
            return _cancel_payment(visit, tried, "The key code was wrong three times")
        execution.save_transition(bank, order, tried)
        return see_other(_payment_link(visit, order, again="code"))
    order = execution.confirm(bank, order)
    _send_reports(visit, order)
    return see_other(order.return_url)


@payment_step
def refuse_payment(visit: Visit, order: DemoPaymentOrder) -> Response:
    """Refuse the payment. The secret link is sufficient authentication, because the view displays no data and transfers
    no money.
    """
    return _cancel_payment(visit, order, "The customer refused")


def _cancel_payment(visit: Visit, order: DemoPaymentOrder, reason: str) -> Response:
    order = execution.cancel(visit.bank, order, reason)
    _send_reports(visit, order)
    return see_other(order.return_url)


def _send_reports(visit: Visit, order: DemoPaymentOrder) -> None:
    clearing.send_reports(visit.bank, order, visit.bank.clock.monotonic() + REPORT_SECONDS)


# -- permissions


def _payer_session(order: DemoPaymentOrder, session: CustomerSession | None) -> CustomerSession | None:
    """Return the session of the payment's customer. For a direct payment, it is ``None`` before sign-in."""
    return session if session and session.customer.customer_id == order.customer_id else None


def _may_pay(order: DemoPaymentOrder, customer: Customer) -> bool:
    """Whether this customer may pay.

    If the payment has a consent, only the consent's customer may pay. Otherwise, the owner of the requested account may
    pay. If no account was requested, any customer may pay.
    """
    if order.consent:
        return order.customer_id == customer.customer_id
    return not order.is_fixed or customer.account(order.account_id) is not None


def _payable_accounts(visit: Visit, order: DemoPaymentOrder, session: CustomerSession) -> list[CustomerAccount]:
    consent = consents.get_consent(visit.bank, order.consent)
    found = consent.accounts_to_pay_from(session.customer) if consent else session.customer.accounts
    receiving = {credit.account_id for credit in order.credits}
    return [row for row in found if can_pay(row, order.currency) and row.account_id not in receiving]


# -- pages

_MOVED = "This payment changed while you were deciding. Please look at it once more."


def _payment_link(visit: Visit, order: DemoPaymentOrder, **query: str) -> str:
    return visit.link(f"{PATH}{orders.confirmation_secret(visit.bank, order.payment_id)}", **query)


def _payment_page(
    visit: Visit, order: DemoPaymentOrder, template: str, step: int, errors: dict[str, str], **context: Any
) -> Response:
    return page(
        visit,
        template,
        leads_to=(order.callback_url,),
        order=order,
        secret=orders.confirmation_secret(visit.bank, order.payment_id),
        step=step,
        asker=order.tpp_name or "An application",
        returns_to=safe_origin(order.callback_url),
        error=({"moved": _MOVED} | errors).get(visit.field("again"), ""),
        **context,
    )


def _sign_in_page(visit: Visit, order: DemoPaymentOrder) -> Response:
    errors = {
        "password": sign_in_error(visit.bank),
        "customer": "This payment is not from an account of this customer. Please sign in as its owner.",
    }
    found = [customer for customer in directory.all_customers(visit.bank) if _may_pay(order, customer)]
    return _payment_page(visit, order, "payment_sign_in.html", 1, errors, **people(found))


def _choose_page(visit: Visit, order: DemoPaymentOrder, session: CustomerSession) -> Response:
    errors = {
        "account": "Please choose the account to pay from.",
        "funds": "There is not enough money in this account. Please choose another one.",
    }
    shows_balances = session.customer.shows_balances
    rows = [
        (row, execution.current_statement(visit.bank, row).available if shows_balances else None)
        for row in _payable_accounts(visit, order, session)
    ]
    return _payment_page(visit, order, "payment_choose.html", 2, errors, rows=rows, session=session)


def _confirm_page(visit: Visit, order: DemoPaymentOrder, session: CustomerSession) -> Response:
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
        available=execution.current_statement(visit.bank, account).available,
        lines=orders.read_lines(visit.bank, order) if order.kind == "bulk" else [],
        key_code=order.key_code(visit.bank),
    )


def _unknown_payment_page(visit: Visit) -> Response:
    return message_page(
        visit,
        "There is no such payment",
        "This link does not belong to a payment at this bank. No money was moved. "
        "Go back to the application that you came from and start again.",
        status=404,
    )
