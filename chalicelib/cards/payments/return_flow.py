"""Returns of incoming payments and direct debits (specification, External payment operations).

The whole amount of a payment is returned. A payment is returned only once, because the first return marks the payment.
"""

from __future__ import annotations

from dataclasses import replace

from chalicelib.cards.ledger.charges import Charge, PostingContext
from chalicelib.cards.ledger.entries import Movement
from chalicelib.cards.payments import payment_posting
from chalicelib.cards.payments.account_ref import AccountRef
from chalicelib.cards.payments.payment_posting import charge_members
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.pending_index import waiting_members
from chalicelib.cards.payments.provider_completion import call_provider
from chalicelib.cards.payments.serializers import payment_event, refused_by_provider, serialize_payment
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.payment_messages import (
    DirectCreditReturn,
    DirectDebitReturn,
    InboundReturn,
    TransferRecord,
)
from chalicelib.cards.protocol.payment_states import PENDING, RETURNED, SETTLED
from chalicelib.cards.protocol.schemes import DIRECT_CREDITS, RETURNS_WITH_REASON
from chalicelib.cards.protocol.states import CLOSED
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import RETURN_TYPES
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import without_none
from chalicelib.cards.storage.sequences import Sequences

Side = tuple[ExternalPayment, PostingContext]
"""A payment as stored for the payer or the payee, together with the records of the payer or the payee."""


def inbound_return(
    request: InboundReturn, context: RequestContext, *, programmes: Programmes, sequences: Sequences
) -> ActionOutcome[TransferRecord]:
    """The action returns a settled inbound payment. BACS payments are refused with 4008. A return covers the whole
    amount, and a payment can be returned only once (4004). A refusal by the provider is returned as 7001. Until the
    provider responds, the action returns 8001.
    """
    original = context.find(ExternalPayment, request.epm_transaction_id)
    if request.reason is None and original.scheme in RETURNS_WITH_REASON:
        raise refused_field("reason", "required", f"is required for {original.scheme}")
    return _send_back(context, original, request.reason, request.reference, programmes=programmes, sequences=sequences)


def direct_credit_return(
    request: DirectCreditReturn, context: RequestContext, *, programmes: Programmes, sequences: Sequences
) -> ActionOutcome[None]:
    """Returns a settled inbound BACS payment. Other payments are refused with 4008. A return covers the whole amount,
    and a payment can be returned only once (4004). A refusal by the provider is returned as 7001. Until the provider
    responds, the action returns 8001.
    """
    original = context.find(ExternalPayment, request.epm_transaction_id)
    returned = _send_back(
        context,
        original,
        request.return_reason_id,
        request.reference,
        direct_credit=True,
        programmes=programmes,
        sequences=sequences,
    )
    return _without_data(returned)


def direct_debit_return(
    request: DirectDebitReturn, context: RequestContext, *, programmes: Programmes, sequences: Sequences
) -> ActionOutcome[None]:
    """Returns a paid direct debit, regardless of the account's status. A return covers the whole amount, and a payment
    can be returned only once (4004). A refusal by the provider is returned as 7001. Until the provider responds, the
    action returns 8001.
    """
    original = context.find(ExternalPayment, request.returned_epm_transaction_id)
    return _without_data(
        _send_back(context, original, request.reason, request.reference, programmes=programmes, sequences=sequences)
    )


def _send_back(
    context: RequestContext,
    original: ExternalPayment,
    reason: str | int | None,
    reference: str | None,
    *,
    direct_credit: bool = False,
    programmes: Programmes,
    sequences: Sequences,
) -> ActionOutcome[TransferRecord]:
    """Request that the provider returns a payment. Hold the amount on the account until the payment is returned.
    Raises: Refused.
    """
    party, sender = _read_parties(context, original, programmes)
    original.require(context.action)
    if original.payment == "in" and (original.scheme in DIRECT_CREDITS) != direct_credit:
        raise Refused(Status.WRONG_STATE, "payments of this scheme are returned with another action")
    party.account.require(context.action)
    charge = original.charge_details.reversal
    if charge.debit:
        party.require_funds(charge.total)
    payment = _new_return(context, original, charge, None if reason is None else str(reason), reference, sequences)
    if sender is not None:
        return _return_at_home(context, payment, (original, party), sender, sequences)
    waiting = waiting_members(payment.id, context.action, context.claim, context.now)
    payment = replace(payment, held=charge.total if charge.debit else 0, **waiting)
    movement = Movement("return held", context.at, context.write_id, epm_transaction_id=payment.id)
    movement.hold(party.account, payment.held)
    operations = [
        payment.put(context.write_id),
        original.update(context.write_id, returned_by=payment.id),
        *(movement.operations() if payment.held else []),
    ]
    return ActionOutcome(operations=operations, provider_call=call_provider(payment), events=[payment_event(payment)])


def _read_parties(
    context: RequestContext, original: ExternalPayment, programmes: Programmes
) -> tuple[PostingContext, Side | None]:
    """Read the records of the account that returns the payment. If this service also stores the other party's records,
    read those records too.
    """
    account_ref, sender = AccountRef.of(original), None
    keys, count = account_ref.keys, len(account_ref.keys)
    if original.counterpart is not None:
        sender = AccountRef(**original.other_side or {})
        keys = [*keys, ExternalPayment.key(original.counterpart), *sender.keys]
    items = context.items(keys)
    party = account_ref.posting_context(context.catalogue, items[:count])
    if sender is None:
        return party, None
    sent, *rest = items[count:]
    assert sent is not None, "payments stay"
    payer = sender.posting_context(programmes.catalogue(sender.manager_id), rest)
    return party, (ExternalPayment.from_item(sent), payer)


def _new_return(
    context: RequestContext,
    original: ExternalPayment,
    charge: Charge,
    reason: str | None,
    reference: str | None,
    sequences: Sequences,
) -> ExternalPayment:
    number = sequences.next("external_payment")
    return replace(
        original,
        id=number,
        version=1,
        payment="return",
        state=PENDING,
        transaction_type=RETURN_TYPES[charge.direction],
        created_at=context.now,
        counted=None,
        source=original.destination if original.payment == "in" else original.source,
        destination=original.source if original.payment == "in" else original.destination,
        schemes=None,
        reference=reference,
        details=without_none({"description": original.remittance}) or None,
        provider_reference=None,
        original_reference=original.provider_reference,
        transaction_id=None,
        returns=original.id,
        counterpart=None,
        other_side=None,
        cut_off=None,
        reason=reason,
        **charge_members(charge),
    )


def _return_at_home(
    context: RequestContext, payment: ExternalPayment, receiver: Side, sender: Side, sequences: Sequences
) -> ActionOutcome[TransferRecord]:
    """Return a payment to another address of this service. One transaction changes both accounts. Raises: Refused."""
    (came, payee), (sent, payer) = receiver, sender
    if payer.account.status == CLOSED:
        raise refused_by_provider("the paying account is closed")
    movement = Movement("payment returned at home", context.at, context.write_id, epm_transaction_id=payment.id)
    movement.list_by_card(*payee.card_counters, *payer.card_counters)
    number = payment_posting.enter(movement, payee.account, payment, original=came, sequences=sequences)
    payment = replace(payment, transaction_id=number, state=SETTLED)
    back = payment_posting.enter(movement, payer.account, sent, original=sent, sequences=sequences)
    of_came = {"state": RETURNED, "returned_by": payment.id}
    of_sent = {"state": RETURNED, "return_transaction_id": back}
    operations = [
        payment.put(context.write_id),
        came.update(context.write_id, **of_came),
        sent.update(context.write_id, **of_sent),
        *movement.operations(),
    ]
    events = [payment_event(each) for each in (payment, came.with_changes(**of_came), sent.with_changes(**of_sent))]
    return ActionOutcome(serialize_payment(payment), operations, events=events)


def _without_data(outcome: ActionOutcome[TransferRecord]) -> ActionOutcome[None]:
    return ActionOutcome(None, outcome.operations, provider_call=outcome.provider_call, events=outcome.events)
