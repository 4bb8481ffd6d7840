"""Calls to the payment provider. The outcome of a call is recorded during the request, or later in a scheduled run.

Before the provider is called, the call's record is written and added to the due index. The record remains in the index
until the outcome is written, in one transaction with the response to the request. If the request ends before the
outcome is written, a scheduled run queries the provider and writes the same outcome. The run retries the call only if a
retry has no second effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from chalicelib.cards.events.card_events import record_events
from chalicelib.cards.payments import direct_debits, provider_orders
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.pending_index import ASKING_SECONDS, DUE, due_members
from chalicelib.cards.payments.provider import Provider, ProviderSilent
from chalicelib.cards.payments.provider_orders import Reply, WaitingRecord
from chalicelib.cards.payments.serializers import change_events
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests import envelope
from chalicelib.cards.requests.envelope import IdempotencyClaim, Repeated, RequestReferences, Unanswered
from chalicelib.cards.requests.request_context import ProviderCall
from chalicelib.cards.storage.due_index import DueItems
from chalicelib.cards.storage.record import WriteStamp, proof_of
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation import context, log
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import Item, Operation, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome

PATIENCE_SECONDS = 10
"""The number of seconds during which conflicting writes are retried. Afterwards, the scheduled run takes over."""
_ATTEMPTS = 40
_UNANSWERED = (
    "the provider has not responded yet: repeat the request with the same request_reference_id; without one, check "
    "the balances before you send another request, because this one may still be carried out"
)


@dataclass(frozen=True, slots=True)
class _RetryUntil:
    """A retry policy for writing a reply. After ``until`` (Unix seconds), the scheduled run writes the reply."""

    record: WaitingRecord
    engine: Engine
    clock: Clock
    until: int

    def wait(self, number: int, _: Exception, __: Sequence[Operation]) -> None:
        if number + 1 >= _ATTEMPTS or self.clock.time() >= self.until:
            log.warning("outcome not recorded", kind=self.record.kind, id=self.record.id)
            raise Refused(Status.IN_PROGRESS, _UNANSWERED) from None
        self.engine.wait(min(number, 4))


def call_provider(record: WaitingRecord) -> ProviderCall:
    """Return the provider call for a record that waits for the provider."""
    return ProviderCall(ask_provider, record_reply, record)


def ask_provider(record: WaitingRecord, *, clock: Clock, payment_provider: Provider) -> Reply:
    """Call the provider and return the reply.

    Raises:
        Refused: the provider did not reply (8001). A scheduled run then completes the action.
    """
    try:
        return provider_orders.ask(record, payment_provider)
    except ProviderSilent:
        log.warning("provider did not respond", kind=record.kind, id=record.id)
    finally:
        context.leave_time(clock.monotonic)
    raise Refused(Status.IN_PROGRESS, _UNANSWERED)


def record_reply(
    record: WaitingRecord,
    reply: Reply,
    *,
    clock: Clock,
    engine: Engine,
    outbox: Outbox,
    programmes: Programmes,
    references: RequestReferences,
    sequences: Sequences,
    store: Store,
) -> str:
    """Write the provider's reply. Returns the response to the request.

    Raises:
        StoreError: storage did not respond.
        Refused: concurrent changes prevented the write (8001). The scheduled run then retries the write.
    """
    action, claim = record.asks, record.waiting_claim
    assert action is not None, "somebody has asked for it"
    keys = claim.keys if claim else []

    def decide(facts: Facts) -> Outcome[str]:
        current = facts.latest(type(record), record, record.place)
        assert current is not None, "what waits stays"
        if current.asks is None:  # somebody else has finished it
            facts.require(*keys)
            return Outcome(_stored_answer(facts, claim, references) or render_answer(action, current))
        stamp = WriteStamp(milliseconds(clock), new_id())
        finished = provider_orders.apply_reply(
            current, reply, stamp, programmes=programmes, sequences=sequences, store=store
        )
        answer = render_answer(action, finished.record)
        answering = [references.put_late_answer(claim, answer)] if claim else []
        return Outcome(
            answer,
            [*filter(facts.permits, answering), *finished.operations],
            record_events(current.manager_id, finished.events, outbox, programmes, stamp.now),
            proof=proof_of(finished.operations, stamp.write_id),
        )

    retry = _RetryUntil(record, engine, clock, clock.time() + PATIENCE_SECONDS)
    return engine.finish(engine.write(decide, Facts(watched=keys), retry))


def _stored_answer(facts: Facts, claim: IdempotencyClaim | None, references: RequestReferences) -> str | None:
    if claim is None:
        return None
    try:
        references.check_repeat(claim, facts)
    except Repeated as repeated:
        return repeated.answer
    except (Refused, Unanswered):  # so old that it is another request's
        return None
    return None


def render_answer(action: str, record: WaitingRecord) -> str:
    """Return the response to a request after the provider has replied."""
    try:
        return envelope.success(provider_orders.answer(record, action), {})
    except Refused as refusal:
        return envelope.error(refusal)


def finish_due_payments(
    until: float = math.inf,
    *,
    clock: Clock,
    engine: Engine,
    outbox: Outbox,
    metrics: Metrics,
    payment_provider: Provider,
    programmes: Programmes,
    references: RequestReferences,
    sequences: Sequences,
    store: Store,
) -> int:
    """Finish interrupted provider calls, and pay or reject direct debits at their cut-off.

    Returns the number of records that progressed, as ``DueItems.run`` does.
    """

    def finish(item: Item) -> bool:
        if item["part"] == ExternalAddress.kind:
            return resume(ExternalAddress.from_item(item))
        payment = ExternalPayment.from_item(item)
        return resume(payment) if payment.asks else pass_cut_off(payment)

    def resume(record: WaitingRecord) -> bool:
        """Finish an interrupted request, unless another process is already finishing the request. Raises: StoreError,
        Refused.
        """
        again = due_members(record.id, clock.time() + ASKING_SECONDS)
        if not engine.attempt(Outcome(None, [record.update(new_id(), **again)])):
            return False
        try:
            reply = provider_orders.ask_again(record, payment_provider)
        except ProviderSilent:
            log.warning("provider did not respond", kind=record.kind, id=record.id)
            return False
        record_reply(
            record.with_changes(**again),
            reply,
            clock=clock,
            engine=engine,
            outbox=outbox,
            programmes=programmes,
            references=references,
            sequences=sequences,
            store=store,
        )
        return True

    def pass_cut_off(payment: ExternalPayment) -> bool:
        """Pay or reject a direct debit at its cut-off. Raises: StoreError."""
        catalogue, stamp = programmes.catalogue(payment.manager_id), WriteStamp(milliseconds(clock), new_id())
        change = direct_debits.decide(payment, catalogue, store.batch_get, stamp, sequences=sequences)
        events = change_events(payment, change.payment)
        deliveries = record_events(payment.manager_id, events, outbox, programmes, stamp.now)
        return engine.attempt(Outcome(None, change.operations, deliveries))  # or the next run sees to it

    payments = DueItems(store, clock, metrics, DUE, "payment").run(finish, until)
    if payments:
        log.info("payments finished", payments=payments)
    return payments
