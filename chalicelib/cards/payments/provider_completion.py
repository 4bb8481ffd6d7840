"""Calls the provider and records the outcome: during the request, or later in a schedule.

Before the provider is called, its record is written and added to the due index. It stays there until the outcome is
written, in one transaction with the response to the request. If the request ends earlier, a scheduled run asks the
provider what happened, repeats the call only if that has no second effect, and writes the same outcome.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from chalicelib.cards.events.card_events import CardEvent, CardEvents
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.direct_debits import DirectDebits
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.pending_index import ASKING_SECONDS, DUE, PendingRecord, due_members
from chalicelib.cards.payments.provider import ProviderSilent
from chalicelib.cards.payments.serializers import change_events
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests import envelope
from chalicelib.cards.requests.references import IdempotencyClaim, Repeated, RequestReferences, Unanswered
from chalicelib.cards.storage.due_index import DueItems
from chalicelib.cards.storage.record import WriteStamp, proof_of
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import Busy, Conflict, Item, Operation, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome

W = TypeVar("W", bound=PendingRecord)

PATIENCE_SECONDS = 10
"""Seconds during which conflicting writes are retried; afterwards the schedule takes over."""
_ATTEMPTS = 40
_UNANSWERED = (
    "the provider has not responded yet: repeat the request with the same request_reference_id; without one, check "
    "the balances before you send another request, because this one may still be carried out"
)


@dataclass(frozen=True, slots=True)
class ProviderOutcome(Generic[W]):
    """The effects of a reply: the writes, the new record, and events."""

    operations: Sequence[Operation]
    record: W
    events: Sequence[CardEvent] = ()


class ProviderOrders(Protocol[W]):
    """The provider calls of one kind of record, and the effects of the replies."""

    def ask(self, record: W, /) -> Any:
        """Call the provider. Returns its reply. Raises: ProviderSilent."""

    def ask_again(self, record: W, /) -> Any:
        """The reply after an earlier call may not have been made, or its reply was lost. Raises: ProviderSilent."""

    def outcome(self, record: W, reply: Any, stamp: WriteStamp, /) -> ProviderOutcome[W]:
        """The effects of the reply. Raises: StoreError."""

    def answer(self, record: W, action: str, /) -> Any:
        """The response data of ``action``, once the outcome is written. Raises: Refused."""


@dataclass(frozen=True, slots=True)
class _Pace:
    """Outcomes are written until a time in Unix seconds; then the schedule takes over."""

    engine: Engine
    clock: Clock
    until: int

    def wait(self, number: int, _: Exception, __: Sequence[Operation]) -> None:
        if number + 1 >= _ATTEMPTS or self.clock.time() >= self.until:
            raise Conflict("concurrent changes prevented writing an outcome") from None
        self.engine.wait(min(number, 4))


@dataclass(frozen=True, slots=True)
class ProviderCompletion:
    """Completes records that wait for the provider."""

    clock: Clock
    references: RequestReferences
    events: CardEvents
    engine: Engine

    def answer(self, orders: ProviderOrders[W], record: W) -> str:
        """The response to the request that has just written ``record``. Raises: Refused, StoreError.

        Code 8001 means that the provider has not responded, or that concurrent changes prevented the write: the
        schedule will finish it.
        """
        try:
            return self._write_outcome(orders, record, orders.ask(record))
        except ProviderSilent:
            log.warning("provider did not respond", kind=record.kind, id=record.id)
        except Busy:
            log.warning("outcome not recorded", kind=record.kind, id=record.id)
        raise Refused(Status.IN_PROGRESS, _UNANSWERED)

    def resume(self, orders: ProviderOrders[W], record: W) -> bool:
        """Finish an interrupted request, unless another process does. Returns whether it was finished.

        Raises: StoreError.
        """
        again = due_members(record.id, self.clock.time() + ASKING_SECONDS)
        if not self.engine.attempt(Outcome(None, [record.update(new_id(), **again)])):
            return False
        try:
            reply = orders.ask_again(record)
        except ProviderSilent:
            log.warning("provider did not respond", kind=record.kind, id=record.id)
            return False
        self._write_outcome(orders, record.with_changes(**again), reply)
        return True

    def _write_outcome(self, orders: ProviderOrders[W], record: W, reply: Any) -> str:
        """Write the provider's reply. Returns the response to the request. Raises: StoreError."""
        action, claim = record.asks, record.waiting_claim
        assert action is not None, "somebody has asked for it"
        keys = self.references.keys(claim) if claim else []

        def decide(facts: Facts) -> Outcome[str]:
            current = facts.known(type(record), record, record.place)
            assert current is not None, "what waits stays"
            if current.asks is None:  # somebody else has finished it
                facts.require(*keys)
                return Outcome(self._kept_answer(facts, claim) or _render_answer(orders, action, current))
            stamp = WriteStamp(milliseconds(self.clock), new_id())
            finished = orders.outcome(current, reply, stamp)
            answer = _render_answer(orders, action, finished.record)
            answering = [self.references.put_late_answer(claim, answer)] if claim else []
            return Outcome(
                answer,
                [*filter(facts.permits, answering), *finished.operations],
                self.events.record(current.manager_id, finished.events),
                proof=proof_of(finished.operations, stamp.write_id),
            )

        pace = _Pace(self.engine, self.clock, self.clock.time() + PATIENCE_SECONDS)
        return self.engine.finish(self.engine.write(decide, Facts(watched=keys), pace))

    def _kept_answer(self, facts: Facts, claim: IdempotencyClaim | None) -> str | None:
        """The response as stored for repeated requests with the same reference."""
        if claim is None:
            return None
        try:
            items = [facts.item(key) for key in self.references.keys(claim)]
            self.references.check_repeat(claim, items, self.clock.time())
        except Repeated as repeated:
            return repeated.answer
        except (Refused, Unanswered):  # so old that it is another request's
            return None
        return None


def _render_answer(orders: ProviderOrders[W], action: str, record: W) -> str:
    """The response to a request, once the provider has replied."""
    try:
        return envelope.success(orders.answer(record, action), {})
    except Refused as refusal:
        return envelope.error(refusal)


@dataclass(frozen=True, slots=True)
class ProviderRecovery:
    store: Store
    clock: Clock
    metrics: Metrics
    programmes: Programmes
    completion: ProviderCompletion
    payment_orders: ProviderOrders[ExternalPayment]
    addresses: ProviderOrders[ExternalAddress]
    debits: DirectDebits
    events: CardEvents
    engine: Engine

    def finish(self, until: float = math.inf) -> int:
        """Handle all due records. Returns the number that progressed, as ``DueItems.run`` does."""
        payments = DueItems(self.store, self.clock, self.metrics, DUE, "payment").run(self._finish, until)
        if payments:
            log.info("payments finished", payments=payments)
        return payments

    def _finish(self, item: Item) -> bool:
        if item["part"] == ExternalAddress.kind:
            return self.completion.resume(self.addresses, ExternalAddress.from_item(item))
        payment = ExternalPayment.from_item(item)
        return self.completion.resume(self.payment_orders, payment) if payment.asks else self._pass_cut_off(payment)

    def _pass_cut_off(self, payment: ExternalPayment) -> bool:
        """Pay or reject a direct debit at its cut-off. Raises: StoreError."""
        catalogue = self.programmes.catalogue(payment.manager_id)
        stamp = WriteStamp(milliseconds(self.clock), new_id())
        change = self.debits.decide(payment, catalogue, self.store.batch_get, stamp)
        told = self.events.record(payment.manager_id, change_events(payment, change.payment))
        return self.engine.attempt(Outcome(None, change.operations, told))  # or the next run sees to it
