"""Asks the provider, and writes down what came of it: by the request that wants it, or later by a schedule.

What is to be asked was written before: the payment waits in the index of due times until its outcome is written, in one
transaction with the answer to the request. When that request does not come so far, a run of the schedule looks whether
the provider knows the payment, has it carried out only if not, and writes the same outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from chalicelib.cards import envelope
from chalicelib.cards.external.booking import Booking, Moment
from chalicelib.cards.external.parties import Party, Place
from chalicelib.cards.external.payments import (
    ANSWERED,
    ASKING_SECONDS,
    ExternalPayment,
    due,
)
from chalicelib.cards.external.provider import BankAccount, Order, Provider, ProviderSilent, Receipt
from chalicelib.cards.external.shown import payment_shown
from chalicelib.cards.idempotency import References
from chalicelib.cards.programmes import Programmes
from chalicelib.cards.protocol.actions import ACTIONS
from chalicelib.cards.protocol.payment_states import REJECTED, RETURNED
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.store import ConditionFailed, Conflict, Operation, Store

_ATTEMPTS = 40
PATIENCE_SECONDS = 10
"""So long an outcome is decided anew while others change what it stands on; later the schedule does it."""


@dataclass(frozen=True, slots=True)
class Finishing:
    """Carries payments to the provider's answer and beyond."""

    store: Store
    clock: Clock
    programmes: Programmes
    references: References
    provider: Provider
    booking: Booking

    def answer(self, payment: ExternalPayment) -> str:
        """The answer to the request that has just written ``payment``. Raises: Refused, StoreError.

        8001 means that the provider has not answered, or others were in the way: the schedule will finish it.
        """
        try:
            receipt = self.provider.submit(_order(payment))
        except ProviderSilent:
            log.warning("provider was silent", payment=payment.id)
            raise Refused(Status.IN_PROGRESS) from None
        try:
            return self.finish(payment, receipt)
        except Conflict:
            raise Refused(Status.IN_PROGRESS) from None

    def resume(self, payment: ExternalPayment) -> bool:
        """Finish a payment that its request has left; whether that was possible, and it was not being done elsewhere.

        Raises: StoreError.
        """
        again = due(payment.id, self.clock.time() + ASKING_SECONDS)
        try:
            self.store.transact([payment.changing(new_id(), **again)])
        except ConditionFailed:
            return False
        taken = replace(payment, version=payment.version + 1, **again)
        try:
            receipt = self.provider.find(payment.id) or self.provider.submit(_order(payment))
        except ProviderSilent:
            log.warning("provider was silent", payment=payment.id)
            return False
        self.finish(taken, receipt)
        return True

    def finish(self, payment: ExternalPayment, receipt: Receipt) -> str:
        """Write what the provider answered; the answer to the request. Raises: Conflict, StoreError."""
        action, deadline = payment.asks, self.clock.time() + PATIENCE_SECONDS
        assert action is not None, "somebody has asked for it"
        for attempt in count():
            moment = Moment(milliseconds(self.clock), new_id())
            operations, after = self._outcome(payment, receipt, moment)
            answer = _answer(action, after)
            claim = payment.waiting_claim
            answering = [self.references.answering(claim, answer, moment.at // 1000)] if claim else []
            try:
                self.store.transact([*operations, *answering])
                return answer
            except (ConditionFailed, Conflict):
                if attempt + 1 >= _ATTEMPTS or self.clock.time() >= deadline:
                    raise Conflict("others were in the way of a payment's outcome") from None
                self.store.wait(min(attempt, 4))
            payment = self._read(payment.id)
            if payment.asks is None:
                return _answer(action, payment)
        raise AssertionError("unreachable")

    # -- inside

    def _read(self, number: int) -> ExternalPayment:
        item = self.store.get(*ExternalPayment.key(number))
        assert item is not None, "payments stay"
        return ExternalPayment.from_item(item)

    def _outcome(
        self, payment: ExternalPayment, receipt: Receipt, moment: Moment
    ) -> tuple[Sequence[Operation], ExternalPayment]:
        """The writes that follow from a receipt, and the payment as it stands after them."""
        known: dict[str, Any] = {"provider_reference": receipt.reference, "scheme": receipt.scheme or payment.scheme}
        was_reported = not payment.is_pending  # settled or rejected, before the answer came
        if was_reported or (payment.payment == "out" and receipt.accepted):
            members = known | ANSWERED
            after = replace(payment, version=payment.version + 1, **members)
            return [payment.changing(moment.write_id, **members)], after
        party, original = self._concerned(payment)
        if receipt.accepted:
            change = self.booking.settle(payment, party, moment, **known, **ANSWERED)
            of_original: dict[str, Any] = {"state": RETURNED}
        else:
            change = self.booking.reject(payment, party, moment, reason=receipt.reason, **ANSWERED)
            of_original = {"returned_by": None}
        with_original = [original.changing(moment.write_id, **of_original)] if original else []
        return [*change.operations, *with_original], change.payment

    def _concerned(self, payment: ExternalPayment) -> tuple[Party, ExternalPayment | None]:
        """The party of a payment, and the payment that it sends back, if it does."""
        place = Place.of(payment)
        others = [ExternalPayment.key(payment.returns)] if payment.returns is not None else []
        items = self.store.batch_get([*others, *place.keys])
        original = ExternalPayment.from_item(items[0]) if others and items[0] else None
        return place.party(self.programmes.catalogue(payment.manager_id), items[len(others) :]), original


def _order(payment: ExternalPayment) -> Order:
    """What the provider is asked for."""
    to = payment.destination or {}
    return Order(
        payment_id=payment.id,
        kind="return" if payment.payment == "return" else "payment",
        method=payment.method,
        currency=payment.instructed_currency,
        amount=payment.instructed_amount,
        schemes=tuple(payment.schemes or ()),
        destination=BankAccount(
            to.get("account_name", ""), to.get("account_number"), to.get("sort_code"), to.get("iban"), to.get("bic")
        ),
        reference=payment.reference,
        original_reference=payment.original_reference,
    )


def _answer(action: str, payment: ExternalPayment) -> str:
    """What a request is answered with, once the provider has answered."""
    if payment.state == REJECTED:
        return envelope.error(refused_by_provider(payment.reason))
    row = ACTIONS[action]
    shown = payment_shown(payment, with_destination=payment.payment == "out") if row.answer else ()
    return envelope.success(row, shown, {})


def refused_by_provider(reason: str | None) -> Refused:
    """The provider's own words are for whoever may read its answers: they name nobody."""
    return Refused(Status.PROVIDER_REFUSED, f"{Status.PROVIDER_REFUSED.meaning}: {reason}" if reason else "")
