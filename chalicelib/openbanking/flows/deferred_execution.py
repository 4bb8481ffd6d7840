"""Accepted calls, carried out: what a worker asks a bank, and the answer that waits for the TPP.

What the TPP was allowed when its call was accepted is looked at again: a consent that has ended in the meantime is not
used any more. A question is asked again after a failure; a payment only when it provably never left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.delivery.outcomes import Delivered, Dispatch, Keep, StoredAnswer, Undeliverable
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Operation, Store
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.consent_permissions import in_version, permitted, reachable
from chalicelib.openbanking.flows.payment_execution import PaymentExecution, explained
from chalicelib.openbanking.flows.payment_orders import Order
from chalicelib.openbanking.flows.payment_status import PaymentStatus
from chalicelib.openbanking.flows.relay import Question, Relay
from chalicelib.openbanking.flows.tpp_authentication import Caller
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.versions import TPP_ERRORS, VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, STATUS_PATH
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import TABLE as CONSENTS
from chalicelib.openbanking.records.consents import Consent, consent_key
from chalicelib.openbanking.records.payments import Payment, payment_key
from chalicelib.openbanking.records.request_ids import RequestClaim

_QUESTIONS = {call.path: call for call in RELAYED}
_PAYMENTS = {call.path: call for call in PAYMENTS}
_BUSY = "the bank was busy with other requests, or did not answer"


@dataclass(frozen=True, slots=True)
class QuestionSender:
    """Asks banks."""

    store: Store
    clock: Clock
    relay: Relay
    payment_status: PaymentStatus

    def send(self, parcel: Dispatch) -> Delivered:
        """Ask the bank. Raises: Undeliverable, for good when the bank or this service has refused."""
        delivery = parcel.delivery
        try:
            answer = self._ask(delivery, jsontext.loads(parcel.body))
        except BankFailed as failure:
            raise Undeliverable(
                failure.reason,
                final=failure.authorize_again or (failure.reach == "refused" and not failure.asked_too_much),
                status=failure.status,
                retry_after=failure.retry_after,
                not_made=failure.not_asked,
                answer=self._refused(delivery, failure),
            ) from None
        except Refusal as refusal:
            raise Undeliverable(refusal.message, final=True, answer=self._refused(delivery, refusal)) from None
        return Delivered(answer.status, StoredAnswer(200, jsontext.dumps(answer.body)))

    def given_up(self, parcel: Dispatch) -> Undeliverable:
        """The end of a question that could not be asked in time."""
        refusal = refusals.BANK_FAILED(reason=_BUSY)
        return Undeliverable(refusal.message, final=True, answer=self._refused(parcel.delivery, refusal))

    def _ask(self, delivery: Delivery, asked: dict[str, Any]) -> BankAnswer:
        """Raises: Refusal."""
        travelling = {"request_id": delivery.request_id, "psu_address": asked["psu_address"]}
        of_payment = delivery.topic == STATUS_PATH
        keys = [payment_key(delivery.concerned_bank, asked["payment_id"])] if of_payment else []
        client, consent, found = _parties(self.store, self.clock, delivery, keys, or_spent=of_payment)
        if not client.active:
            raise refusals.CLIENT_UNKNOWN()
        if of_payment:
            if found[0] is None:
                raise refusals.PAYMENT_GONE()
            return self.payment_status.answer(Payment.from_item(found[0]), consent, **travelling)
        assert consent is not None, "a question about a PSU's data has a consent"
        webhook = permitted(_QUESTIONS[delivery.topic], consent)
        bank = reachable(self.relay.banks, consent)
        return self.relay.ask(Question(bank, consent, webhook, asked["request"]), **travelling)

    def _refused(self, delivery: Delivery, refusal: Refusal) -> StoredAnswer:
        return _refused(delivery, refusal, self.clock.time())


@dataclass(frozen=True, slots=True)
class OrderSender:
    """Has banks take payments."""

    store: Store
    clock: Clock
    banks: Banks
    execution: PaymentExecution

    def send(self, parcel: Dispatch) -> Delivered:
        """Have the bank take the payment.

        Raises:
            Undeliverable: for good, unless the bank was provably never reached. When an earlier attempt never ended, or
                this one met a defect while it was sending, whether the bank has the order is unknown: it is not sent
                again.
        """
        delivery, members = parcel.delivery, jsontext.loads(parcel.body)
        if delivery.abandoned:
            raise self._over(delivery, _unknown_outcome())
        order = self._order(delivery, members)
        outgoing = self.execution.outgoing(order, members["request"], delivery.request_id, members["psu_address"])
        try:
            answer = self.execution.send(order, members["request"], outgoing)
        except BankFailed as failure:
            raise Undeliverable(
                failure.reason,
                final=failure.reach != "never",
                status=failure.status,
                retry_after=failure.retry_after,
                not_made=failure.not_asked,
                answer=_refused(delivery, explained(failure), self.clock.time()),
                keep=self._keeping(order, failure, delivery, members),
            ) from None
        except Exception as defect:  # wherever it happened, the bank may have the order
            raise self._over(delivery, _unknown_outcome()) from defect

        def keep(operations: Sequence[Operation]) -> None:
            try:
                self.execution.record(order, answer, delivery.request_id, operations)
            except BankFailed as failure:
                raise self._over(delivery, explained(failure), status=failure.status) from None

        return Delivered(answer.status, StoredAnswer(200, jsontext.dumps(answer.body)), keep)

    def given_up(self, parcel: Dispatch) -> Undeliverable:
        """The end of a payment that could not be sent in time."""
        delivery = parcel.delivery
        if delivery.abandoned:
            return self._over(delivery, _unknown_outcome())
        members = jsontext.loads(parcel.body)
        _, caller = self._caller(delivery, members)
        return self._over(delivery, refusals.PAYMENT_NOT_SENT(reason=_BUSY), self._giving_back(caller, members))

    def _order(self, delivery: Delivery, members: dict[str, Any]) -> Order:
        """The order as it was accepted. Raises: Undeliverable, when it may not be sent any more."""
        client, caller = self._caller(delivery, members)
        bank, call = self.banks.find(delivery.concerned_bank), _PAYMENTS[delivery.topic]
        if bank is None:
            refusal = refusals.PAYMENT_NOT_SENT(reason="the bank is not reachable any more")
            raise self._over(delivery, refusal, self._giving_back(caller, members))
        version, claim = VERSIONS[members["version"]], _request_claim(members)
        return Order(call, client, caller, bank, version, in_version(call, version), None, claim, members["attempt"])

    def _caller(self, delivery: Delivery, members: dict[str, Any]) -> tuple[Client, Caller | None]:
        """Who ordered, if the consent is still in force. Raises: Undeliverable."""
        part, attempt = members.get("bearer"), members["attempt"]
        keys = [(CONSENTS, {"consent_id": delivery.consent_id, "part": part})] if part else []
        try:
            client, consent, found = _parties(self.store, self.clock, delivery, keys, spent_by=attempt)
        except Refusal as refusal:
            raise self._over(delivery, refusal, self._giving_back(None, members)) from None
        caller = Caller(client, consent, found[0] or {}, []) if consent else None
        if not client.active:
            raise self._over(delivery, refusals.CLIENT_UNKNOWN(), self._giving_back(caller, members))
        return client, caller

    def _giving_back(self, caller: Caller | None, members: dict[str, Any]) -> Keep:
        claim, attempt = _request_claim(members), members["attempt"]
        return lambda operations: self.execution.give_back(caller, claim, attempt, operations)

    def _keeping(self, order: Order, failure: BankFailed, delivery: Delivery, members: dict[str, Any]) -> Keep:
        if failure.reach == "never":
            return self._giving_back(order.caller, members)
        return lambda operations: self.execution.record_named(order, failure, delivery.request_id, operations)

    def _over(
        self, delivery: Delivery, refusal: Refusal, keep: Keep | None = None, status: int | None = None
    ) -> Undeliverable:
        answer = _refused(delivery, refusal, self.clock.time())
        return Undeliverable(refusal.message, final=True, status=status, answer=answer, keep=keep)


def _request_claim(members: dict[str, Any]) -> RequestClaim | None:
    """What an order claimed its X-Request-Id by; earlier versions of the service claimed none."""
    claimed = members.get("request_claim")
    return RequestClaim.from_members(claimed) if claimed else None


def _parties(
    store: Store,
    clock: Clock,
    delivery: Delivery,
    keys: Sequence[tuple[str, Item]],
    *,
    or_spent: bool = False,
    spent_by: str = "",
) -> tuple[Client, Consent | None, list[Item | None]]:
    """The client, perhaps switched off, and the consent of an accepted call, in force, and the items under ``keys``.

    A one-time consent may have been spent: by anything, with ``or_spent``, or by the attempt ``spent_by``.

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


def _refused(delivery: Delivery, refusal: Refusal, now: int) -> StoredAnswer:
    """What the TPP is answered with, as if it had waited."""
    return StoredAnswer(TPP_ERRORS.status(refusal), jsontext.dumps(TPP_ERRORS.body(refusal, delivery.request_id, now)))


def _unknown_outcome() -> Refusal:
    return refusals.PAYMENT_OUTCOME_UNKNOWN(reason="the order was being sent when this service was interrupted")
