"""Execution of deferred calls: a worker sends them to banks and stores the responses for the TPPs.

The TPP's permissions are checked again before sending, because the consent may have ended since the call was accepted.
Relayed calls are retried after a failure; payments only if they were provably never sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.delivery.outcomes import Delivered, Dispatch, Keep, StoredAnswer, Undeliverable
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Operation, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.consent.permissions import require_bank, require_scope, require_webhook
from chalicelib.openbanking.flows.payments.execution import PaymentExecution
from chalicelib.openbanking.flows.payments.orders import PaymentOrder
from chalicelib.openbanking.flows.payments.status import PaymentStatus
from chalicelib.openbanking.flows.reads.relay import Relay
from chalicelib.openbanking.flows.reads.relay_requests import RelayRequest
from chalicelib.openbanking.flows.tpp_authentication import Caller
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.versions import TPP_ERRORS, VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, STATUS_PATH
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import TABLE as CONSENTS
from chalicelib.openbanking.records.consents import Consent, consent_key
from chalicelib.openbanking.records.orders import Order
from chalicelib.openbanking.records.payments import Payment, payment_key
from chalicelib.openbanking.records.unattended_reads import ReadReservation

_RELAYED = {call.path: call for call in RELAYED}
_PAYMENTS = {call.path: call for call in PAYMENTS}
_BUSY = "the bank was busy with other requests or did not respond"


@dataclass(frozen=True, slots=True)
class RelayRequestSender:
    """Sends deferred relayed calls."""

    store: Store
    clock: Clock
    relay: Relay
    payment_status: PaymentStatus

    def send(self, dispatch: Dispatch) -> Delivered:
        """Send the request to the bank. Raises: Undeliverable, final if the bank or this service refused it."""
        delivery, members = dispatch.delivery, jsontext.loads(dispatch.body)
        try:
            answer = self._send(delivery, members)
        except BankFailed as failure:
            raise Undeliverable(
                failure.reason,
                final=failure.authorize_again or (failure.reach == "refused" and not failure.is_rate_limited),
                status=failure.status,
                retry_after=failure.retry_after,
                not_made=failure.not_asked,
                answer=self._stored_refusal(delivery, failure),
                keep=self._release_read(delivery, members) if failure.reach == "never" else None,
            ) from None
        except Refusal as refusal:
            raise self._final_failure(delivery, refusal, self._release_read(delivery, members)) from None
        return Delivered(answer.status, StoredAnswer(200, jsontext.dumps(answer.body)))

    def expire(self, dispatch: Dispatch) -> Undeliverable:
        """The failure of a relayed call that could not be sent in time."""
        delivery = dispatch.delivery
        unsent = None if delivery.sending else self._release_read(delivery, jsontext.loads(dispatch.body))
        return self._final_failure(delivery, refusals.BANK_FAILED(reason=_BUSY), unsent)

    def _send(self, delivery: Delivery, members: dict[str, Any]) -> BankAnswer:
        """Repeat the permission checks and send the request. Raises: Refusal."""
        travelling: dict[str, Any] = {"request_id": delivery.request_id, "psu": PsuContext.from_members(members)}
        of_payment = delivery.topic == STATUS_PATH
        keys = [payment_key(delivery.concerned_bank, members["payment_id"])] if of_payment else []
        client, consent, found = _read_client_and_consent(self.store, self.clock, delivery, keys, or_spent=of_payment)
        if not client.active:
            raise refusals.CLIENT_UNKNOWN()
        if of_payment:
            if found[0] is None:
                raise refusals.PAYMENT_GONE()
            return self.payment_status.get_status(Payment.from_item(found[0]), consent, **travelling)
        assert consent is not None, "a call for a PSU's data has a consent"
        call = _RELAYED[delivery.topic]
        webhook = require_scope(call, consent)
        bank = require_bank(self.relay.banks, consent)
        return self.relay.send_accepted(RelayRequest(call, bank, consent, webhook, members["request"]), **travelling)

    def _release_read(self, delivery: Delivery, members: dict[str, Any]) -> Keep | None:
        """Gives the call's read back with its outcome; ``None`` if none was counted or an earlier attempt may be at the
        bank.
        """
        reservation = ReadReservation.from_members(delivery.consent_id or "", members)
        if reservation is None or delivery.abandoned or any("sent" in entry for entry in delivery.history):
            return None
        return lambda operations: self.relay.read_limits.release_with(reservation, operations)

    def _final_failure(self, delivery: Delivery, refusal: Refusal, keep: Keep | None) -> Undeliverable:
        answer = self._stored_refusal(delivery, refusal)
        return Undeliverable(refusal.message, final=True, answer=answer, keep=keep)

    def _stored_refusal(self, delivery: Delivery, refusal: Refusal) -> StoredAnswer:
        return _stored_refusal(delivery, refusal, self.clock.time())


@dataclass(frozen=True, slots=True)
class PaymentOrderSender:
    """Sends deferred payments."""

    store: Store
    clock: Clock
    banks: Banks
    payment_execution: PaymentExecution

    def send(self, dispatch: Dispatch) -> Delivered:
        """Send the payment to the bank.

        Raises:
            Undeliverable: final, unless the bank was provably never reached. If an earlier attempt was interrupted, or
                this one raises an unexpected error while sending, the outcome is unknown and the order is not sent
                again.
        """
        delivery, members = dispatch.delivery, jsontext.loads(dispatch.body)
        if delivery.abandoned:
            raise self._unknown_outcome(delivery)
        order = self._read_order(delivery, members)
        outgoing = self.payment_execution.prepare(
            order, members["request"], delivery.request_id, PsuContext.from_members(members)
        )
        try:
            answer = self.payment_execution.send(order, members["request"], outgoing)
        except BankFailed as failure:
            raise Undeliverable(
                failure.reason,
                final=failure.reach != "never",
                status=failure.status,
                retry_after=failure.retry_after,
                not_made=failure.not_asked,
                answer=_stored_refusal(delivery, self.payment_execution.refuse(failure), self.clock.time()),
                keep=self._record_failure(order, failure, delivery, members),
            ) from None
        except Exception as defect:  # the bank may have received the order
            raise self._unknown_outcome(delivery) from defect

        def keep(operations: Sequence[Operation]) -> None:
            try:
                self.payment_execution.record_payment(order, answer, delivery.request_id, operations)
            except BankFailed as failure:
                ending = self._record_failure(order, failure, delivery, members)
                raise self._final_failure(
                    delivery, self.payment_execution.refuse(failure), ending, failure.status
                ) from None

        return Delivered(answer.status, StoredAnswer(200, jsontext.dumps(answer.body)), keep)

    def expire(self, dispatch: Dispatch) -> Undeliverable:
        """The failure of a payment that could not be sent in time."""
        delivery = dispatch.delivery
        if delivery.abandoned:
            return self._unknown_outcome(delivery)
        members = jsontext.loads(dispatch.body)
        _, caller = self._read_caller(delivery, members)
        return self._final_failure(
            delivery, refusals.PAYMENT_NOT_SENT(reason=_BUSY), self._release_attempt(delivery, caller, members)
        )

    def _read_order(self, delivery: Delivery, members: dict[str, Any]) -> PaymentOrder:
        """The accepted order. Raises: Undeliverable, if the order may no longer be sent."""
        client, caller = self._read_caller(delivery, members)
        bank, call = self.banks.find(delivery.concerned_bank), _PAYMENTS[delivery.topic]
        if bank is None:
            refusal = refusals.PAYMENT_NOT_SENT(reason="the bank is no longer reachable")
            raise self._final_failure(delivery, refusal, self._release_attempt(delivery, caller, members))
        version, record = VERSIONS[members["version"]], _read_record(delivery, members)
        return PaymentOrder(
            call, client, caller, bank, version, require_webhook(call, version), None, record, members["attempt"]
        )

    def _read_caller(self, delivery: Delivery, members: dict[str, Any]) -> tuple[Client, Caller | None]:
        """The client and, for an order with a consent, the caller. Raises: Undeliverable, if no longer valid."""
        part, attempt = members.get("bearer"), members["attempt"]
        keys = [(CONSENTS, {"consent_id": delivery.consent_id, "part": part})] if part else []
        try:
            client, consent, found = _read_client_and_consent(self.store, self.clock, delivery, keys, spent_by=attempt)
        except Refusal as refusal:
            raise self._final_failure(delivery, refusal, self._release_attempt(delivery, None, members)) from None
        caller = Caller(client, consent, found[0] or {}, []) if consent else None
        if not client.active:
            raise self._final_failure(
                delivery, refusals.CLIENT_UNKNOWN(), self._release_attempt(delivery, caller, members)
            )
        return client, caller

    def _release_attempt(self, delivery: Delivery, caller: Caller | None, members: dict[str, Any]) -> Keep:
        record, attempt = _read_record(delivery, members), members["attempt"]
        return lambda operations: self.payment_execution.release_attempt(caller, record, attempt, operations)

    def _record_failure(
        self, order: PaymentOrder, failure: BankFailed, delivery: Delivery, members: dict[str, Any]
    ) -> Keep:
        if failure.reach == "never":
            return self._release_attempt(delivery, order.caller, members)
        return lambda operations: self.payment_execution.record_failure(order, failure, delivery.request_id, operations)

    def _unknown_outcome(self, delivery: Delivery) -> Undeliverable:
        self.payment_execution.count_unknown_outcome()
        reason = "the service was interrupted while it was sending the order"
        return self._final_failure(delivery, refusals.PAYMENT_OUTCOME_UNKNOWN(reason=reason))

    def _final_failure(
        self, delivery: Delivery, refusal: Refusal, keep: Keep | None = None, status: int | None = None
    ) -> Undeliverable:
        answer = _stored_refusal(delivery, refusal, self.clock.time())
        return Undeliverable(refusal.message, final=True, status=status, answer=answer, keep=keep)


def _read_record(delivery: Delivery, members: dict[str, Any]) -> Order:
    """The accepted order's record; deliveries of earlier versions have its digest elsewhere, or none."""
    order_digest = members.get("order_digest") or (members.get("request_claim") or {}).get("order_digest")
    return Order(
        bic=delivery.concerned_bank,
        request_id=delivery.request_id,
        client_id=delivery.concerned_client,
        path=delivery.topic,
        consent_id=delivery.consent_id,
        api_version=members["version"],
        order_digest=order_digest,
    )


def _read_client_and_consent(
    store: Store,
    clock: Clock,
    delivery: Delivery,
    keys: Sequence[tuple[str, Item]],
    *,
    or_spent: bool = False,
    spent_by: str = "",
) -> tuple[Client, Consent | None, list[Item | None]]:
    """An accepted call's client (possibly inactive), its valid consent, and the items under ``keys``.

    A one-time consent may be spent: by any attempt with ``or_spent``, otherwise only by the attempt ``spent_by``.

    Raises:
        Refusal.
    """
    consents = [consent_key(delivery.consent_id)] if delivery.consent_id else []
    found = store.batch_get([client_key(delivery.concerned_client), *consents, *keys])
    if found[0] is None:
        raise refusals.CLIENT_UNKNOWN()
    client, rest = Client.from_item(found[0]), found[1:]
    if not consents:
        return client, None, rest
    item, now = rest[0], clock.time()
    consent = Consent.from_item(item) if item else None
    if item is None or consent is None or now >= consent.valid_until:
        raise refusals.BEARER_INVALID()
    spent = consent.status == "spent" and (or_spent or item.get("spent_by") == spent_by)
    if consent.status != "authorised" and not spent:
        raise refusals.BEARER_INVALID()
    return client, consent, rest[1:]


def _stored_refusal(delivery: Delivery, refusal: Refusal, now: int) -> StoredAnswer:
    """The error response that an immediate call would have received."""
    log.info("error response", client_id=delivery.client_id, **refusal.log_members)
    return StoredAnswer(TPP_ERRORS.status(refusal), jsontext.dumps(TPP_ERRORS.body(refusal, delivery.request_id, now)))
