"""Payments, from a TPP's order to the bank's response (specification, Payment flow, Direct payment flow).

Before the bank is called, one conditional transaction claims the X-Request-Id, the idempotency key and the one-time
consent; a second transaction records the response. In between, the bank is called once, on its own connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, StoreError
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Outcome, Proof
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.delivery_plans import PLANS
from chalicelib.openbanking.flows.consent.permissions import require_bank, require_scope, require_webhook
from chalicelib.openbanking.flows.payments.execution import PaymentExecution
from chalicelib.openbanking.flows.payments.orders import PaymentOrder, build_bank_request
from chalicelib.openbanking.flows.tpp_authentication import Caller, TppAuthentication
from chalicelib.openbanking.oauth.tpp_credentials import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.webhooks import PAYMENT_SERVICE, PaymentCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.consents import Consents, consent_key
from chalicelib.openbanking.records.order_answers import DeferredRequest, OrderAnswers, OrderClaim
from chalicelib.openbanking.records.orders import RUNNING_SECONDS, Order, SentOrder, compute_order_digest, has_attempt
from chalicelib.statistics import current_call

Known = Mapping[str, Any] | DeferredRequest | None
"""The stored outcome of the request that was first, if there is one."""


@dataclass(frozen=True, slots=True)
class PaymentInitiation:
    """Initiates payments."""

    engine: Engine
    tpp_authentication: TppAuthentication
    banks: Banks
    consents: Consents
    order_answers: OrderAnswers
    outbox: Outbox
    payment_execution: PaymentExecution

    def authorize(
        self, call: PaymentCall, credentials: TppCredentials, sent: SentOrder, claim: OrderClaim | None
    ) -> PaymentOrder | BankAnswer | DeferredRequest:
        """Check client, request id, bearer, version and scope, in this order. Returns the stored outcome for a repeat.

        A spent bearer is accepted only for a repeat of the request that spent it.

        Raises:
            Refusal: including the stored refusal of an identical earlier request.
        """
        caller = self.tpp_authentication.authenticate_bearer(credentials, [claim.key] if claim else [], or_spent=True)
        current_call.record_concern(caller.consent.bic, PAYMENT_SERVICE)
        kept = caller.items[0] if claim else None
        spent = caller.consent.status == "spent"
        if spent and (claim is None or kept is None or not claim.has_same_consent(kept)):
            raise refusals.BEARER_SPENT()
        webhook = require_scope(call, caller.consent)
        known = self._find_outcome(claim, kept) if claim else None
        if known is not None:
            return _repeat_answer(known)
        if spent:
            raise refusals.BEARER_SPENT()
        bank = require_bank(self.banks, caller.consent)
        return _new_order(call, caller.client, caller, bank, webhook, claim, sent)

    def authorize_direct(
        self,
        call: PaymentCall,
        credentials: TppCredentials,
        sent: SentOrder,
        claim: OrderClaim | None,
        bic: Callable[[], str],
    ) -> PaymentOrder | BankAnswer | DeferredRequest:
        """Like ``authorize``, but without a bearer; ``bic`` returns the bank's BIC. Raises: Refusal."""
        keys = [claim.key] if claim else []
        client, found = self.tpp_authentication.authenticate_client_and_read(credentials, keys, ["PISP"])
        known = self._find_outcome(claim, found[0]) if claim else None
        if known is not None:
            return _repeat_answer(known)
        bank = self.banks.find(bic())
        if bank is None:
            raise refusals.BANK_UNKNOWN()
        current_call.record_concern(bank.bic, PAYMENT_SERVICE)
        webhook = require_webhook(call, bank.version)
        return _new_order(call, client, None, bank, webhook, claim, sent)

    def initiate(
        self, order: PaymentOrder, members: object, *, request_id: str, psu: PsuContext
    ) -> BankAnswer | DeferredRequest:
        """Send the payment to the bank; a repeat with the same key returns the first response.

        Raises:
            Refusal: nothing was sent, or the bank failed and the message states whether it may have the payment.
        """
        request = build_bank_request(order, members)
        outgoing = self.payment_execution.prepare(order, request, request_id, psu)
        self.payment_execution.require_reachable(order)
        known = self._claim_attempt(order, [self.order_answers.put_claim(order.claim)] if order.claim else [])
        if known is not None:
            return _repeat_answer(known)
        try:
            answer = self.payment_execution.send(order, request, outgoing)
            self._record_payment(order, answer, request_id)
        except BankFailed as failure:
            refusal = self.payment_execution.refuse(failure)
            refusal.first = self.order_answers.first_answer(request_id)
            self._record_failure(order, failure, refusal, request_id)
            raise refusal from failure
        return answer

    def accept(
        self, order: PaymentOrder, members: object, *, request_id: str, psu: PsuContext
    ) -> BankAnswer | DeferredRequest:
        """Accept the payment for deferred execution. One transaction writes the claims and the delivery.

        Raises:
            Refusal: nothing will be sent.
        """
        request = build_bank_request(order, members)
        caller, bic = order.caller, order.bank.bic
        body = {
            "request": request,
            "version": order.version.number,
            "attempt": order.attempt,
            "order_digest": order.record.order_digest,
            **psu.as_members(),
        }
        recorded = self.outbox.record(
            "payment",
            order.call.path,
            receiver=f"bank#{bic}",
            bic=bic,
            client_id=order.client.client_id,
            consent_id=caller.consent.consent_id if caller else None,
            body=jsontext.dumps(body | ({"bearer": caller.token["part"]} if caller else {})),
            request_id=request_id,
        )
        accepted = DeferredRequest(recorded.delivery_ids[0])
        keeping = [self.order_answers.put_deferred(order.claim, accepted)] if order.claim else []
        try:
            known = self._claim_attempt(order, keeping, recorded)
        except StoreError as error:
            if order.claim is not None or order.one_time_caller is not None:
                raise  # repeating it is safe
            raise refusals.ACCEPTANCE_UNKNOWN() from error
        return _repeat_answer(known) if known is not None else accepted

    # -- inside

    def _find_outcome(self, claim: OrderClaim, kept: Item | None) -> Mapping[str, Any] | DeferredRequest | None:
        """The stored outcome for this key. Repeats are left out of the statistics. Raises: Refusal."""
        try:
            known = self.order_answers.find_outcome(claim, kept)
        except Refusal as refusal:
            if refusal.first is not None:
                current_call.clear_concern()
            elif refusal.reason_code == "outcome_unknown":  # the first request never ended
                self.payment_execution.count_unknown_outcome()
            raise
        if known is not None:
            current_call.clear_concern()
        return known

    def _claim_attempt(
        self, order: PaymentOrder, keeping: Sequence[Put], recorded: Deliveries = NO_DELIVERIES
    ) -> Known:
        """Claim key, one-time consent and X-Request-Id. Returns the stored outcome if another request was first.

        ``keeping`` contains the write that claims the key, if any; ``recorded`` is delivered because of the claim.

        Raises:
            Refusal: the other request is still running, the consent is spent or has ended, or the X-Request-Id belongs
                to another order.
        """
        attempt, of_consent = order.attempt, list[Operation]()
        if order.one_time_caller is not None:
            of_consent = self.consents.update_spent(order.one_time_caller.consent, order.one_time_caller.token, attempt)
        running = PLANS["payment"].lasts + RUNNING_SECONDS if recorded.operations else RUNNING_SECONDS

        def decide(facts: Facts) -> Outcome[Known]:
            kept = facts.item(order.claim.key) if order.claim else None
            known = self._find_outcome(order.claim, kept) if order.claim else None
            if known is not None:
                return Outcome(known)
            if not facts.permits(*of_consent):
                raise _refuse_spent(facts, order)
            of_order = self._claim_order(facts, order, running)
            proof = Proof([order.record.key], lambda item: has_attempt(item, attempt))
            return Outcome(None, [*keeping, *of_consent, of_order], recorded, proof, is_overwritten=True)

        free = [order.claim.key] if order.claim else []
        assumed = [*free, order.record.key]
        return self.engine.carry_out(decide, Facts(assumed, [None for _ in assumed]))

    def _claim_order(self, facts: Facts, order: PaymentOrder, running: int) -> Operation:
        """The write that claims the X-Request-Id, as a new one or for a retry of the same order. Raises: Refusal."""
        orders = self.payment_execution.orders
        new = orders.put_claim(order.record, order.attempt, running)
        if facts.permits(new):
            return new
        retry = orders.update_claim(order.record, order.attempt, facts.item(order.record.key) or {}, running)
        if retry is None:
            raise refusals.ORDER_ID_USED()
        return retry

    def _record_payment(self, order: PaymentOrder, answer: BankAnswer, request_id: str) -> None:
        """Record the payment in the bank's response.

        Raises:
            BankFailed: its payment_id belongs to another order.
            Refusal: it could not be written.
        """
        kept = self._put_outcome(order, lambda claim: self.order_answers.put_answer(claim, answer.body))
        try:
            self.payment_execution.record_payment(order, answer, request_id, kept)
        except StoreError:
            log.exception("payment not recorded", request_id=request_id)
            self.payment_execution.count_unknown_outcome()
            raise refusals.PAYMENT_NOT_KEPT() from None

    def _put_outcome(self, order: PaymentOrder, keeping: Callable[[OrderClaim], Put]) -> list[Operation]:
        """The write that stores an outcome for repeats; empty without a key, or if it cannot be encrypted."""
        try:
            return [keeping(order.claim)] if order.claim else []
        except Exception:
            log.exception("outcome not encrypted")
            return []

    def _record_failure(self, order: PaymentOrder, failure: BankFailed, refusal: Refusal, request_id: str) -> None:
        """Store the refusal for repeats and what is known of the order; if the bank was not reached, release claims.

        While calls to the bank are paused, the key is released too: a repeat after the pause may be sent.
        """
        if failure.not_asked:
            kept: list[Operation] = [self.order_answers.put_released(order.claim)] if order.claim else []
        else:
            kept = self._put_outcome(order, lambda claim: self.order_answers.put_refusal(claim, refusal))
        if failure.reach == "never":
            record = partial(self.payment_execution.release_attempt, order.caller, order.record, order.attempt, kept)
        else:
            record = partial(self.payment_execution.record_failure, order, failure, request_id, kept)
        try_to(record, "failed payment not recorded", request_id=request_id)


def _new_order(
    call: PaymentCall,
    client: Client,
    caller: Caller | None,
    bank: Bank,
    webhook: Webhook,
    claim: OrderClaim | None,
    sent: SentOrder,
) -> PaymentOrder:
    """A permitted order, in the version of the consent or, for a direct payment, of the bank."""
    consent = caller.consent if caller else None
    version = consent.version if consent else bank.version
    consent_id = consent.consent_id if consent else None
    order_digest = compute_order_digest(client.client_id, call.path, consent_id, sent.body)
    record = Order(bank.bic, sent.request_id, client.client_id, call.path, consent_id, version.number, order_digest)
    return PaymentOrder(call, client, caller, bank, version, webhook, claim, record, new_id())


def _refuse_spent(facts: Facts, order: PaymentOrder) -> Refusal:
    """The refusal for a one-time consent that has ended or is spent by another order."""
    spent = order.consent is not None and "spent_by" in (facts.item(consent_key(order.consent.consent_id)) or {})
    return refusals.BEARER_SPENT() if spent else refusals.BEARER_INVALID()


def _repeat_answer(known: Mapping[str, Any] | DeferredRequest) -> BankAnswer | DeferredRequest:
    """The response for a repeat: the stored one."""
    return known if isinstance(known, DeferredRequest) else BankAnswer(known, 0)
