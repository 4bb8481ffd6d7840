"""Checks of payments above the balance or in another currency, and of the reports of failed payments."""

from __future__ import annotations

from collections.abc import Callable

from chalicelib.foundation.http.outbound import Reply
from infra.conformance import answers, requests
from infra.conformance.caller import Call
from infra.conformance.check import Check
from infra.conformance.checks.judging import RULES, SERVER_ERROR, demand, row
from infra.conformance.evidence import CheckBlocked, CheckFailed, CheckSkipped, Evidence
from infra.conformance.session import PlayedPayment, Session
from infra.conformance.subjects import Subject

FAILED = ("RJCT", "CANC")
"""The version-independent statuses of payments that are not executed."""
_UNDECIDED = (408, 409, 425)
_ANY_CURRENCY = "SWIFT"
_DEBTOR = {"sender_iban", "debtor_account"}
_CURRENCY_RULE = RULES.format(section="Webhooks")


def checks(subject: Subject) -> list[Check]:
    """Return the checks of declined payments for a webhook that initiates payments with the PSU's consent."""
    return [
        row(
            subject,
            "declined",
            "declines an amount above the balance",
            "Specification, Flows: payment flow, step 2",
            "mandatory",
            "The order is refused, or ends as failed or cancelled",
            _declined,
        ),
        row(
            subject,
            "declined-form",
            "declines with a code and a status below 500",
            RULES.format(section="Payments"),
            "mandatory",
            "The refusal has an error code, and a status below 500 other than 408, 409 and 425",
            _declined_form,
        ),
        row(
            subject,
            "other-currency",
            "declines another currency than the account's",
            _CURRENCY_RULE,
            "mandatory",
            "An order that names the account, in a currency that it does not have, is refused, or ends as failed or "
            "cancelled",
            _other_currency,
        ),
    ]


def evidence_of(payment: PlayedPayment) -> Evidence:
    """Return the order, the PSU's decision and the return to the TPP as text."""
    order = payment.call.evidence
    part = f"\n\nThe PSU's part: {payment.outcome.text}" if payment.outcome.text else ""
    back = "did not come back" if payment.returned is None else f"came back with {dict(payment.returned)}"
    return Evidence(f"{order.sent}\n\nThe PSU: {payment.decision}{part}", f"{order.received}\n\nThe browser {back}")


def is_failure_of(session: Session) -> Callable[[object], bool]:
    """Return a function that returns whether a status means that the payment failed or was cancelled."""
    return session.once("is failure", lambda: lambda status: session.version.statuses.read(status) in FAILED)


def _order_too_much(session: Session, subject: Subject) -> tuple[Call, str]:
    return session.once(("too much", subject.name), lambda: _send_too_much(session, subject))


def _send_too_much(session: Session, subject: Subject) -> tuple[Call, str]:
    session.request(subject)
    assert subject.kind is not None
    order_id, order = session.order(session.bank.payment.declined_amount)
    return session.send(subject, requests.payment_request(session.bank, subject.kind, order)), order_id


def _declined(session: Session, subject: Subject) -> Evidence:
    call, order_id = _order_too_much(session, subject)
    return _require_declined(session, subject, call, order_id, "declined")


def _require_declined(session: Session, subject: Subject, call: Call, order_id: str, check: str) -> Evidence:
    """Require that the bank refuses an order, or that the payment fails after confirmation. Raises: CheckFailed."""
    if call.reply is None:
        raise CheckFailed(call.evidence, "there is no response")
    if answers.is_refusal(session.version, subject.webhook, call.reply):
        return call.evidence
    payment = session.decide(call, session.read(subject, call), order_id, "confirm", f"{subject.name}.{check}")
    is_failure = is_failure_of(session)
    failed = any(is_failure(each.status) for each in session.reports(payment, is_failure))
    return demand(failed, evidence_of(payment), "the order was accepted, and no report says that the payment failed")


def _other_currency(session: Session, subject: Subject) -> Evidence:
    session.request(subject)
    assert subject.kind is not None
    if session.bank.payment.scheme == _ANY_CURRENCY:
        raise CheckSkipped(f"{_ANY_CURRENCY} payments may be in another currency")
    bank = session.bank.in_other_currency()
    if bank is None:
        raise CheckSkipped("customer.accounts has an account in each currency for which the kit knows a payee")
    order_id, order = session.order(bank.payment.amount)
    request = requests.payment_request(bank, subject.kind, order)
    if not _DEBTOR & request.keys():
        raise CheckSkipped("the order does not name the account: customer.accounts.0 has no identifier for payments")
    return _require_declined(session, subject, session.send(subject, request), order_id, "other-currency")


def _declined_form(session: Session, subject: Subject) -> Evidence:
    call, _ = _order_too_much(session, subject)
    if call.reply is None:
        raise CheckBlocked(f"there is no response: see {subject.name}.declined")
    if not answers.is_refusal(session.version, subject.webhook, call.reply):
        raise CheckSkipped("the order was not refused at once")
    return demand(_is_certain(session, subject, call.reply), call.evidence, "TPPs learn that the outcome is unknown")


def _is_certain(session: Session, subject: Subject, reply: Reply) -> bool:
    """Return whether the hub considers a refusal certain, so that no payment exists at the bank."""
    found, form = answers.read_object(reply) or {}, answers.form_of(session.version, subject.webhook)
    is_error = found.get(form.code) is not None or found.get("status") == "error"
    return is_error and reply.status < SERVER_ERROR and reply.status not in _UNDECIDED
