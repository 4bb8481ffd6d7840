"""Outcomes of payments that a bank named in an unusable response: a status, queried or reported, resolves them."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import ConditionFailed, Operation, Store, StoreError
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.flows.tpp_events import TppEvents, record_status_changed
from chalicelib.openbanking.records.orders import Orders, order_key
from chalicelib.openbanking.records.payments import Payment, Payments, PaymentStatusReport


@dataclass(frozen=True, slots=True)
class PaymentOutcomes:
    """Records statuses of payments, and with them the outcomes of their orders."""

    store: Store
    clock: Clock
    payments: Payments
    orders: Orders
    tpp_events: TppEvents
    outbox: Outbox

    def resolve(self, payment: Payment, neutral: str, kept: Sequence[Operation] = ()) -> None:
        """Record a queried status, in neutral form, with the event for the TPP and ``kept`` in one transaction.

        Raises:
            StoreError: ConditionFailed, if the payment was changed concurrently.
        """
        after = payment.with_report(PaymentStatusReport(payment.version.statuses.write(neutral), self.clock.time()))
        event = record_status_changed(self.tpp_events, self.tpp_events.find_client(payment.client_id), after)
        self.write(payment, after, [*event.operations, *kept])
        log.info("payment outcome resolved", bic=payment.bic, payment_id=payment.payment_id, status=after.status)
        self.outbox.dispatch(event)

    def resolve_by(self, payment: Payment, answer: BankAnswer) -> None:
        """Record a bank's answer about a payment with an unknown outcome; a failure is left to the next query."""
        neutral = queried_status(payment, answer)
        if payment.outcome is None or neutral is None:
            return
        try:
            self.resolve(payment, neutral)
        except ConditionFailed:
            return
        except StoreError:
            log.exception("payment outcome not resolved", bic=payment.bic, payment_id=payment.payment_id)

    def write(self, before: Payment, after: Payment, others: Sequence[Operation]) -> None:
        """Replace a payment and write ``others``; if that resolves an outcome, write it to the order as well.

        Raises:
            StoreError.
        """
        update = self.payments.update_payment(before, after)
        if before.outcome is None or after.outcome is not None:
            self.store.transact([update, *others])
            return
        key = order_key(before.bic, before.request_id)
        accepted = self.orders.update_accepted(key, before.order_digest, before.payment_id)
        try:
            self.store.transact([update, accepted, *others])
        except ConditionFailed as failure:
            if failure.failed != [1]:  # the id is another order's by now, or the order has expired
                raise
            self.store.transact([update, *others])


def queried_status(payment: Payment, answer: BankAnswer) -> str | None:
    """The neutral form of the status in a response to a query; ``None`` if the version has no such status."""
    return payment.version.statuses.read(answer.body[payment.version.status_member])
