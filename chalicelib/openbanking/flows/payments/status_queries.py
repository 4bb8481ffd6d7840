"""Queries that request the status of a payment from the bank.

If a bank's response contained a payment id but was otherwise unusable, the payment's outcome is unknown
(``docs/concepts/payments.md``). If the bank supports status queries, the service repeats a query until the bank returns
a status. For the schedule of the queries, see ``delivery_plans``.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, Store
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.payments.outcomes import queried_status, resolve_payment
from chalicelib.openbanking.protocol.psu_context import UNATTENDED, PsuContext
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consent, Consents, consent_key
from chalicelib.openbanking.records.payments import Payment, is_early, payment_key


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


def record_status_query(outbox: Outbox, payment: Payment) -> RecordedDeliveries:
    """Return the delivery of a status query, for the transaction that records the payment.

    The result is empty if the bank does not support status queries.
    """
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


def send_status_query(dispatch: Dispatch, *, call: Call, store: Store, clock: Clock) -> Delivered:
    """Query a payment with an unknown outcome at its bank, and record its status.

    Raises:
        Undeliverable: without the bank's own text. Final if the consent has ended.
    """
    delivery = dispatch.delivery
    keys = [payment_key(delivery.concerned_bank, jsontext.loads(dispatch.body)["payment_id"])]
    keys += [consent_key(delivery.consent_id)] if delivery.consent_id else []
    found = store.batch_get(keys)
    payment = Payment.from_item(found[0]) if found[0] and not is_early(found[0]) else None
    if payment is None or payment.outcome != "unknown":
        return Delivered(None)
    consent = Consent.from_item(found[1]) if len(found) > 1 and found[1] else None
    if payment.consent_id is not None and not (consent and consent.can_be_queried(clock.time())):
        raise Undeliverable("the consent has ended", final=True)
    answer = call(_query, payment, consent)
    neutral = queried_status(payment, answer)
    if neutral is None:
        raise Undeliverable("the status in the bank's response is unknown", status=answer.status)

    def keep(operations: Sequence[Operation]) -> None:
        call(resolve_payment, payment, neutral, alongside=operations)

    return Delivered(answer.status, keep=keep)


def _query(
    payment: Payment, consent: Consent | None, *, banks: Banks, consents: Consents, bank_client: BankClient
) -> BankAnswer:
    """Query the payment's status with a new request id, because a bank may repeat its response to a known id.

    Raises: Undeliverable.
    """
    bank = banks.find(payment.bic)
    if bank is None:
        raise Undeliverable("the bank is inactive or no longer exists")
    token = consents.bank_token(consent) if consent else None
    try:
        return query_bank(bank_client, bank, payment, token, request_id=new_uuid())
    except BankFailed as failure:
        raise Undeliverable(
            failure.reason, status=failure.status, retry_after=failure.retry_after, not_made=failure.not_asked
        ) from None
