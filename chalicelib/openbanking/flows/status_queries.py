"""Queries about payments' statuses at banks, and payments whose outcome is unknown until a bank gives one.

A payment's outcome is unknown if the bank named it in an unusable response (decisions: 502, outcome unknown). A bank
that answers status queries is then asked until it does; ``delivery/schedule`` has the plan. A status, whether queried
or reported by the bank, settles the outcome.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.tpp_events import TppEvents, record_status_changed
from chalicelib.openbanking.protocol.psu_context import UNATTENDED, PsuContext
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consent, Consents, consent_key
from chalicelib.openbanking.records.payments import Payment, Payments, PaymentStatusReport, is_early, payment_key
from chalicelib.openbanking.records.request_ids import RequestIdClaims, order_key


def query_bank(
    bank_client: BankClient,
    bank: Bank,
    payment: Payment,
    token: str | None,
    *,
    request_id: str,
    psu: PsuContext = UNATTENDED,
) -> BankAnswer:
    """Query a payment's status at its bank. Raises: BankFailed."""
    request, webhook = {"payment_id": payment.payment_id}, payment.version.payment_status[payment.kind]
    return bank_client.call(bank, payment.version, webhook, request, request_id=request_id, token=token, psu=psu)


def queried_status(payment: Payment, answer: BankAnswer) -> str | None:
    """The neutral form of the status in a response to a query; ``None`` if the version has no such status."""
    return payment.version.statuses.read(answer.body[payment.version.status_member])


def record_status_query(outbox: Outbox, payment: Payment) -> RecordedDeliveries:
    """The query about a payment, for the transaction that records it; none if its bank only reports statuses."""
    if not payment.version.answers_status_queries:
        return RecordedDeliveries()
    return outbox.record(
        "payment_status",
        payment.version.payment_status[payment.kind].path,
        receiver=f"bank#{payment.bic}",
        bic=payment.bic,
        client_id=payment.client_id,
        consent_id=payment.consent_id,
        body=jsontext.dumps({"payment_id": payment.payment_id}),
    )


@dataclass(frozen=True, slots=True)
class OutcomeSettlement:
    """Records statuses that settle an unknown outcome."""

    store: Store
    clock: Clock
    payments: Payments
    request_claims: RequestIdClaims
    tpp_events: TppEvents
    outbox: Outbox

    def settle(self, payment: Payment, neutral: str, kept: Sequence[Operation] = ()) -> None:
        """Record a queried status, in neutral form, with the event for the TPP and ``kept`` in one transaction.

        Raises:
            StoreError: ConditionFailed, if the payment was changed concurrently.
        """
        after = payment.with_report(PaymentStatusReport(payment.version.statuses.write(neutral), self.clock.time()))
        event = record_status_changed(self.tpp_events, self.tpp_events.find_client(payment.client_id), after)
        self.store.transact([*self.writes(payment, after), *event.operations, *kept])
        log.info("payment outcome settled", bic=payment.bic, payment_id=payment.payment_id, status=after.status)
        self.outbox.dispatch(event)

    def writes(self, before: Payment, after: Payment) -> list[Operation]:
        """The writes that replace a payment, and settle its order's outcome if ``after`` has it."""
        writes: list[Operation] = [self.payments.update_payment(before, after)]
        if before.outcome is not None and after.outcome is None:
            key = order_key(before.bic, before.request_id)
            writes.append(self.request_claims.update_taken(key, before.payment_id, before.order_digest))
        return writes


@dataclass(frozen=True, slots=True)
class StatusQuerySender:
    """Asks banks about payments with an unknown outcome."""

    store: Store
    clock: Clock
    banks: Banks
    consents: Consents
    bank_client: BankClient
    settlement: OutcomeSettlement

    def send(self, dispatch: Dispatch) -> Delivered:
        """Ask the bank for the payment's status, and record it.

        Raises:
            Undeliverable: without the bank's own text; final if the consent has ended.
        """
        delivery = dispatch.delivery
        keys = [payment_key(delivery.concerned_bank, jsontext.loads(dispatch.body)["payment_id"])]
        keys += [consent_key(delivery.consent_id)] if delivery.consent_id else []
        found = self.store.batch_get(keys)
        payment = Payment.from_item(found[0]) if found[0] and not is_early(found[0]) else None
        if payment is None or payment.outcome != "unknown":
            return Delivered(None)
        consent = Consent.from_item(found[1]) if len(found) > 1 and found[1] else None
        answer = self._query(payment, consent, delivery.request_id)
        neutral = queried_status(payment, answer)
        if neutral is None:
            raise Undeliverable("the status in the bank's response is unknown", status=answer.status)
        return Delivered(answer.status, keep=lambda operations: self.settlement.settle(payment, neutral, operations))

    def _query(self, payment: Payment, consent: Consent | None, request_id: str) -> BankAnswer:
        """Raises: Undeliverable."""
        bank, now = self.banks.find(payment.bic), self.clock.time()
        if payment.consent_id is not None and not (consent and (consent.is_valid(now) or consent.is_spent(now))):
            raise Undeliverable("the consent has ended", final=True)
        if bank is None:
            raise Undeliverable("the bank is inactive or no longer exists")
        token = self.consents.bank_token(consent) if consent else None
        try:
            return query_bank(self.bank_client, bank, payment, token, request_id=request_id)
        except BankFailed as failure:
            raise Undeliverable(
                failure.reason, status=failure.status, retry_after=failure.retry_after, not_made=failure.not_asked
            ) from None
