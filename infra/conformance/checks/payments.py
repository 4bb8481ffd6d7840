"""Checks of payments: orders, duplicates, the PSU's decision, redirects, status reports and status queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from chalicelib.foundation.identifiers import new_uuid
from chalicelib.openbanking.protocol.bank_identifiers import is_payment_id
from chalicelib.openbanking.protocol.v1_payment_messages import BULK_ITEMS
from chalicelib.openbanking.protocol.version import Version
from infra.conformance import answers, causes, requests
from infra.conformance.caller import Call
from infra.conformance.check import Check, Level
from infra.conformance.checks import declined
from infra.conformance.checks.declined import evidence_of, is_failure_of
from infra.conformance.checks.judging import RULES, RunOnSubject, demand, require_answer, row, service_to_bank
from infra.conformance.evidence import CheckBlocked, CheckFailed, Evidence
from infra.conformance.hub import WITHOUT_ORDER
from infra.conformance.session import DECIDED, Decision, PlayedPayment, Session
from infra.conformance.subjects import Subject, subjects

_REDIRECT = "Specification, Service to bank: redirect after confirmation"
_REPORTS = "Specification, States and transitions: payment flow"
_ORDERS = RULES.format(section="Payments")


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of one kind of payment."""
    stands = service_to_bank(version, subject.webhook.path)
    rows: list[tuple[str, str, str, Level, str, RunOnSubject]] = [
        (
            "confirmation-url",
            "has a confirmation page on the web",
            _ORDERS,
            "mandatory",
            "confirmation_url is an https URL; http is for banks whose base_url is http",
            _confirmation_url,
        ),
        (
            "payment-id",
            "has another payment_id for another order",
            _ORDERS,
            "mandatory",
            "payment_id has 1 to 1024 printable characters and is never used again",
            _payment_id,
        ),
        (
            "repeat",
            "answers a repeated order with the existing payment",
            _ORDERS,
            "advice",
            "The same X-Request-Id and body get the same payment_id, or a refusal; never a second payment",
            _repeat,
        ),
        (
            "repeat-in-capitals",
            "answers an order repeated in capitals with the existing payment",
            _ORDERS,
            "advice",
            "The same X-Request-Id in capitals, with the same body, gets the same payment_id, or a refusal",
            _repeat_in_capitals,
        ),
        (
            "request-id-reused",
            "refuses another order under a used X-Request-Id",
            _ORDERS,
            "advice",
            "The call is refused with an error, or answered with the first payment",
            _reused,
        ),
        (
            "confirmed-returned",
            "sends the PSU back after the confirmation",
            _REDIRECT,
            "mandatory",
            "The browser arrives at callback_url, whose query is kept, with status and payment_id",
            _returned("confirm"),
        ),
        (
            "confirmed-status",
            "sends the PSU back with the status of a confirmed payment",
            _REDIRECT,
            "mandatory",
            "status is one of the version's, and not that of a payment that failed",
            _returned_status("confirm"),
        ),
        (
            "confirmed-report",
            "reports the status of a confirmed payment",
            _REPORTS,
            "mandatory",
            "payments/status is called with the payment_id, and a status that is not that of a failure",
            _reported("confirm"),
        ),
        (
            "refused-returned",
            "sends the PSU back after the refusal",
            _REDIRECT,
            "mandatory",
            "The browser arrives at callback_url, whose query is kept, with status and payment_id",
            _returned("refuse"),
        ),
        (
            "refused-status",
            "sends the PSU back with the status of a cancelled payment",
            _REDIRECT,
            "mandatory",
            "status is one of the version's: cancelled or failed",
            _returned_status("refuse"),
        ),
        (
            "refused-message",
            "sends the PSU back with a message after the refusal",
            _REDIRECT,
            "advice",
            "message says why there is no payment",
            _message,
        ),
        (
            "refused-report",
            "reports the status of a cancelled payment",
            _REPORTS,
            "mandatory",
            "payments/status is called with the payment_id and the status cancelled or failed",
            _reported("refuse"),
        ),
        (
            "final-status",
            "reports nothing after a final status",
            RULES.format(section="Status reports"),
            "advice",
            "A final status is followed by no other: the hub ignores it",
            _final,
        ),
    ]
    asked = version.payment_status.get(subject.kind) if subject.kind else None
    if asked is not None:
        path = asked.path
        rows += [
            (
                "confirmed-query",
                "has its status answered after the confirmation",
                service_to_bank(version, path),
                "mandatory",
                "transaction_status is one of the version's, and not that of a payment that failed",
                _queried("confirm"),
            ),
            (
                "refused-query",
                "has its status answered after the refusal",
                service_to_bank(version, path),
                "mandatory",
                "transaction_status is the status cancelled or failed",
                _queried("refuse"),
            ),
        ]
    if subject.kind == "bulk":
        rows.append(
            (
                "thousand",
                f"takes {BULK_ITEMS} payments",
                f"{stands}; Limits",
                "advice",
                f"{BULK_ITEMS} payments are accepted, or refused with an error code, in time",
                _thousand,
            )
        )
    found = [row(subject, *each) for each in rows]
    return [*found, *declined.checks(subject)] if subject.webhook.scope is not None else found


# -- orders


def _confirmation_url(session: Session, subject: Subject) -> Evidence:
    answer = session.good_answer(subject)
    good = session.is_page(answer["confirmation_url"])
    return demand(good, session.good(subject).evidence, "confirmation_url cannot be opened by the PSU's browser")


def _payment_id(session: Session, subject: Subject) -> Evidence:
    first = session.good_answer(subject)["payment_id"]
    call = session.send(subject)
    second = require_answer(session, subject, call)["payment_id"]
    if not is_payment_id(str(second)):
        raise CheckFailed(call.evidence, "payment_id is too long or not printable")
    return demand(str(first) != str(second), call.evidence, "two orders have the same payment_id")


def _repeat(session: Session, subject: Subject) -> Evidence:
    return _send_twice(session, subject, str, "the same order was sent before")


def _repeat_in_capitals(session: Session, subject: Subject) -> Evidence:
    return _send_twice(session, subject, str.upper, "the same order was sent before, with its id in lower case")


def _send_twice(session: Session, subject: Subject, spell: Callable[[str], str], note: str) -> Evidence:
    members, request_id = session.request(subject), _uuid_with_letters()
    first = session.read(subject, session.send(subject, members, request_id=request_id))
    call = session.send(subject, members, request_id=spell(request_id), note=note)
    return _demand_same(session, subject, call, first)


def _uuid_with_letters() -> str:
    """Create a UUID that contains letters, so that conversion to upper case changes the UUID."""
    return next(made for made in iter(new_uuid, None) if made != made.upper())


def _reused(session: Session, subject: Subject) -> Evidence:
    request_id = new_uuid()
    first = session.read(subject, session.send(subject, session.request(subject), request_id=request_id))
    note = "another order was sent under this X-Request-Id before"
    call = session.send(subject, session.request(subject), request_id=request_id, note=note)
    return _demand_same(session, subject, call, first)


def _demand_same(session: Session, subject: Subject, call: Call, first: Mapping[str, Any]) -> Evidence:
    if call.reply is None:
        raise CheckFailed(call.evidence, "there is no response")
    if answers.is_refusal(session.version, subject.webhook, call.reply):
        return call.evidence
    second = require_answer(session, subject, call)
    is_same = str(second["payment_id"]) == str(first["payment_id"])
    return demand(is_same, call.evidence, f"a second payment was made; the first is {first['payment_id']}")


def _thousand(session: Session, subject: Subject) -> Evidence:
    session.request(subject)
    assert subject.kind is not None
    _, order = session.order(*([session.bank.payment.amount] * BULK_ITEMS))
    call = session.send(subject, requests.payment_request(session.bank, subject.kind, order))
    return demand(call.reply is not None and call.reply.status < 500, call.evidence, "the bank failed")


# -- the PSU's decision


def _returned(decision: Decision) -> RunOnSubject:
    def run(session: Session, subject: Subject) -> Evidence:
        payment = session.played(subject, decision)
        evidence = evidence_of(payment)
        if payment.returned is None:
            _require_accepted(session, payment)
            lost = session.hub.returns.get(WITHOUT_ORDER, [])
            dropped = any(each.get("payment_id") == payment.payment_id for each in lost)
            said = "the query of callback_url was dropped" if dropped else "the browser did not come back"
            raise CheckFailed(evidence, said if payment.outcome.state == "done" else payment.outcome.text)
        missing = [name for name in ("status", "payment_id") if not payment.returned.get(name)]
        if missing:
            raise CheckFailed(evidence, f"{' and '.join(missing)} missing in the query")
        if payment.returned["payment_id"] != payment.payment_id:
            raise CheckFailed(evidence, "payment_id is that of another payment")
        return demand(payment.outcome.state == "done", evidence, payment.outcome.text)

    return run


def _returned_status(decision: Decision) -> RunOnSubject:
    def run(session: Session, subject: Subject) -> Evidence:
        payment = session.played(subject, decision)
        if payment.returned is None or not payment.returned.get("status"):
            _require_accepted(session, payment)
            raise CheckBlocked(f"the browser came back without a status: see {_return_check(payment)}")
        given = payment.returned["status"]
        known = {str(status) for status in session.version.statuses.meanings}
        if given not in known:
            raise CheckFailed(evidence_of(payment), f"status {given} is none of the version's")
        return _demand_outcome(session, evidence_of(payment), decision, given)

    return run


def _demand_outcome(session: Session, evidence: Evidence, decision: Decision, status: object) -> Evidence:
    failed = is_failure_of(session)(status)
    said = f"status {status} does not fit: the PSU was asked to {decision} the payment"
    return demand(failed == (decision == "refuse"), evidence, said)


def _message(session: Session, subject: Subject) -> Evidence:
    payment = session.played(subject, "refuse")
    if payment.returned is None:
        _require_accepted(session, payment)
        raise CheckBlocked(f"the browser did not come back: see {_return_check(payment)}")
    return demand(bool(payment.returned.get("message")), evidence_of(payment), "there is no message in the query")


def _reported(decision: Decision) -> RunOnSubject:
    def run(session: Session, subject: Subject) -> Evidence:
        payment = session.played(subject, decision)
        _require_decided(session, payment)
        reports = session.reports(payment, *([is_failure_of(session)] if decision == "refuse" else []))
        evidence = evidence_of(payment)
        if not reports:
            raise CheckFailed(evidence, f"no report came within {session.limits.report:g} s; {_others(session)}")
        last = reports[-1]
        seen = Evidence(evidence.sent, last.received.evidence.received)
        return _demand_outcome(session, seen, decision, last.status)

    return run


def _require_accepted(session: Session, payment: PlayedPayment) -> None:
    if call := session.refused_report(payment):
        raise CheckBlocked(causes.refused(call))


def _require_decided(session: Session, payment: PlayedPayment) -> None:
    if payment.outcome.state != "done" and payment.returned is None:
        _require_accepted(session, payment)
        raise CheckBlocked(f"the PSU's part failed: see {_return_check(payment)}")


def _return_check(payment: PlayedPayment) -> str:
    return f"{payment.report_check.partition('.')[0]}.{DECIDED[payment.decision]}-returned"


def _others(session: Session) -> str:
    others = [call for call in session.hub.calls if call.name == "report_status"]
    return f"there were {len(others)} reports about other payments" if others else "there was no report at all"


def _queried(decision: Decision) -> RunOnSubject:
    def run(session: Session, subject: Subject) -> Evidence:
        payment = session.played(subject, decision)
        _require_decided(session, payment)
        assert subject.kind is not None
        webhook = session.version.payment_status[subject.kind]
        query = next(each for each in subjects(session).values() if each.webhook is webhook)
        token = session.token() if subject.webhook.sends_token else None
        call = session.send(query, {"payment_id": payment.payment_id}, token=token)
        status = require_answer(session, query, call)[session.version.status_member]
        if status not in session.version.statuses.meanings:
            raise CheckFailed(call.evidence, f"{status} is none of the version's statuses")
        return _demand_outcome(session, call.evidence, decision, status)

    return run


def _final(session: Session, subject: Subject) -> Evidence:
    statuses = session.version.statuses
    evidence = Evidence()
    decisions: tuple[Decision, ...] = ("confirm", "refuse")
    for decision in decisions:
        payment = session.played(subject, decision)
        reports = session.reports(payment)
        if not reports:
            raise CheckBlocked(f"no report came: see {payment.report_check}")
        for before, after in pairwise(reports):
            is_good = before.status == after.status or statuses.may_follow(before.status, after.status)
            evidence = after.received.evidence
            demand(is_good, evidence, f"status {after.status} was reported after {before.status}")
    return evidence
