"""The sandbox's simulator of external payments. It simulates other banks, creditors and the provider."""

from __future__ import annotations

from typing import Any

from chalicelib.cards.ledger.charges import PostingContext
from chalicelib.cards.payments import direct_debits, payment_posting
from chalicelib.cards.payments.account_ref import AccountRef
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_posting import PaymentUpdate
from chalicelib.cards.payments.payment_record import ExternalPayment, Mandate, address_members, instructed_members
from chalicelib.cards.payments.serializers import bank_account, change_events, mandate_event, payment_event
from chalicelib.cards.protocol import simulator_messages as messages
from chalicelib.cards.protocol.payment_states import PENDING, REJECTED, RETURNED
from chalicelib.cards.protocol.schemes import SCHEMES
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import DIRECT_DEBIT, EXTERNAL_IN
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import WriteStamp, without_none
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation

_FIRST_REFERENCE = 8_000_000_000
"""The provider's first reference for payments from other banks."""


def simulate_inbound_payment(
    request: messages.SimulateInboundPayment, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[messages.InboundPayment]:
    """The scheme must belong to the address's method (2005), and the currency must be the address's currency (5003). If
    the address, the account or limits prevent the payment, the payment is bounced, and the action succeeds with
    ``state`` J.
    """
    address = context.find(ExternalAddress, request.epm_address_id)
    if request.scheme not in SCHEMES[address.method]:
        raise refused_field("scheme", "value", "is not a scheme of the address's method")
    if request.currency_ison != address.currency:
        raise Refused(Status.CURRENCY_NOT_SUPPORTED, "the address accepts only its own currency")
    party = _posting_context(context, address)
    payment = ExternalPayment(
        payment="in",
        transaction_type=EXTERNAL_IN,
        source={"account_name": request.sender_name},
        destination=bank_account(address),
        scheme=request.scheme,
        reference=request.reference,
        **_inbound_members(context, address, request.amount, sequences),
    )
    change = payment_posting.receive(payment, address, party, _write_stamp(context), sequences=sequences)
    answer: messages.InboundPayment = {
        "epm_transaction_id": payment.id,
        "transaction_id": change.payment.transaction_id,
        "reason": _rejection_reason(change),
        "state": change.payment.state,
        "available_balance": change.account.available,
        "settled_balance": change.account.settled,
    }
    return ActionOutcome(without_none(answer), change.operations, events=[payment_event(change.payment)])


def simulate_mandate(
    request: messages.SimulateMandate, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[messages.NewMandate]:
    """The address of the mandate must be active (4008)."""
    address = context.find(ExternalAddress, request.epm_address_id)
    address.require(context.action)
    mandate = Mandate(
        id=sequences.next("mandate"),
        manager_id=context.manager_id,
        access_level=address.access_level,
        address_id=address.id,
        creditor_name=request.creditor_name,
        reference=request.reference,
        created_at=context.now,
    )
    made: list[Operation] = [mandate.put(context.write_id), address.check_unchanged()]
    return ActionOutcome({"epm_mandate_id": mandate.id}, made, events=[mandate_event(mandate)])


def simulate_direct_debit(
    request: messages.SimulateDirectDebit, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[messages.Collection]:
    """An announced collection waits 24 hours for its cut-off. Under a cancelled mandate, the collection is rejected
    immediately. At the cut-off, the collection is paid if it is permitted and if funds and limits suffice. Otherwise it
    is rejected. The action succeeds in all cases.
    """
    if request.epm_transaction_id is not None:
        payment = context.find(ExternalPayment, request.epm_transaction_id)
        payment.require(context.action)
        change = direct_debits.decide(
            payment, context.catalogue, context.items, _write_stamp(context), sequences=sequences
        )
    else:
        change = _announce_debit(request, context, sequences)
    payment = change.payment
    assert payment.cut_off is not None, "a direct debit has a cut-off"
    answer: messages.Collection = {
        "epm_transaction_id": payment.id,
        "cut_off": payment.cut_off,
        "reason": _rejection_reason(change),
        "state": payment.state,
        "available_balance": change.account.available,
        "settled_balance": change.account.settled,
    }
    return ActionOutcome(without_none(answer), change.operations, events=[payment_event(payment)])


def simulate_outbound_result(
    request: messages.SimulateOutboundResult, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[messages.OutboundResult]:
    """The action settles or rejects a pending payment, or returns a settled payment. A repeated result has no effect
    and succeeds. A different result is refused with 4008, or with 4004 for a returned payment.
    """
    payment = context.find(ExternalPayment, request.epm_transaction_id)
    party = _posting_context(context, payment)
    change = payment_posting.report(
        payment, party, request.result, request.reason, _write_stamp(context), sequences=sequences
    )
    after = change.payment
    number = after.return_transaction_id if after.state == RETURNED else after.transaction_id
    answer: messages.OutboundResult = {
        "transaction_id": number,
        "state": after.state,
        "available_balance": change.account.available,
        "settled_balance": change.account.settled,
    }
    return ActionOutcome(without_none(answer), change.operations, events=change_events(payment, after))


def _inbound_members(
    context: RequestContext, address: ExternalAddress, amount: int, sequences: Sequences
) -> dict[str, Any]:
    number = sequences.next("external_payment")
    return {
        "id": number,
        "provider_reference": _FIRST_REFERENCE + number,
        "state": PENDING,
        "created_at": context.now,
        "country": address.country,
        **address_members(address),
        **instructed_members(amount, address.currency),
    }


def _announce_debit(
    request: messages.SimulateDirectDebit, context: RequestContext, sequences: Sequences
) -> PaymentUpdate:
    assert request.epm_mandate_id is not None and request.amount is not None
    mandate = context.find(Mandate, request.epm_mandate_id)
    address_item = context.items([ExternalAddress.key(mandate.address_id)])[0]
    assert address_item is not None, "a mandate has its address"
    address = ExternalAddress.from_item(address_item)
    announced = ExternalPayment(
        payment="debit",
        transaction_type=DIRECT_DEBIT,
        source=bank_account(address),
        destination={"account_name": mandate.creditor_name},
        **_inbound_members(context, address, request.amount, sequences),
    )
    payment = direct_debits.announce(announced, mandate)
    return PaymentUpdate(
        [payment.put(context.write_id), mandate.check_unchanged()], payment, _posting_context(context, address).account
    )


def _posting_context(context: RequestContext, about: ExternalAddress | ExternalPayment) -> PostingContext:
    account_ref = AccountRef.of(about)
    return account_ref.posting_context(context.catalogue, context.items(account_ref.keys))


def _write_stamp(context: RequestContext) -> WriteStamp:
    return WriteStamp(context.at, context.write_id)


def _rejection_reason(change: PaymentUpdate) -> str | None:
    return change.payment.reason if change.payment.state == REJECTED else None
