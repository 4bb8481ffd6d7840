"""Outgoing payments: transferToExternalPayment (specification, External payment operations).

An address pays another bank or, directly, another address of this service.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from chalicelib.cards.ledger.charges import PostingContext
from chalicelib.cards.ledger.entries import Movement
from chalicelib.cards.ledger.usage_counters import CounterChanges
from chalicelib.cards.payments import payment_posting
from chalicelib.cards.payments.account_ref import AccountRef
from chalicelib.cards.payments.address_record import ExternalAddress, find_key
from chalicelib.cards.payments.modulus_check import is_valid
from chalicelib.cards.payments.payment_posting import count_payment, credit
from chalicelib.cards.payments.payment_record import ExternalPayment, address_members, instructed_members
from chalicelib.cards.payments.pending_index import waiting_members
from chalicelib.cards.payments.provider_completion import call_provider
from chalicelib.cards.payments.serializers import bank_account, payment_event, refused_by_provider, serialize_payment
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.payment_messages import TransferToExternalPayment, TransferWithDestination
from chalicelib.cards.protocol.payment_states import PENDING, SETTLED
from chalicelib.cards.protocol.schemes import UK, choose_scheme, country_of
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import EXTERNAL_IN, EXTERNAL_OUT
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import without_none
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Item, Operation

_DETAILS = ("description", "note", "withdrawal_purpose", "receiver_type", "industry_id")


InternalPayee = tuple[ExternalAddress, PostingContext]
"""A payment destination that is an address of this service, with the records of the address."""


def transfer_to_external_payment(
    request: TransferToExternalPayment, context: RequestContext, *, programmes: Programmes, sequences: Sequences
) -> ActionOutcome[TransferWithDestination]:
    """The payment must be in the address's currency (5003). The first scheme that accepts the amount is used. If no
    scheme accepts the amount, the payment is refused with 2005. A UK address pays to a matching sort code and account
    number, or to a British IBAN. A SEPA address pays to a SEPA IBAN (2005). A refusal by the provider is returned as
    7001. Until the provider responds, the action returns 8001.
    """
    wanted = find_key(
        iban=request.destination_iban,
        sort_code=request.destination_sort_code,
        account_number=request.destination_account_number,
    )
    address_item, number = context.items([ExternalAddress.key(request.epm_address_id), wanted])
    address = context.require_visible(ExternalAddress, address_item)
    schemes = _choose_schemes(address, request)
    party, own = _read_parties(context, address, number, programmes)
    address.require(context.action)
    party.account.require(context.action)
    if request.currency_ison != address.currency:
        raise Refused(Status.CURRENCY_NOT_SUPPORTED, "the address pays only in its own currency")
    payment = _new_payment(request, context, address, schemes, sequences)
    tally = CounterChanges()
    payment = replace(payment, **count_payment(payment, party, context.now, tally, debit=True))
    if own is not None:
        outcome = _transfer_internally(request, context, payment, party, own, tally, sequences)
        return replace(outcome, operations=[*outcome.operations, address.check_unchanged()])
    waiting = waiting_members(payment.id, context.action, context.claim, context.now)
    payment = replace(payment, held=payment.charge_details.total, **waiting)
    movement = Movement("payment out held", context.at, context.write_id, tally, epm_transaction_id=payment.id)
    movement.hold(party.account, payment.held)
    operations = [payment.put(context.write_id), address.check_unchanged(), *movement.operations()]
    return ActionOutcome(operations=operations, provider_call=call_provider(payment), events=[payment_event(payment)])


def _read_parties(
    context: RequestContext, address: ExternalAddress, number: Item | None, programmes: Programmes
) -> tuple[PostingContext, InternalPayee | None]:
    """Read the payer's records. If the destination is an address of this service, also read the payee's records."""
    account_ref, own_keys, home = AccountRef.of(address), [], None
    if number is not None:
        home = AccountRef.of_number_item(number)
        own_keys = [ExternalAddress.key(number["address_id"]), *home.keys]
    items = context.items([*account_ref.keys, *own_keys])
    party = account_ref.posting_context(context.catalogue, items[: len(account_ref.keys)])
    if home is None:
        return party, None
    own_item, *rest = items[len(account_ref.keys) :]
    assert own_item is not None, "a number leads to its address"
    payee = home.posting_context(programmes.catalogue(home.manager_id), rest)
    return party, (ExternalAddress.from_item(own_item), payee)


def _new_payment(
    request: TransferToExternalPayment,
    context: RequestContext,
    address: ExternalAddress,
    schemes: Sequence[str],
    sequences: Sequences,
) -> ExternalPayment:
    """Return the payment as instructed, before its charge is computed."""
    known = {
        "account_name": request.destination_account_name,
        "account_number": request.destination_account_number,
        "iban": request.destination_iban,
        "sort_code": request.destination_sort_code,
    }
    return ExternalPayment(
        id=sequences.next("external_payment"),
        payment="out",
        state=PENDING,
        transaction_type=EXTERNAL_OUT,
        created_at=context.now,
        source=bank_account(address),
        destination=without_none(known),
        country=country_of(request.destination_iban),
        schemes=list(schemes) or None,
        scheme=choose_scheme(address.method, schemes, request.amount),
        reference=request.reference_number,
        details=without_none({name: getattr(request, name) for name in _DETAILS}) or None,
        **address_members(address),
        **instructed_members(request.amount, request.currency_ison),
    )


def _transfer_internally(
    request: TransferToExternalPayment,
    context: RequestContext,
    paid: ExternalPayment,
    payer: PostingContext,
    own: InternalPayee,
    tally: CounterChanges,
    sequences: Sequences,
) -> ActionOutcome[TransferWithDestination]:
    """Pay an address of this service. One transaction changes both accounts, without the provider. Raises: Refused."""
    address, payee = own
    if payee.account.owner == payer.account.owner:
        field = "destination_account_number" if request.destination_iban is None else "destination_iban"
        raise refused_field(field, "value", "belongs to the paying account")
    if address.currency != paid.instructed_currency:
        raise refused_by_provider("the destination uses a different currency")
    number = sequences.next("external_payment")
    came = replace(
        paid,
        id=number,
        counterpart=paid.id,
        other_side=AccountRef.of(paid).as_dict,
        payment="in",
        transaction_type=EXTERNAL_IN,
        country=country_of((paid.source or {}).get("iban")),
        destination=bank_account(address),
        counted=None,
        details=None,
        **address_members(address),
    )
    try:
        came = credit(came, address, payee, context.now, tally)
    except Refused:
        raise refused_by_provider("the destination does not accept this payment") from None
    movement = Movement("payment at home", context.at, context.write_id, tally, epm_transaction_id=paid.id)
    movement.list_by_card(*payer.card_counters, *payee.card_counters)
    paid = replace(paid, counterpart=number, other_side=AccountRef.of(came).as_dict)
    paid = replace(
        paid, state=SETTLED, transaction_id=payment_posting.enter(movement, payer.account, paid, sequences=sequences)
    )
    came = replace(came, transaction_id=payment_posting.enter(movement, payee.account, came, sequences=sequences))
    made: list[Operation] = [paid.put(context.write_id), came.put(context.write_id), address.check_unchanged()]
    operations = [*made, *movement.operations()]
    return ActionOutcome(serialize_payment(paid), operations, events=[payment_event(paid), payment_event(came)])


def _choose_schemes(address: ExternalAddress, request: TransferToExternalPayment) -> Sequence[str]:
    """Return the requested schemes. Raises: Refused, if the schemes or the destination do not match the address."""
    _require_one_account(request)
    wished = cast(Sequence[str], request.schemes or ())
    if address.method == UK:
        sort_code, account_number = request.destination_sort_code, request.destination_account_number
        if sort_code is not None and account_number is not None and not is_valid(sort_code, account_number):
            raise refused_field("destination_account_number", "value", "does not belong to destination_sort_code")
        if request.destination_iban is not None and not request.destination_iban.startswith("GB"):
            raise refused_field("destination_iban", "value", "must be a British IBAN for a UK address")
    elif request.destination_iban is None:
        raise refused_field("destination_iban", "required", "is required for a SEPA address")
    elif country_of(request.destination_iban) is None:
        raise refused_field("destination_iban", "value", "must be a SEPA IBAN for a SEPA address")
    if choose_scheme(address.method, wished, 0) is None:
        raise refused_field("schemes", "value", "contains no scheme that the address can use")
    if choose_scheme(address.method, wished, request.amount) is None:
        raise refused_field("amount", "value", "is higher than the schemes allow")
    return wished


def _require_one_account(request: TransferToExternalPayment) -> None:
    iban = request.destination_iban
    sort_code, account_number = request.destination_sort_code, request.destination_account_number
    if iban is None or sort_code is None or account_number is None:
        return
    if find_key(iban=iban) != find_key(sort_code=sort_code, account_number=account_number):
        raise refused_field(
            "destination_iban", "value", "does not match destination_sort_code and destination_account_number"
        )
