"""Direct debits: creditors announce direct debits, which are paid or rejected at their cut-off.

Programme managers cancel mandates and reject direct debits (specification, External payment operations).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chalicelib.cards.ledger.charges import PostingContext
from chalicelib.cards.ledger.usage_counters import CounterChanges
from chalicelib.cards.payments import payment_posting
from chalicelib.cards.payments.account_ref import AccountRef
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_posting import PaymentUpdate, count_payment
from chalicelib.cards.payments.payment_record import ExternalPayment, Mandate
from chalicelib.cards.payments.pending_index import due_members
from chalicelib.cards.payments.serializers import mandate_event
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.protocol.payment_messages import CancelExternalPaymentMandate, ChangeDDExternalPaymentStatus
from chalicelib.cards.protocol.payment_states import CANCELLED, REJECTED
from chalicelib.cards.protocol.states import PAYING_ACCOUNT
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import CUT_OFF_SECONDS, NO
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.requests.facts import Key

_CANCELLED = "the mandate is cancelled"

Read = Callable[[list[Key]], list[Item | None]]


def cancel_external_payment_mandate(
    request: CancelExternalPaymentMandate, context: RequestContext
) -> ActionOutcome[None]:
    """Pending and later collections under the mandate are rejected. A mandate that is already cancelled is refused with
    4005.
    """
    mandate = context.find(Mandate, request.epm_mandate_id)
    mandate.require(context.action)
    members = {"state": CANCELLED, "reason": request.reason}
    events = [mandate_event(mandate.with_changes(**members))]
    return ActionOutcome(operations=[mandate.update(context.write_id, **members)], events=events)


def change_dd_external_payment_status(
    request: ChangeDDExternalPaymentStatus, context: RequestContext
) -> ActionOutcome[None]:
    """The action can be called repeatedly until the cut-off. After the cut-off, the action is refused with 4008. The
    last call takes effect. Without a call, the direct debit is paid.
    """
    payment = context.find(ExternalPayment, request.epm_transaction_id)
    payment.require(context.action)
    if payment.cut_off is None or context.now >= payment.cut_off:
        raise Refused(Status.WRONG_STATE, "the cut-off has passed")
    reason = str(request.reason) if request.should_pay == NO else None
    return ActionOutcome(operations=[payment.update(context.write_id, should_pay=request.should_pay, reason=reason)])


def announce(payment: ExternalPayment, mandate: Mandate) -> ExternalPayment:
    """Create a direct debit, which is pending until its cut-off. If the mandate is cancelled, reject the direct debit
    immediately.
    """
    cut_off = payment.created_at + CUT_OFF_SECONDS
    payment = replace(payment, mandate_id=mandate.id, reference=mandate.reference, cut_off=cut_off)
    if mandate.is_live:
        return replace(payment, **due_members(payment.id, cut_off))
    return replace(payment, state=REJECTED, reason=_CANCELLED)


def decide(
    payment: ExternalPayment, catalogue: Catalogue, read: Read, stamp: WriteStamp, *, sequences: Sequences
) -> PaymentUpdate:
    assert payment.mandate_id is not None, "a direct debit has a mandate"
    account_ref = AccountRef.of(payment)
    mandate_item, address_item, *items = read(
        [Mandate.key(payment.mandate_id), ExternalAddress.key(payment.address_id), *account_ref.keys]
    )
    assert mandate_item is not None and address_item is not None, "mandates and addresses stay"
    party = account_ref.posting_context(catalogue, items)
    mandate, address = Mandate.from_item(mandate_item), ExternalAddress.from_item(address_item)
    obstacle = _obstacle(payment, mandate, address, party)
    if obstacle is not None:
        return payment_posting.reject(payment, party, stamp, reason=obstacle)
    tally = CounterChanges()
    try:
        members = count_payment(payment, party, stamp.now, tally, debit=True)
    except Refused as refusal:
        return payment_posting.reject(payment, party, stamp, reason=refusal.message)
    change = payment_posting.settle(replace(payment, **members), party, stamp, tally, **members, sequences=sequences)
    return replace(change, operations=[*change.operations, mandate.check_unchanged(), address.check_unchanged()])


def _obstacle(
    payment: ExternalPayment, mandate: Mandate, address: ExternalAddress, party: PostingContext
) -> str | None:
    """Return the reason to reject a direct debit regardless of its amount, or ``None``."""
    if not payment.should_pay:
        return payment.reason or "the payment was declined"
    if not mandate.is_live:
        return _CANCELLED
    if not address.is_live:
        return "the address is not active"
    return None if party.account.status in PAYING_ACCOUNT else "the account's status does not allow payments"
