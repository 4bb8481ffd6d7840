"""Outcomes of payments that a bank named in an unusable response: a status, queried or reported, resolves them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Decide, Engine, try_to
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.flows.tpp_events import TppEvents, record_status_changed
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.orders import Orders, order_key
from chalicelib.openbanking.records.payments import Payment, Payments, PaymentStatusReport, payment_key


@dataclass(frozen=True, slots=True)
class PaymentOutcomes:
    """Records statuses of payments, and with them the outcomes of their orders."""

    clock: Clock
    payments: Payments
    orders: Orders
    tpp_events: TppEvents
    engine: Engine

    def resolve(self, payment: Payment, neutral: str, kept: Sequence[Operation] = ()) -> None:
        """Record a queried status, in neutral form, with the event for the TPP and ``kept`` in one transaction.

        A payment whose outcome is known by now is left as it is. Raises: StoreError.
        """
        self.engine.carry_out(self._resolution(payment, neutral), alongside=kept)

    def resolve_by(self, payment: Payment, answer: BankAnswer) -> None:
        """Record a bank's answer about a payment with an unknown outcome; a failure is left to the next query."""
        neutral = queried_status(payment, answer)
        if payment.outcome is None or neutral is None:
            return
        members = {"bic": payment.bic, "payment_id": payment.payment_id}
        try_to(partial(self.resolve, payment, neutral), "payment outcome not resolved", **members)

    def _resolution(self, payment: Payment, neutral: str) -> Decide[None]:
        """The decision about a status that a bank told when its payment was still as in ``payment``."""
        key = payment_key(payment.bic, payment.payment_id)

        def decide(facts: Facts) -> Outcome[None]:
            before = facts.known(Payment, payment, key)
            if before is None or before.outcome is None or before.outcome != payment.outcome:
                return Outcome(None)
            after = before.with_report(PaymentStatusReport(before.version.statuses.write(neutral), self.clock.time()))
            members = {"bic": after.bic, "payment_id": after.payment_id, "status": after.status}
            return Outcome(
                None,
                self.writes(facts, before, after),
                record_status_changed(self.tpp_events, facts.find(Client, client_key(after.client_id)), after),
                report=lambda: log.info("payment outcome resolved", **members),
            )

        return decide

    def writes(self, facts: Facts, before: Payment, after: Payment) -> list[Operation]:
        """The writes that replace a payment; if that resolves an outcome, also of the order, unless the id is another
        order's by now, or the order has expired.
        """
        update = self.payments.update_payment(before, after)
        if before.outcome is None or after.outcome is not None:
            return [update]
        key = order_key(before.bic, before.request_id)
        accepted = self.orders.update_accepted(key, before.order_digest, before.payment_id)
        return [update, accepted] if facts.permits(accepted) else [update]


def queried_status(payment: Payment, answer: BankAnswer) -> str | None:
    """The neutral form of the status in a response to a query; ``None`` if the version has no such status."""
    return payment.version.statuses.read(answer.body[payment.version.status_member])
