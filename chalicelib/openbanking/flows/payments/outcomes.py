"""Payment orders and payments whose outcome is unknown.

The outcome of a payment is unknown if the bank's response contained a payment id but was otherwise unusable. A status
from the bank resolves this payment. The operator can list orders whose outcome is unknown, and record the outcome that
the bank has confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Operation, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.requests.claims import claim_key
from chalicelib.foundation.requests.engine import Engine, try_to
from chalicelib.foundation.requests.facts import Facts, Key
from chalicelib.foundation.requests.outcome import Outcome, Proof
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.flows.tpp_events import TppEvents, record_status_changed
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID, is_payment_id
from chalicelib.openbanking.protocol.bics import spellings
from chalicelib.openbanking.protocol.payment_enumerations import OrderOutcome
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.orders import UNRESOLVED, Orders, RecordedOrder, order_key
from chalicelib.openbanking.records.payments import Payment, Payments, PaymentStatusReport, is_early, payment_key
from chalicelib.openbanking.unified.calls import INITIATIONS

"""The kind of payment of each call, by path."""
_BATCH = 100


def resolve_payment(
    payment: Payment,
    neutral: str,
    *,
    alongside: Sequence[Operation] = (),
    clock: Clock,
    payments: Payments,
    orders: Orders,
    tpp_events: TppEvents,
    engine: Engine,
) -> None:
    """Record the result of a status query for a payment whose outcome is unknown.

    The TPP's event and the writes in ``alongside`` are part of the same transaction. ``neutral`` is the neutral form of
    the status. A payment whose outcome is already known does not change. Raises: StoreError.
    """
    key = payment_key(payment.bic, payment.payment_id)

    def decide(facts: Facts) -> Outcome[None]:
        before = facts.latest(Payment, payment, key)
        if before is None or before.outcome is None or before.outcome != payment.outcome:
            return Outcome(None)
        after = before.with_report(PaymentStatusReport(before.version.statuses.write(neutral), clock.time()))
        members = {"bic": after.bic, "payment_id": after.payment_id, "status": after.status}
        return Outcome(
            None,
            write_status(facts, before, after, payments, orders),
            record_status_changed(tpp_events, facts.find(Client, client_key(after.client_id)), after),
            report=lambda: log.info("payment outcome resolved", **members),
        )

    engine.carry_out(decide, alongside=alongside)


def resolve_by_answer(payment: Payment, answer: BankAnswer, *, call: Call) -> None:
    """Record a bank's response to a query about a payment with an unknown outcome. If recording fails, the next query
    retries.
    """
    neutral = queried_status(payment, answer)
    if payment.outcome is None or neutral is None:
        return
    resolve = partial(call, resolve_payment, payment, neutral)
    try_to(resolve, "payment outcome not resolved", bic=payment.bic, payment_id=payment.payment_id)


def write_status(facts: Facts, before: Payment, after: Payment, payments: Payments, orders: Orders) -> list[Operation]:
    """Return the write operations that replace a payment.

    If the writes resolve an outcome, they also update the order, unless another order now has the id or the order has
    expired.
    """
    update = payments.update_payment(before, after)
    if before.outcome is None or after.outcome is not None:
        return [update]
    accepted = orders.update_accepted(order_key(before.bic, before.request_id), before.order_digest, before.payment_id)
    return [update, accepted] if facts.permits(accepted) else [update]


def queried_status(payment: Payment, answer: BankAnswer) -> str | None:
    """Return the neutral form of the status in a query's response, or ``None`` if the version does not define this
    status.
    """
    return payment.version.statuses.read(answer.body[payment.version.status_member])


class NotResolved(Exception):
    """An order cannot be resolved. The message gives the reason."""


def list_unresolved(limit: int, *, store: Store, clock: Clock) -> list[RecordedOrder]:
    """Return at most ``limit`` orders that are no longer being sent and whose outcome is unknown, oldest first."""
    rows = UNRESOLVED.rows(store, until=clock.time(), limit=limit)
    batches = [store.batch_get([claim_key(row["claim"]) for row in piece]) for piece in pieces(rows, _BATCH)]
    orders = [RecordedOrder.from_item(item) for batch in batches for item in batch if item]
    return [order for order in orders if order is not None and order.unresolved_at is not None]


def record_accepted(
    bic: str,
    request_id: str,
    payment_id: str,
    *,
    clock: Clock,
    payments: Payments,
    orders: Orders,
    tpp_events: TppEvents,
    engine: Engine,
) -> None:
    """Record that the bank has the payment, under ``payment_id``, and send the TPP an event with its status.

    Later queries and reports find the payment.

    Raises:
        NotResolved.
    """

    def decide(facts: Facts) -> Outcome[None]:
        found = _require_unresolved(facts, bic, request_id, clock.time())
        if not is_payment_id(payment_id):
            raise NotResolved(f"a payment_id has 1 to {LONGEST_PAYMENT_ID} printable characters")
        if found.payment_id not in (None, payment_id):
            raise NotResolved(f"the bank named this payment {found.payment_id}")
        key, of_client = payment_key(found.order.bic, payment_id), client_key(found.order.client_id)
        facts.require(key, of_client)
        write, payment = write_payment_of_order(found, payment_id, facts.item(key), payments)
        event = record_status_changed(tpp_events, facts.find(Client, of_client), payment)
        return replace(_resolve(found, "accepted", [write], orders, payment_id), deliveries=event)

    engine.carry_out(decide, engine.read(_order_keys(bic, request_id)))


def record_not_accepted(
    bic: str, request_id: str, *, clock: Clock, payments: Payments, orders: Orders, engine: Engine
) -> None:
    """Record that the bank does not have the payment. Raises: NotResolved."""

    def decide(facts: Facts) -> Outcome[None]:
        found = _require_unresolved(facts, bic, request_id, clock.time())
        return _resolve(found, "not_accepted", _write_named_payment(facts, found, payments), orders)

    engine.carry_out(decide, engine.read(_order_keys(bic, request_id)))


def _require_unresolved(facts: Facts, bic: str, request_id: str, now: int) -> RecordedOrder:
    items = [facts.item(key) for key in _order_keys(bic, request_id)]
    orders = [RecordedOrder.from_item(item) for item in items if item]
    found = next((order for order in orders if order is not None and order.unresolved_at is not None), None)
    if found is None:
        raise NotResolved(f"{bic} has no order {request_id} with an unknown outcome")
    if (found.unresolved_at or 0) > now:
        raise NotResolved("the order is still being sent: try again in a few minutes")
    return found


def write_payment_of_order(
    found: RecordedOrder, payment_id: str, item: Item | None, payments: Payments
) -> tuple[Operation, Payment]:
    """Return the write operation of the payment that the bank created for an order, with early reports, and the
    resulting payment.

    Raises:
        NotResolved: the payment belongs to another order.
    """
    order, version = found.order, VERSIONS[found.order.api_version]
    new = payments.new(
        order.bic,
        payment_id,
        api_version=order.api_version,
        kind=INITIATIONS[order.path].kind,
        client_id=order.client_id,
        consent_id=order.consent_id,
        request_id=order.request_id,
        order_digest=order.order_digest,
        status=version.statuses.first,
    )
    if item is None or is_early(item):
        creation = payments.put_payment(new, item)
        return creation, Payment.from_item(creation.item)
    before = Payment.from_item(item)
    if not before.is_of_one_order_with(new):
        raise NotResolved(f"the payment {payment_id} belongs to another order")
    after = replace(before, outcome=None)
    return payments.update_payment(before, after), after


def _write_named_payment(facts: Facts, found: RecordedOrder, payments: Payments) -> list[Operation]:
    """Return the write operation for a payment that the bank named but does not have. Raises: NotResolved, if the
    payment has a status.
    """
    item = facts.item(payment_key(found.order.bic, found.payment_id)) if found.payment_id else None
    if item is None:
        return []
    before = Payment.from_item(item)
    if before.outcome is None:
        raise NotResolved(f"the bank has given the payment {before.payment_id} the status {before.status}")
    return [payments.update_payment(before, replace(before, outcome="not_accepted"))]


def _resolve(
    found: RecordedOrder,
    outcome: OrderOutcome,
    writes: Sequence[Operation],
    orders: Orders,
    payment_id: str | None = None,
) -> Outcome[None]:
    update, attempt = orders.update_resolved(found, outcome, payment_id), new_id()
    update = replace(update, set={**update.set, "resolved_by": attempt})
    members = {"bic": found.order.bic, "order": found.order.request_id, "outcome": outcome}
    proof = Proof([found.order.key], lambda item: item.get("resolved_by") == attempt)
    return Outcome(None, [update, *writes], proof=proof, report=lambda: log.audit("order resolved", **members))


def _order_keys(bic: str, request_id: str) -> list[Key]:
    """Return the keys under which an order may be stored."""
    return [order_key(spelling, request_id) for spelling in spellings(bic)]
