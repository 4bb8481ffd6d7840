"""Deferred payments: a worker sends them to banks, once, and stores the responses for the TPPs.

The TPP's permissions are checked again before sending, because the consent may have ended since the order was accepted.
An order is sent again only if it was provably never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.delivery.outcomes import Delivered, Dispatch, Keep, StoredAnswer, Undeliverable
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, Store
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.consent.permissions import require_webhook
from chalicelib.openbanking.flows.deferred_calls import fail_finally, read_client_and_consent, store_refusal
from chalicelib.openbanking.flows.payments.execution import (
    count_unknown_outcome,
    prepare_order,
    record_failure,
    record_payment,
    refuse_failure,
    release_attempt,
    send_order,
)
from chalicelib.openbanking.flows.payments.orders import PaymentOrder, answer_order
from chalicelib.openbanking.flows.tpp_authentication import Caller
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.consents import TABLE as CONSENTS
from chalicelib.openbanking.records.orders import Order
from chalicelib.openbanking.unified.calls import INITIATIONS

_BUSY = "the bank was busy with other requests or did not respond"
Release = Callable[[Caller | None], Keep]
"""Creates the function that records the outcome of an order that was not sent, and releases the claims of the order.
The
argument is the caller of an order with a consent.
"""


def send_deferred_order(dispatch: Dispatch, *, call: Call, clock: Clock, metrics: Metrics) -> Delivered:
    """Send the payment to the bank.

    Raises:
        Undeliverable: final, unless the bank was provably never reached. If an earlier attempt was interrupted, or
            this attempt raises an unexpected error while sending, the outcome is unknown and the order is not sent
            again.
    """
    delivery, members = dispatch.delivery, jsontext.loads(dispatch.body)
    if delivery.abandoned:
        raise _fail_unknown(delivery, metrics, clock.time())
    order = call(_read_order, delivery, members, _release(delivery, members, call))
    outgoing = call(prepare_order, order, members["request"], PsuContext.from_members(members))
    try:
        answer = call(send_order, order, members["request"], outgoing)
    except BankFailed as failure:
        raise Undeliverable(
            failure.reason,
            final=failure.reach != "never",
            status=failure.status,
            retry_after=failure.retry_after,
            not_made=failure.not_asked,
            answer=store_refusal(delivery, refuse_failure(failure, metrics), clock.time()),
            keep=partial(call, record_failure, order, failure),
        ) from None
    except Exception as defect:  # the bank may have received the order
        raise _fail_unknown(delivery, metrics, clock.time()) from defect

    def keep(operations: Sequence[Operation]) -> None:
        try:
            call(record_payment, order, answer, operations)
        except BankFailed as failure:
            ending = partial(call, record_failure, order, failure)
            refusal = refuse_failure(failure, metrics)
            raise fail_finally(delivery, refusal, clock.time(), ending, failure.status) from None

    return Delivered(answer.status, StoredAnswer(200, jsontext.dumps(answer_order(order, answer).body)), keep)


def expire_deferred_order(dispatch: Dispatch, *, call: Call, clock: Clock, metrics: Metrics) -> Undeliverable:
    """Return the failure of a payment that could not be sent in time."""
    delivery = dispatch.delivery
    if delivery.abandoned:
        return _fail_unknown(delivery, metrics, clock.time())
    members = jsontext.loads(dispatch.body)
    release = _release(delivery, members, call)
    _, caller = call(_read_caller, delivery, members, release)
    return fail_finally(delivery, refusals.PAYMENT_NOT_SENT(reason=_BUSY), clock.time(), release(caller))


def _read_order(
    delivery: Delivery, members: dict[str, Any], release: Release, *, call: Call, clock: Clock, banks: Banks
) -> PaymentOrder:
    """Return the accepted order. Raises: Undeliverable, if the order may no longer be sent."""
    client, caller = call(_read_caller, delivery, members, release)
    bank, tpp_call = banks.find(delivery.concerned_bank), INITIATIONS[delivery.topic]
    if bank is None:
        refusal = refusals.PAYMENT_NOT_SENT(reason="the bank is no longer reachable")
        raise fail_finally(delivery, refusal, clock.time(), release(caller))
    version, record = VERSIONS[members["version"]], read_record(delivery, members)
    return PaymentOrder(
        tpp_call, client, caller, bank, version, require_webhook(tpp_call, version), None, record, members["attempt"]
    )


def _read_caller(
    delivery: Delivery, members: dict[str, Any], release: Release, *, store: Store, clock: Clock
) -> tuple[Client, Caller | None]:
    """Return the client and, for an order with a consent, the caller. Raises: Undeliverable, if the permission has
    ended.
    """
    part, attempt = members.get("bearer"), members["attempt"]
    keys = [(CONSENTS, {"consent_id": delivery.consent_id, "part": part})] if part else []
    try:
        client, consent, found = read_client_and_consent(store, delivery, keys, clock.time(), spent_by=attempt)
    except Refusal as refusal:
        raise fail_finally(delivery, refusal, clock.time(), release(None)) from None
    caller = Caller(client, consent, found[0] or {}, []) if consent else None
    if not client.active:
        raise fail_finally(delivery, refusals.CLIENT_UNKNOWN(), clock.time(), release(caller))
    return client, caller


def _release(delivery: Delivery, members: dict[str, Any], call: Call) -> Release:
    record, attempt = read_record(delivery, members), members["attempt"]
    return lambda caller: lambda operations: call(release_attempt, caller, record, attempt, alongside=operations)


def _fail_unknown(delivery: Delivery, metrics: Metrics, now: int) -> Undeliverable:
    count_unknown_outcome(metrics)
    reason = "the service was interrupted while it was sending the order"
    return fail_finally(delivery, refusals.PAYMENT_OUTCOME_UNKNOWN(reason=reason), now)


def read_record(delivery: Delivery, members: dict[str, Any]) -> Order:
    """Return the accepted order's record. In deliveries of earlier versions, the digest is in another member or
    missing.
    """
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
