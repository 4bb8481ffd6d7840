"""Payments that come in: credited, or bounced where address, account, limits or exchange rates are in their way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chalicelib.cards.ledger.entries import Movement
from chalicelib.cards.ledger.posting_context import PostingContext
from chalicelib.cards.ledger.usage_counters import CounterChanges
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_posting import Change, PaymentPosting, amounts
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.protocol.payment_states import REJECTED, SETTLED
from chalicelib.cards.protocol.states import CREDITED_ACCOUNT
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import EXTERNAL_IN
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.foundation.dynamodb.store import Operation


def credit(
    payment: ExternalPayment, address: ExternalAddress, party: PostingContext, now: int, tally: CounterChanges
) -> ExternalPayment:
    """A payment with what it comes to on the account, counted in its limits. Raises: Refused, when it is not taken."""
    if not address.is_live:
        raise Refused(Status.WRONG_STATE, "the address is not active")
    if party.account.status not in CREDITED_ACCOUNT:
        raise Refused(Status.ACCOUNT_STATUS)
    facts = party.facts(EXTERNAL_IN, payment.instructed_currency, payment.country)
    charge = party.charge(facts, payment.instructed_amount, debit=False)
    usage = party.count(facts, payment.instructed_amount, now, tally)
    return replace(payment, state=SETTLED, counted=usage or None, **amounts(charge))


@dataclass(frozen=True, slots=True)
class IncomingPayments:
    """Takes what other banks send."""

    posting: PaymentPosting

    def receive(
        self, payment: ExternalPayment, address: ExternalAddress, party: PostingContext, stamp: WriteStamp
    ) -> Change:
        """Credit a payment that is new here, or bounce it."""
        tally = CounterChanges()
        as_read: list[Operation] = [address.check_unchanged()]
        try:
            payment = credit(payment, address, party, stamp.at // 1000, tally)
        except Refused as refusal:
            payment = replace(payment, state=REJECTED, reason=refusal.message)
            as_read.append(party.account.check_unchanged())
            return Change([payment.put(stamp.write_id), *as_read], payment, party.account)
        movement = Movement("payment in", stamp.at, stamp.write_id, tally, epm_transaction_id=payment.id)
        movement.list_by_card(*party.card_counters)
        payment = replace(payment, transaction_id=self.posting.enter(movement, party.account, payment))
        operations = [payment.put(stamp.write_id), *as_read, *movement.operations()]
        return Change(operations, payment, movement.account_after(party.account))
