"""Execution of a payment: sends the payment to the bank once, on a separate connection, and records the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.dynamodb.store import Item, Operation, StoreError
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.foundation.wiring import Call
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
"""The maximum size of a bank's response to a payment, in bytes. The response must fit into a DynamoDB item."""
_BY_REACH: Mapping[Reach, refusals.RefusalRow] = {
    "never": refusals.PAYMENT_NOT_SENT,
    "refused": refusals.PAYMENT_REFUSED,
    "unknown": refusals.PAYMENT_OUTCOME_UNKNOWN,
}


def prepare_order(
    order: PaymentOrder, request: dict[str, Any], psu: PsuContext, *, consents: Consents, bank_client: BankClient
) -> PreparedRequest:
    """Build the request to the bank. Called before any claim is made."""
    token = consents.bank_token(order.consent) if order.consent and order.webhook.sends_token else None
    path, request_id = order.webhook.path, order.record.request_id
    return bank_client.prepare(order.bank, path, request, request_id=request_id, token=token, psu=psu)


def send_order(
    order: PaymentOrder, request: dict[str, Any], outgoing: PreparedRequest, *, bank_client: BankClient, is_local: bool
) -> BankAnswer:
    """Send the payment to the bank, once. Raises: BankFailed.

    ``is_local`` allows a confirmation_url without TLS.
    """
    answer = bank_client.call_prepared(outgoing, order.version, order.webhook, request, once=True)
    if not is_confirmation_url(answer.body["confirmation_url"], local=is_local):
        raise _unusable_answer(answer, "the confirmation_url in the bank's response is not a plain https address")
    if len(jsontext.dumps(answer.body)) > LONGEST_ANSWER:
        raise _unusable_answer(answer, f"the bank's response to a payment is larger than {LONGEST_ANSWER} bytes")
    return answer


def record_payment(
    order: PaymentOrder,
    answer: BankAnswer,
    alongside: Sequence[Operation],
    *,
    call: Call,
    payments: Payments,
    engine: Engine,
    if_failed: Callable[[StoreError], Exception | None] | None = None,
) -> None:
    """Record the payment in the bank's response, with the writes ``alongside`` in the same transaction.

    Raises:
        BankFailed: the payment_id belongs to another order, and no data was written.
        StoreError: storage failed, unless ``if_failed`` returns a different error.
    """
    payment = _new_payment(order, answer.body, payments)

    def decide(facts: Facts) -> Outcome[None]:
        outcome = call(_decide_payment, facts, order, payment)
        if outcome is None:
            _report_reused(payment)
            raise _failure(answer, "the payment_id in the bank's response belongs to another order")
        return outcome

    engine.carry_out(decide, _without(payment), alongside=alongside, if_failed=if_failed)


def record_failure(
    order: PaymentOrder,
    failure: BankFailed,
    alongside: Sequence[Operation],
    *,
    call: Call,
    payments: Payments,
    orders: Orders,
    engine: Engine,
) -> None:
    """Record the known outcome of an order after a failure, with the writes ``alongside`` in the same transaction.

    If the bank was never reached, the claims are released. A payment that an unusable response names is recorded with
    the outcome ``unknown``.

    Raises:
        StoreError.
    """
    if failure.reach == "never":
        call(release_attempt, order.caller, order.record, order.attempt, alongside=alongside)
        return
    payment = None
    if failure.payment_id is not None:
        answer = {**(failure.answer or {}), "payment_id": failure.payment_id}
        payment = _new_payment(order, answer, payments, "unknown")

    def decide(facts: Facts) -> Outcome[None]:
        if payment is not None:
            recorded = call(_decide_payment, facts, order, payment)
            if recorded is not None:
                return recorded
        if failure.reach == "refused":
            writes = _close_attempt(facts, order.record, order.attempt, orders, sent=True)
        else:
            writes = [*filter(facts.permits, _write_unknown(order, orders))]
        return Outcome(None, writes, report=partial(_report_reused, payment))

    engine.carry_out(decide, _without(payment), alongside=alongside)


def release_attempt(
    caller: Caller | None,
    record: Order,
    attempt: str,
    *,
    alongside: Sequence[Operation],
    consents: Consents,
    orders: Orders,
    engine: Engine,
) -> None:
    """Release the claims of an ``attempt`` that never reached the bank, with the writes ``alongside``.

    This frees the X-Request-Id and restores a one-time consent, unless the consent has ended in the meantime.

    Raises:
        StoreError.
    """
    unspent: list[Operation] = []
    if caller is not None and caller.consent.consent_type == "one_time":
        unspent += consents.update_unspent(caller.consent, caller.token, attempt)

    def decide(facts: Facts) -> Outcome[None]:
        closing = _close_attempt(facts, record, attempt, orders, sent=False)
        return Outcome(None, [*closing, *filter(facts.permits, unspent)])

    engine.carry_out(decide, alongside=alongside)


def require_reachable(order: PaymentOrder, *, bank_client: BankClient) -> None:
    """Refuse an order while calls to its bank are paused. Raises: Refusal."""
    try:
        bank_client.require_closed(order.bank, order.webhook)
    except BankFailed as failure:
        raise refuse_payment(failure) from failure


def refuse_failure(failure: BankFailed, metrics: Metrics) -> Refusal:
    """Return the refusal for a bank failure. A payment with an unknown outcome is counted."""
    if failure.reach == "unknown":
        count_unknown_outcome(metrics)
    return refuse_payment(failure)


def count_unknown_outcome(metrics: Metrics) -> None:
    """Count a payment with an unknown outcome. An operator may have to clarify the outcome with the bank."""
    metrics.write({"UnknownOutcomes": 1})


def _new_payment(
    order: PaymentOrder, answer: Mapping[str, Any], payments: Payments, outcome: PaymentOutcome | None = None
) -> Payment:
    return payments.new(
        order.bank.bic,
        answer["payment_id"],
        api_version=order.version.number,
        kind=order.call.kind,
        client_id=order.client.client_id,
        consent_id=order.consent.consent_id if order.consent else None,
        request_id=order.record.request_id,
        order_digest=order.record.order_digest,
        status=order.version.statuses.first_status(answer.get("status")),
        outcome=outcome,
        claim=order.claim.claim if order.claim else None,
    )


def _close_attempt(facts: Facts, record: Order, attempt: str, orders: Orders, *, sent: bool) -> list[Operation]:
    """Return the write operation that records an order as not accepted, unless another attempt may have sent the order.

    The result is empty if the id was not claimed, or another order has claimed it.
    """
    if record.order_digest is None:
        return []
    writes: list[Operation] = [
        orders.update_not_accepted(record, attempt, sent=sent, alone=alone) for alone in (True, False)
    ]
    return [*filter(facts.permits, writes)][:1]


def _decide_payment(
    facts: Facts,
    order: PaymentOrder,
    payment: Payment,
    *,
    payments: Payments,
    orders: Orders,
    tpp_events: TppEvents,
    outbox: Outbox,
) -> Outcome[None] | None:
    """Decide how to record a new payment and the outcome of its order. Status reports that arrived early are included.

    A payment_id identifies a single order. Return ``None`` if the payment_id belongs to a different order. A repeated
    response for the same order only changes an unknown outcome.
    """
    found = facts.item(payment_key(payment.bic, payment.payment_id))
    before = Payment.from_item(found) if found is not None and not is_early(found) else None
    members = {"bic": payment.bic, "payment_id": payment.payment_id}
    if before is not None and not before.is_of_one_order_with(payment):
        return None
    writes, after = _write_payment(payment, before, found, payments)
    of_order = _write_outcome(order, after, orders)
    permitted = [*filter(facts.permits, of_order)]
    deliveries = RecordedDeliveries()
    if after.outcome == "unknown" and (before is None or before.outcome != "unknown"):
        deliveries = record_status_query(outbox, after)
    elif before is None and after.status != payment.status:  # a status reported early
        deliveries = record_status_changed(tpp_events, order.client, after)

    def report() -> None:
        if of_order != permitted:
            log.warning("order has another payment", **members)
        log.info("payment recorded", **members)

    return Outcome(None, [*writes, *permitted], deliveries, report=report)


def _write_payment(
    payment: Payment, before: Payment | None, found: Item | None, payments: Payments
) -> tuple[list[Operation], Payment]:
    """Return the write operations that store a payment or update ``before``, and the resulting payment.

    A response that cannot be used does not change known data.
    """
    if before is None:
        creation = payments.put_payment(payment, found)
        return [creation], Payment.from_item(creation.item)
    if before.outcome is None:
        return [], before
    if before.outcome == payment.outcome:
        return [payments.check_unchanged(before)], before
    after = replace(before, outcome=payment.outcome)
    return [payments.update_payment(before, after)], after


def _write_outcome(order: PaymentOrder, after: Payment, orders: Orders) -> list[Operation]:
    """Return the write operation that records a payment in its order."""
    record = order.record
    if record.order_digest is None:
        return []
    if after.outcome is not None:
        return [orders.update_unknown(record, order.attempt, after.payment_id)]
    return [orders.update_accepted(record.key, record.order_digest, after.payment_id)]


def _write_unknown(order: PaymentOrder, orders: Orders) -> list[Operation]:
    """Return the write operation that records a payment attempt with an unknown outcome. Without an order digest,
    return no write.
    """
    return [orders.update_unknown(order.record, order.attempt)] if order.record.order_digest else []


def _report_reused(payment: Payment | None) -> None:
    """Write a log line if an unusable response names a payment that belongs to another order."""
    if payment is not None:
        log.warning("payment_id reused", bic=payment.bic, payment_id=payment.payment_id)


def _without(payment: Payment | None) -> Facts:
    """Return the initial facts of the first attempt, which assume that the new payment's id is not stored yet."""
    return Facts([payment_key(payment.bic, payment.payment_id)], [None]) if payment else Facts()


def _unusable_answer(answer: BankAnswer, text: str) -> BankFailed:
    """Return the failure for a success response that is not usable. The failure's ``answer`` contains the response."""
    failure = _failure(answer, text)
    failure.answer = answer.body
    return failure


def _failure(answer: BankAnswer, text: str) -> BankFailed:
    current_call.record_failure("bank")
    failure = BankFailed(text, status=answer.status)
    failure.bank_seconds = answer.seconds
    return failure


def refuse_payment(failure: BankFailed) -> Refusal:
    """Return the refusal for a bank failure, including the payment's outcome."""
    named = f"; payment_id: {failure.payment_id}" if failure.payment_id is not None else ""
    hint = refusals.AUTHORIZE_AGAIN if failure.authorize_again else None
    row = refusals.PAYMENT_ANSWER_BAD if failure.is_unusable_answer else _BY_REACH[failure.reach]
    refusal = row(reason=f"{failure.detail}{named}", hint=hint)
    refusal.bank_seconds = failure.bank_seconds
    if failure.reach == "never":  # otherwise a retry is not safe
        refusal.retry_after = failure.retry_after
    return refusal
