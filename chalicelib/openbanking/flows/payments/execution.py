"""Execution of a payment: sends it to the bank once, on its own connection, and records the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.dynamodb.store import Item, Operation
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient, PreparedRequest
from chalicelib.openbanking.bank_client.bank_failures import BankFailed, Reach
from chalicelib.openbanking.flows.payments.orders import PaymentOrder
from chalicelib.openbanking.flows.payments.status_queries import record_status_query
from chalicelib.openbanking.flows.tpp_authentication import Caller
from chalicelib.openbanking.flows.tpp_events import TppEvents, record_status_changed
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.payment_enumerations import PaymentOutcome, is_confirmation_url
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.records.consents import Consents
from chalicelib.openbanking.records.orders import Order, Orders
from chalicelib.openbanking.records.payments import Payment, Payments, is_early, payment_key
from chalicelib.statistics import current_call

LONGEST_ANSWER = 300_000
"""The maximum size of a bank's response to a payment, in bytes; it must fit into a DynamoDB item."""
_BY_REACH: Mapping[Reach, refusals.RefusalRow] = {
    "never": refusals.PAYMENT_NOT_SENT,
    "refused": refusals.PAYMENT_REFUSED,
    "unknown": refusals.PAYMENT_OUTCOME_UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class PaymentExecution:
    """Sends payments to banks."""

    engine: Engine
    consents: Consents
    payments: Payments
    orders: Orders
    tpp_events: TppEvents
    outbox: Outbox
    bank_client: BankClient
    metrics: Metrics
    is_local: bool
    """Whether a confirmation_url without TLS is allowed."""

    def prepare(
        self, order: PaymentOrder, request: dict[str, Any], request_id: str, psu: PsuContext
    ) -> PreparedRequest:
        """Build the request to the bank, before any claim is made."""
        token = self.consents.bank_token(order.consent) if order.consent and order.webhook.sends_token else None
        path = order.webhook.path
        return self.bank_client.prepare(order.bank, path, request, request_id=request_id, token=token, psu=psu)

    def require_reachable(self, order: PaymentOrder) -> None:
        """Refuse an order while calls to its bank are paused. Raises: Refusal."""
        try:
            self.bank_client.require_closed(order.bank, order.webhook)
        except BankFailed as failure:
            raise refuse_payment(failure) from failure

    def send(self, order: PaymentOrder, request: dict[str, Any], outgoing: PreparedRequest) -> BankAnswer:
        """Send the payment to the bank, once. Raises: BankFailed."""
        answer = self.bank_client.call_prepared(outgoing, order.version, order.webhook, request, once=True)
        if not is_confirmation_url(answer.body["confirmation_url"], local=self.is_local):
            raise _unusable_answer(answer, "the confirmation_url in the bank's response is not a plain https address")
        if len(jsontext.dumps(answer.body)) > LONGEST_ANSWER:
            raise _unusable_answer(answer, f"the bank's response to a payment is larger than {LONGEST_ANSWER} bytes")
        return answer

    def record_payment(
        self, order: PaymentOrder, answer: BankAnswer, request_id: str, kept: Sequence[Operation]
    ) -> None:
        """Record the payment in the bank's response, and write ``kept`` in the same transaction.

        Raises:
            BankFailed: the payment_id belongs to another order; nothing was written.
            StoreError.
        """
        payment = self._new_payment(order, answer.body, request_id)

        def decide(facts: Facts) -> Outcome[None]:
            outcome = self._decide_payment(facts, order, payment)
            if outcome is None:
                _report_reused(payment)
                raise _failure(answer, "the payment_id in the bank's response belongs to another order")
            return outcome

        self.engine.carry_out(decide, _without(payment), alongside=kept)

    def record_failure(
        self, order: PaymentOrder, failure: BankFailed, request_id: str, kept: Sequence[Operation]
    ) -> None:
        """Record what is known of an order that may be at the bank, and write ``kept`` in the same transaction.

        A payment that an unusable response names is recorded with the outcome ``unknown``.

        Raises:
            StoreError.
        """
        payment = None
        if failure.payment_id is not None:
            answer = {**(failure.answer or {}), "payment_id": failure.payment_id}
            payment = self._new_payment(order, answer, request_id, "unknown")

        def decide(facts: Facts) -> Outcome[None]:
            recorded = self._decide_payment(facts, order, payment) if payment else None
            if recorded is not None:
                return recorded
            if failure.reach == "refused":
                writes = self._closing_writes(facts, order.record, order.attempt, sent=True)
            else:
                writes = [*filter(facts.permits, self._unknown(order))]
            return Outcome(None, writes, report=partial(_report_reused, payment))

        self.engine.carry_out(decide, _without(payment), alongside=kept)

    def refuse(self, failure: BankFailed) -> Refusal:
        """The refusal for a bank failure; an unknown outcome is counted."""
        if failure.reach == "unknown":
            self.count_unknown_outcome()
        return refuse_payment(failure)

    def count_unknown_outcome(self) -> None:
        """Count a payment with an unknown outcome, which someone may have to clarify with the bank."""
        self.metrics.write({"UnknownOutcomes": 1})

    def _new_payment(
        self, order: PaymentOrder, answer: Mapping[str, Any], request_id: str, outcome: PaymentOutcome | None = None
    ) -> Payment:
        return self.payments.new(
            order.bank.bic,
            answer["payment_id"],
            api_version=order.version.number,
            kind=order.call.kind,
            client_id=order.client.client_id,
            consent_id=order.consent.consent_id if order.consent else None,
            request_id=request_id,
            order_digest=order.record.order_digest,
            status=order.version.statuses.first_status(answer.get("status")),
            outcome=outcome,
        )

    def release_attempt(self, caller: Caller | None, record: Order, attempt: str, kept: Sequence[Operation]) -> None:
        """Release the claims of an ``attempt`` that never reached the bank, and write ``kept`` with them.

        This frees the X-Request-Id and restores a one-time consent, unless the consent has ended in the meantime.

        Raises:
            StoreError.
        """
        undone: list[Operation] = []
        if caller is not None and caller.consent.consent_type == "one_time":
            undone += self.consents.update_unspent(caller.consent, caller.token, attempt)

        def decide(facts: Facts) -> Outcome[None]:
            closing = self._closing_writes(facts, record, attempt, sent=False)
            return Outcome(None, [*closing, *filter(facts.permits, undone)])

        self.engine.carry_out(decide, alongside=kept)

    def _closing_writes(self, facts: Facts, record: Order, attempt: str, *, sent: bool) -> list[Operation]:
        """The write that the bank does not have the order of an ``attempt``, unless another attempt may have sent it.

        There is none if the id was not claimed, or is another order's by now.
        """
        if record.order_digest is None:
            return []
        writes: list[Operation] = [
            self.orders.update_not_accepted(record, attempt, sent=sent, alone=alone) for alone in (True, False)
        ]
        return [*filter(facts.permits, writes)][:1]

    def _decide_payment(self, facts: Facts, order: PaymentOrder, payment: Payment) -> Outcome[None] | None:
        """A new payment with its early reports, and its order's outcome.

        A payment_id identifies a single order: ``None`` if it belongs to another order. A repeated response for the
        same order changes nothing but an unknown outcome.
        """
        found = facts.item(payment_key(payment.bic, payment.payment_id))
        known = Payment.from_item(found) if found is not None and not is_early(found) else None
        members = {"bic": payment.bic, "payment_id": payment.payment_id}
        if known is not None and not known.is_of_one_order_with(payment):
            return None
        writes, written = self._writes_of(payment, known, found)
        of_order = self._outcome_write(order, written)
        in_order = [*filter(facts.permits, of_order)]
        deliveries = self._deliveries_of(order, payment, known, written)

        def report() -> None:
            if of_order != in_order:
                log.warning("order has another payment", **members)
            log.info("payment recorded", **members)

        return Outcome(None, [*writes, *in_order], deliveries, report=report)

    def _writes_of(
        self, payment: Payment, known: Payment | None, found: Item | None
    ) -> tuple[list[Operation], Payment]:
        """The writes that store a payment, or update the ``known`` one of the same order, and the result.

        A response that cannot be used changes nothing that is known.
        """
        if known is None:
            creation = self.payments.put_payment(payment, found)
            return [creation], Payment.from_item(creation.item)
        if known.outcome is None:
            return [], known
        if known.outcome == payment.outcome:
            return [self.payments.check_unchanged(known)], known
        after = replace(known, outcome=payment.outcome)
        return [self.payments.update_payment(known, after)], after

    def _deliveries_of(
        self, order: PaymentOrder, payment: Payment, known: Payment | None, written: Payment
    ) -> RecordedDeliveries:
        """The event for a status reported early, and the query about an outcome that is unknown from now on."""
        if written.outcome == "unknown" and (known is None or known.outcome != "unknown"):
            return record_status_query(self.outbox, written)
        if known is None and written.status != payment.status:
            return record_status_changed(self.tpp_events, order.client, written)
        return RecordedDeliveries()

    def _outcome_write(self, order: PaymentOrder, written: Payment) -> list[Operation]:
        """The write that records a payment in its order."""
        record = order.record
        if record.order_digest is None:
            return []
        if written.outcome is not None:
            return [self.orders.update_unknown(record, order.attempt, written.payment_id)]
        return [self.orders.update_accepted(record.key, record.order_digest, written.payment_id)]

    def _unknown(self, order: PaymentOrder) -> list[Operation]:
        """The write of an attempt whose outcome is unknown."""
        return [self.orders.update_unknown(order.record, order.attempt)] if order.record.order_digest else []


def _report_reused(payment: Payment | None) -> None:
    """Log that the payment of an unusable response, if it named one, is another order's."""
    if payment is not None:
        log.warning("payment_id reused", bic=payment.bic, payment_id=payment.payment_id)


def _without(payment: Payment | None) -> Facts:
    """What is assumed at first: that no payment is stored under the id of a new one."""
    return Facts([payment_key(payment.bic, payment.payment_id)], [None]) if payment else Facts()


def _unusable_answer(answer: BankAnswer, text: str) -> BankFailed:
    """The failure for an unusable success response, which it includes as ``answer``."""
    failure = _failure(answer, text)
    failure.answer = answer.body
    return failure


def _failure(answer: BankAnswer, text: str) -> BankFailed:
    current_call.record_failure("bank")
    failure = BankFailed(text, status=answer.status)
    failure.bank_seconds = answer.seconds
    return failure


def refuse_payment(failure: BankFailed) -> Refusal:
    """The refusal for a bank failure, which includes the payment's outcome."""
    named = f"; payment_id: {failure.payment_id}" if failure.payment_id is not None else ""
    hint = refusals.AUTHORIZE_AGAIN if failure.authorize_again else None
    row = refusals.PAYMENT_ANSWER_BAD if failure.is_unusable_answer else _BY_REACH[failure.reach]
    refusal = row(reason=f"{failure.detail}{named}", hint=hint)
    refusal.bank_seconds = failure.bank_seconds
    if failure.reach == "never":  # otherwise a retry is not safe
        refusal.retry_after = failure.retry_after
    return refusal
