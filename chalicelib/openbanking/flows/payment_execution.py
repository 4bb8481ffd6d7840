"""Execution of a payment: sends it to the bank once, on its own connection, and records the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Item, Operation, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient, PreparedRequest
from chalicelib.openbanking.bank_client.bank_failures import BankFailed, Reach
from chalicelib.openbanking.flows.payment_orders import PaymentOrder
from chalicelib.openbanking.flows.tpp_authentication import Caller
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.payment_enumerations import is_confirmation_url, is_payment_id
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.tpp_events import PaymentStatusChanged
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.consents import Consents
from chalicelib.openbanking.records.payments import Payment, Payments, is_early
from chalicelib.openbanking.records.request_ids import RequestIdClaim, RequestIdClaims
from chalicelib.statistics import current_call

LONGEST_ANSWER = 300_000
"""The maximum size of a bank's response to a payment, in bytes; it must fit into a DynamoDB item."""
_TRIES = 5
_BY_REACH: Mapping[Reach, refusals.RefusalRow] = {
    "never": refusals.PAYMENT_NOT_SENT,
    "refused": refusals.PAYMENT_REFUSED,
    "unknown": refusals.PAYMENT_OUTCOME_UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class PaymentExecution:
    """Sends payments to banks."""

    store: Store
    consents: Consents
    payments: Payments
    request_claims: RequestIdClaims
    tpp_events: TppEvents
    outbox: Outbox
    bank_client: BankClient
    local: bool
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
        if not is_payment_id(answer.body["payment_id"]):
            raise _unusable_answer(answer, "the bank's response has no usable payment_id")
        if not is_confirmation_url(answer.body["confirmation_url"], local=self.local):
            raise _unusable_answer(answer, "the confirmation_url in the bank's response is not an https address")
        if len(jsontext.dumps(answer.body)) > LONGEST_ANSWER:
            raise _unusable_answer(answer, f"the bank's response to a payment is larger than {LONGEST_ANSWER} bytes")
        return answer

    def record_named_payment(
        self, order: PaymentOrder, failure: BankFailed, request_id: str, kept: Sequence[Operation]
    ) -> None:
        """Record the payment in an unusable response, if it has a payment_id, and write ``kept``.

        Raises:
            StoreError.
        """
        named = {**(failure.answer or {}), "payment_id": failure.payment_id}
        if failure.payment_id is None or not self._record_unless_taken(order, named, request_id, kept):
            self._transact(kept)

    def record_payment(
        self, order: PaymentOrder, answer: BankAnswer, request_id: str, kept: Sequence[Operation]
    ) -> None:
        """Record the payment in the bank's response, and write ``kept`` in the same transaction.

        Raises:
            BankFailed: the payment_id belongs to another order; nothing was written.
            StoreError.
        """
        if not self._record_unless_taken(order, answer.body, request_id, kept):
            raise _failure(answer, "the payment_id in the bank's response belongs to another order")

    def _record_unless_taken(
        self, order: PaymentOrder, answer: Mapping[str, Any], request_id: str, kept: Sequence[Operation]
    ) -> bool:
        """Write a payment and ``kept``; if the payment_id belongs to another order, write nothing and return false."""
        payment = self.payments.new(
            order.bank.bic,
            answer["payment_id"],
            api_version=order.version.number,
            kind=order.call.kind,
            client_id=order.client.client_id,
            consent_id=order.consent.consent_id if order.consent else None,
            request_id=request_id,
            order_digest=order.request_claim.order_digest if order.request_claim else None,
            status=order.version.statuses.first_status(answer.get("status")),
        )
        deliveries = self._write_payment(order.client, payment, kept)
        if deliveries is None:
            log.warning("payment_id reused", bic=payment.bic, payment_id=payment.payment_id)
            return False
        log.info("payment recorded", bic=payment.bic, payment_id=payment.payment_id)
        self.outbox.dispatch(deliveries)
        return True

    def release_attempt(
        self, caller: Caller | None, request_claim: RequestIdClaim | None, attempt: str, kept: Sequence[Operation]
    ) -> None:
        """Release the claims of an ``attempt`` that never reached the bank, and write ``kept`` with them.

        This frees the X-Request-Id and restores a one-time consent, unless the consent has ended in the meantime.

        Raises:
            StoreError.
        """
        undone: list[Operation] = [self.request_claims.update_to_release(request_claim)] if request_claim else []
        if caller is not None and caller.consent.consent_type == "one_time":
            undone += self.consents.update_unspent(caller.consent, caller.token, attempt)
        try:
            self._transact([*undone, *kept])
        except ConditionFailed as failure:
            if min(failure.failed) >= len(undone):
                raise
            left = [write for position, write in enumerate(undone) if position not in failure.failed]
            self._transact([*left, *kept])

    def _transact(self, operations: Sequence[Operation]) -> None:
        if operations:
            self.store.transact(operations)

    def _write_payment(self, client: Client, payment: Payment, kept: Sequence[Operation]) -> RecordedDeliveries | None:
        """Write a new payment and apply early reports. Returns the deliveries of the resulting events.

        A payment_id identifies a single order: returns ``None`` if it belongs to another order. A repeated response for
        the same order leaves the payment unchanged.

        Raises:
            StoreError.
        """
        found: Item | None = None
        for attempt in range(_TRIES):
            if found is not None and not is_early(found):
                if not Payment.from_item(found).is_of_one_order_with(payment):
                    return None
                self._transact(kept)
                return RecordedDeliveries()
            creation = self.payments.put_payment(payment, found)
            written = Payment.from_item(creation.item)
            event = (
                record_status_changed(self.tpp_events, client, written)
                if written.status != payment.status
                else RecordedDeliveries()
            )
            try:
                self.store.transact([creation, *kept, *event.operations])
            except ConditionFailed as failure:
                if 0 not in failure.failed:
                    raise
                found = failure.item
                self.store.wait(attempt)
            else:
                return event
        raise Conflict("the payment kept changing")


def record_status_changed(events: TppEvents, client: Client | None, payment: Payment) -> RecordedDeliveries:
    """Record the event for a payment's new status."""
    data = {
        "consent_id": payment.consent_id,
        "bic": payment.bic,
        "payment_id": payment.payment_id,
        payment.version.status_member: payment.status,
    }
    return events.record(client, "payment.status_changed", cast("PaymentStatusChanged", data))


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
    refusal = _BY_REACH[failure.reach](reason=f"{failure.detail}{named}", hint=hint)
    refusal.bank_seconds = failure.bank_seconds
    if failure.reach == "never":  # otherwise a retry is not safe
        refusal.retry_after = failure.retry_after
    return refusal
