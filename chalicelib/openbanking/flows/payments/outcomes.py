"""Outcomes of payments that a bank named in an unusable response: a status, queried or reported, resolves them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.flows.tpp_events import TppEvents, record_status_changed
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.orders import Orders, order_key
from chalicelib.openbanking.records.payments import Payment, Payments, PaymentStatusReport, payment_key


def resolve_payment(
    payment: Payment,
    neutral: str,
    *,
    alongside: Sequence[Operation] = (),
    clock: Clock,
    payments: Payments,
    orders: Orders,
    tpp_events: TppEvents,
    engine: Engine,
) -> None:
    """Record a queried status, in neutral form, with the event for the TPP and ``alongside`` in one transaction.

    A payment whose outcome is known by now is left as it is. Raises: StoreError.
    """
    key = payment_key(payment.bic, payment.payment_id)

    def decide(facts: Facts) -> Outcome[None]:
        before = facts.latest(Payment, payment, key)
        if before is None or before.outcome is None or before.outcome != payment.outcome:
            return Outcome(None)
        after = before.with_report(PaymentStatusReport(before.version.statuses.write(neutral), clock.time()))
        members = {"bic": after.bic, "payment_id": after.payment_id, "status": after.status}
        return Outcome(
            None,
            write_status(facts, before, after, payments, orders),
            record_status_changed(tpp_events, facts.find(Client, client_key(after.client_id)), after),
            report=lambda: log.info("payment outcome resolved", **members),
        )

    engine.carry_out(decide, alongside=alongside)


def resolve_by_answer(
    payment: Payment,
    answer: BankAnswer,
    *,
    clock: Clock,
    payments: Payments,
    orders: Orders,
    tpp_events: TppEvents,
    engine: Engine,
) -> None:
    """Record a bank's answer about a payment with an unknown outcome; a failure is left to the next query."""
    neutral = queried_status(payment, answer)
    if payment.outcome is None or neutral is None:
        return
    resolve = partial(
        resolve_payment,
        payment,
        neutral,
        clock=clock,
        payments=payments,
        orders=orders,
        tpp_events=tpp_events,
        engine=engine,
    )
    try_to(resolve, "payment outcome not resolved", bic=payment.bic, payment_id=payment.payment_id)


def write_status(facts: Facts, before: Payment, after: Payment, payments: Payments, orders: Orders) -> list[Operation]:
    """The writes that replace a payment; if that resolves an outcome, also of the order, unless the id is another
    order's by now, or the order has expired.
    """
    update = payments.update_payment(before, after)
    if before.outcome is None or after.outcome is not None:
        return [update]
    accepted = orders.update_accepted(order_key(before.bic, before.request_id), before.order_digest, before.payment_id)
    return [update, accepted] if facts.permits(accepted) else [update]


def queried_status(payment: Payment, answer: BankAnswer) -> str | None:
    """The neutral form of the status in a response to a query; ``None`` if the version has no such status."""
    return payment.version.statuses.read(answer.body[payment.version.status_member])
