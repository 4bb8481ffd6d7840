"""Payment initiation, from a TPP's order to the bank's response (specification, Payment flow, Direct payment flow).

Before the bank is called, one conditional transaction claims the X-Request-Id, the idempotency key and the one-time
consent; a second transaction records the response. Between these transactions, the bank is called once, on a separate
connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, StoreError
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Outcome, Proof
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.delivery_plans import PLANS
from chalicelib.openbanking.flows.consent.permissions import require_bank, require_scope, require_webhook
from chalicelib.openbanking.flows.payments.execution import (
    count_unknown_outcome,
    prepare_order,
    record_failure,
    record_payment,
    refuse_failure,
    require_reachable,
    send_order,
)
from chalicelib.openbanking.flows.payments.orders import PaymentOrder, answer_order, build_bank_request
from chalicelib.openbanking.flows.tpp_authentication import Caller, TppAuthentication
from chalicelib.openbanking.oauth.tpp_request import (
    TppCredentials,
    TppRequest,
    prefers_deferral,
    read_fields,
    refuse_any_parameters,
)
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import PsuContext, read_psu
from chalicelib.openbanking.protocol.tpp_calls import ScopeQuery
from chalicelib.openbanking.protocol.webhooks import PAYMENT_SERVICE, PaymentCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.consents import Consents, consent_key
from chalicelib.openbanking.records.order_answers import DeferredRequest, OrderAnswers, OrderClaim
from chalicelib.openbanking.records.orders import RUNNING_SECONDS, Order, Orders, compute_order_digest, has_attempt
from chalicelib.openbanking.unified.calls import UnifiedPaymentCall, unified_scope
from chalicelib.statistics import current_call

Known = Mapping[str, Any] | DeferredRequest | None
"""The stored outcome of an earlier identical request, or ``None`` without an earlier request."""
_KEY_LENGTH = 255


def initiate_payment(
    tpp_call: PaymentCall,
    credentials: TppCredentials,
    request: TppRequest,
    *,
    call: Call,
    order_answers: OrderAnswers,
    metrics: Metrics,
) -> BankAnswer | DeferredRequest:
    """Send a payment to its bank, or accept it for deferred execution.

    A duplicate request with the same key gets the first response. Checks that can refuse the request are, in this
    order: client, request id, bearer token, version, scope, bank, parameters, idempotency key, body, PSU headers,
    members, accounts, the stored data, and the bank.

    Raises:
        Refusal: nothing was sent, or the bank failed and the message states whether it may have the payment, or the
        stored refusal of an identical earlier request.
    """
    claim = _new_claim(tpp_call, credentials, request)
    is_direct = tpp_call.kind == "direct"
    order = call(_authorize_direct if is_direct else _authorize, tpp_call, credentials, request, claim=claim)
    if not isinstance(order, PaymentOrder):
        return _repeat_answer(order)
    refuse_any_parameters(request)
    _check_idempotency_key(request)
    members = request.json(tpp_call.body_bytes)
    if is_direct:
        members = {name: value for name, value in members.items() if name != "bic"}
    psu = read_psu(request.headers, request.repeated_headers)
    bank_request = _build_request(order, members)
    if prefers_deferral(request):
        return call(_accept, order, bank_request, psu)
    outgoing = call(prepare_order, order, bank_request, psu)
    call(require_reachable, order)
    first = call(_reserve_order, order, [order_answers.put_claim(claim)] if claim else [])
    if first is not None:
        return _repeat_answer(first)
    try:
        answer = call(send_order, order, bank_request, outgoing)
        answered = answer_order(order, answer)
        puts = _put_outcome(order, lambda claim: order_answers.put_answer(claim, answered.body))
        call(record_payment, order, answer, puts, if_failed=partial(_report_not_recorded, order, metrics))
    except BankFailed as failure:
        refusal = refuse_failure(failure, metrics)
        refusal.first = order_answers.first_answer(order.record.request_id)
        puts = _put_failure(order, failure, refusal, order_answers)
        record = partial(call, record_failure, order, failure, puts)
        try_to(record, "failed payment not recorded", request_id=order.record.request_id)
        raise refusal from failure
    return answered


def _build_request(order: PaymentOrder, members: object) -> dict[str, Any]:
    """Build the validated body of the request to the bank. Raises: Refusal."""
    if not isinstance(order.call, UnifiedPaymentCall):
        return build_bank_request(order, members)
    from chalicelib.openbanking.flows.payments.unified_orders import build_unified_request

    return build_unified_request(order, members)


def _authorize(
    tpp_call: PaymentCall,
    credentials: TppCredentials,
    request: TppRequest,
    *,
    claim: OrderClaim | None,
    call: Call,
    tpp_authentication: TppAuthentication,
    banks: Banks,
) -> PaymentOrder | Mapping[str, Any] | DeferredRequest:
    """Check client, request id, bearer token, version and scope in this order. Returns the stored outcome for a
    duplicate.

    A spent bearer token is accepted only for a duplicate of the request that spent it.

    Raises:
        Refusal: including the stored refusal of an identical earlier request.
    """
    caller = tpp_authentication.authenticate_bearer(credentials, [claim.key] if claim else [], or_spent=True)
    current_call.record_concern(caller.consent.bic, PAYMENT_SERVICE)
    item = caller.items[0] if claim else None
    spent = caller.consent.status == "spent"
    if spent and (claim is None or item is None or not claim.has_same_consent(item)):
        raise refusals.BEARER_SPENT()
    webhook = require_scope(tpp_call, caller.consent, unified_scope(tpp_call))
    first = call(_find_outcome, claim, item) if claim else None
    if first is not None:
        return first
    if spent:
        raise refusals.BEARER_SPENT()
    bank = require_bank(banks, caller.consent)
    return _new_order(tpp_call, caller.client, caller, bank, webhook, claim, request)


def _authorize_direct(
    tpp_call: PaymentCall,
    credentials: TppCredentials,
    request: TppRequest,
    *,
    claim: OrderClaim | None,
    call: Call,
    tpp_authentication: TppAuthentication,
    banks: Banks,
) -> PaymentOrder | Mapping[str, Any] | DeferredRequest:
    """Check a direct payment, which has no bearer token. The request body names the bank. Raises: Refusal."""
    keys = [claim.key] if claim else []
    client, found = tpp_authentication.authenticate_client_and_read(credentials, keys, ["PISP"])
    first = call(_find_outcome, claim, found[0]) if claim else None
    if first is not None:
        return first
    bank = banks.find(_read_bic(request.json()))
    if bank is None:
        raise refusals.BANK_UNKNOWN()
    current_call.record_concern(bank.bic, PAYMENT_SERVICE)
    webhook = require_webhook(tpp_call, bank.version)
    return _new_order(tpp_call, client, None, bank, webhook, claim, request)


def _accept(
    order: PaymentOrder,
    bank_request: dict[str, Any],
    psu: PsuContext,
    *,
    call: Call,
    order_answers: OrderAnswers,
    outbox: Outbox,
) -> BankAnswer | DeferredRequest:
    """Accept a payment for deferred execution. One transaction writes the claims and the delivery.

    Raises:
        Refusal: the payment will not be sent.
    """
    caller, bic = order.caller, order.bank.bic
    body = {
        "request": bank_request,
        "version": order.version.number,
        "attempt": order.attempt,
        "order_digest": order.record.order_digest,
        **psu.as_members(),
    }
    body |= {"bearer": caller.token["part"]} if caller else {}
    body |= {"key_claim": order.claim.claim.name, "key_digest": order.claim.claim.digest} if order.claim else {}
    recorded = outbox.record(
        "payment",
        order.call.path,
        receiver=f"bank#{bic}",
        bic=bic,
        client_id=order.client.client_id,
        consent_id=caller.consent.consent_id if caller else None,
        body=jsontext.dumps(body),
        request_id=order.record.request_id,
    )
    accepted = DeferredRequest(recorded.delivery_ids[0])
    is_repeatable = order.claim is not None or order.one_time_caller is not None
    first = call(
        _reserve_order,
        order,
        [order_answers.put_deferred(order.claim, accepted)] if order.claim else [],
        deliveries=recorded,
        if_failed=None if is_repeatable else lambda _: refusals.ACCEPTANCE_UNKNOWN(),
    )
    return accepted if first is None else _repeat_answer(first)


def _find_outcome(claim: OrderClaim, item: Item | None, *, order_answers: OrderAnswers, metrics: Metrics) -> Known:
    """Return the stored outcome for an idempotency key. Duplicate requests are excluded from the statistics. Raises:
    Refusal.
    """
    try:
        outcome = order_answers.find_outcome(claim, item)
    except Refusal as refusal:
        if refusal.first is not None:
            current_call.clear_concern()
        elif refusal.reason_code == "outcome_unknown":  # the first request never ended
            count_unknown_outcome(metrics)
        raise
    if outcome is not None:
        current_call.clear_concern()
    return outcome


def _reserve_order(
    order: PaymentOrder,
    key_claim: Sequence[Put],
    *,
    call: Call,
    consents: Consents,
    orders: Orders,
    engine: Engine,
    deliveries: Deliveries = NO_DELIVERIES,
    if_failed: Callable[[StoreError], Exception | None] | None = None,
) -> Known:
    """Claim key, one-time consent and X-Request-Id. Returns the stored outcome if an identical request came first.

    ``key_claim`` contains the write operation that claims the key, if any. ``deliveries`` are recorded with the claim.

    Raises:
        Refusal: the earlier request is still running, the consent is spent or has ended, or the X-Request-Id belongs
            to another order.
    """
    attempt, of_consent = order.attempt, list[Operation]()
    if order.one_time_caller is not None:
        caller, request_id = order.one_time_caller, order.record.request_id
        of_consent = consents.update_spent(caller.consent, caller.token, attempt, request_id)
    running = PLANS["payment"].lifetime + RUNNING_SECONDS if deliveries.operations else RUNNING_SECONDS

    def decide(facts: Facts) -> Outcome[Known]:
        first = call(_find_outcome, order.claim, facts.item(order.claim.key)) if order.claim else None
        if first is not None:
            return Outcome(first)
        if not facts.permits(*of_consent):
            raise _refuse_spent(facts, order)
        of_order = _claim_order(facts, order, orders, running)
        proof = Proof([order.record.key], lambda item: has_attempt(item, attempt))
        return Outcome(
            None,
            [*key_claim, *of_consent, of_order],
            deliveries,
            proof,
            is_overwritten=True,
            report=lambda: log.info(
                "order recorded", bic=order.bank.bic, webhook=order.webhook.path, sent_as=order.record.request_id
            ),
        )

    assumed = [*([order.claim.key] if order.claim else []), order.record.key]
    return engine.carry_out(decide, Facts(assumed, [None for _ in assumed]), if_failed=if_failed)


def _claim_order(facts: Facts, order: PaymentOrder, orders: Orders, running: int) -> Operation:
    """Return the write operation that claims the X-Request-Id, as a new id or for a retry of the same order. Raises:
    Refusal.
    """
    new = orders.put_claim(order.record, order.attempt, running)
    if facts.permits(new):
        return new
    retry = orders.update_claim(order.record, order.attempt, facts.item(order.record.key) or {}, running)
    if retry is None:
        raise refusals.ORDER_ID_USED()
    return retry


def _report_not_recorded(order: PaymentOrder, metrics: Metrics, _: StoreError) -> Refusal:
    """Return the refusal for a payment that the bank has, but that the service could not record."""
    log.exception("payment not recorded", request_id=order.record.request_id)
    count_unknown_outcome(metrics)
    return refusals.PAYMENT_NOT_STORED()


def _put_outcome(order: PaymentOrder, put: Callable[[OrderClaim], Put]) -> list[Operation]:
    """Return the write operation that stores an outcome for duplicate requests. It is empty without a key, or if
    encryption fails.
    """
    try:
        return [put(order.claim)] if order.claim else []
    except Exception:
        log.exception("outcome not encrypted")
        return []


def _put_failure(
    order: PaymentOrder, failure: BankFailed, refusal: Refusal, order_answers: OrderAnswers
) -> list[Operation]:
    """Return the write operation that stores a refusal for duplicate requests.

    While calls to the bank are paused, the key is released instead, so a retry after the pause may be sent.
    """
    if failure.not_asked:
        return [order_answers.put_released(order.claim)] if order.claim else []
    return _put_outcome(order, lambda claim: order_answers.put_refusal(claim, refusal))


def _new_claim(tpp_call: PaymentCall, credentials: TppCredentials, request: TppRequest) -> OrderClaim | None:
    """Return the claim for the request's Idempotency-Key, or ``None`` if the header is missing or invalid.

    An invalid header is refused later, together with the other headers.
    """
    key = request.headers.get("idempotency-key")
    if not key or not _is_key(key):
        return None
    consent_id = credentials.token.ids[0] if credentials.token and tpp_call.kind != "direct" else None
    return OrderClaim.from_request(credentials.client_id or "", tpp_call.path, key, request.body, consent_id)


def _check_idempotency_key(request: TppRequest) -> None:
    key = request.headers.get("idempotency-key")
    if key is not None and not _is_key(key):
        raise refusals.IDEMPOTENCY_KEY_WRONG(most=_KEY_LENGTH)


def _is_key(key: str) -> bool:
    return 1 <= len(key) <= _KEY_LENGTH and key.isprintable()


def _read_bic(members: Any) -> str:
    """Return the BIC in a direct payment's body. Raises: Refusal."""
    named = {name: value for name, value in members.items() if name == "bic"} if isinstance(members, dict) else members
    return read_fields(ScopeQuery, named).bic


def _new_order(
    tpp_call: PaymentCall,
    client: Client,
    caller: Caller | None,
    bank: Bank,
    webhook: Webhook,
    claim: OrderClaim | None,
    request: TppRequest,
) -> PaymentOrder:
    """Return a permitted order in the version of the consent. A direct payment uses the version of the bank."""
    consent = caller.consent if caller else None
    version = consent.version if consent else bank.version
    consent_id = consent.consent_id if consent else None
    path = tpp_call.path
    order_digest = compute_order_digest(client.client_id, path, consent_id, request.body)
    record = Order(bank.bic, request.request_id, client.client_id, path, consent_id, version.number, order_digest)
    return PaymentOrder(tpp_call, client, caller, bank, version, webhook, claim, record, new_id())


def _refuse_spent(facts: Facts, order: PaymentOrder) -> Refusal:
    """Return the refusal for a one-time consent that has ended or was used by another order."""
    spent = order.consent is not None and "spent_by" in (facts.item(consent_key(order.consent.consent_id)) or {})
    return refusals.BEARER_SPENT() if spent else refusals.BEARER_INVALID()


def _repeat_answer(first: Mapping[str, Any] | DeferredRequest) -> BankAnswer | DeferredRequest:
    """Convert the stored outcome of the first request into the response for a duplicate request."""
    return first if isinstance(first, DeferredRequest) else BankAnswer(first, 0)
