"""Provider calls and their effects: opening addresses, payments and returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.ledger.charges import PostingContext
from chalicelib.cards.payments import payment_posting
from chalicelib.cards.payments.account_ref import AccountRef
from chalicelib.cards.payments.address_record import ExternalAddress, number_keys, put_numbers
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.pending_index import ANSWERED
from chalicelib.cards.payments.provider import (
    LONGEST_WORDS,
    AddressRequest,
    BankAccount,
    OpenedAddress,
    Provider,
    ProviderOrder,
    ProviderRefused,
    Receipt,
)
from chalicelib.cards.payments.serializers import (
    change_events,
    refused_by_provider,
    serialize_address,
    serialize_payment,
)
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.payment_messages import AddressRecord, TransferWithDestination
from chalicelib.cards.protocol.payment_states import REJECTED, RETURNED
from chalicelib.cards.protocol.values import ASSIGNED, ASSIGNMENT_REFUSED
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation, Store
from chalicelib.foundation.lazy_dataclasses import dataclass

WaitingRecord = ExternalPayment | ExternalAddress
Reply = Receipt | OpenedAddress | ProviderRefused
_WITHOUT_DATA = ("directCreditReturn", "directDebitReturn")
_TAKEN = "the provider returned a number that belongs to another address"


@dataclass(frozen=True, slots=True)
class ProviderOutcome:
    """The effects of a provider's reply: the writes, the new record, and the events."""

    operations: Sequence[Operation]
    record: WaitingRecord
    events: Sequence[CardEvent] = ()


def ask(record: WaitingRecord, provider: Provider) -> Reply:
    """Submit a payment, or open an address. Raises: ProviderSilent."""
    if isinstance(record, ExternalPayment):
        return provider.submit(_payment_instruction(record))
    opening = AddressRequest(record.id, record.method, record.currency, record.country, record.account_name)
    try:
        return provider.open_address(opening)
    except ProviderRefused as refusal:
        return refusal


def ask_again(record: WaitingRecord, provider: Provider) -> Reply:
    """Return the provider's reply if an earlier call or its reply may have been lost. Raises: ProviderSilent.

    A payment is submitted if the provider has not received it, unless the payment's final state was reported in the
    meantime. The call that opens an address is retried. A retry opens the same address.
    """
    if isinstance(record, ExternalPayment):
        known = provider.find(record.id)
        if known is not None or not record.is_pending:
            return known or Receipt(accepted=False)
    return ask(record, provider)


def apply_reply(
    record: WaitingRecord,
    reply: Reply,
    stamp: WriteStamp,
    *,
    programmes: Programmes,
    sequences: Sequences,
    store: Store,
) -> ProviderOutcome:
    """Return the effects of the provider's reply. Raises: StoreError."""
    if isinstance(record, ExternalAddress):
        return _finish_address(record, reply, stamp, store)
    assert isinstance(reply, Receipt), "an order has a receipt"
    return _finish_payment(record, reply, stamp, programmes, sequences, store)


def answer(record: WaitingRecord, action: str) -> list[AddressRecord] | TransferWithDestination | None:
    """Return the response data of ``action`` after the outcome was written. Raises: Refused."""
    if isinstance(record, ExternalAddress):
        if record.assignment_state == ASSIGNMENT_REFUSED:
            raise refused_by_provider(record.note)
        return [serialize_address(record)]
    if record.state == REJECTED:
        raise refused_by_provider(record.reason)
    return None if action in _WITHOUT_DATA else serialize_payment(record)


def _finish_payment(
    payment: ExternalPayment,
    receipt: Receipt,
    stamp: WriteStamp,
    programmes: Programmes,
    sequences: Sequences,
    store: Store,
) -> ProviderOutcome:
    known: dict[str, Any] = {"provider_reference": receipt.reference, "scheme": receipt.scheme or payment.scheme}
    was_reported = not payment.is_pending  # settled or rejected, before the answer came
    if was_reported or (payment.payment == "out" and receipt.accepted):
        members = known | ANSWERED
        return ProviderOutcome([payment.update(stamp.write_id, **members)], payment.with_changes(**members))
    party, original = _read_parties(payment, programmes, store)
    if receipt.accepted:
        sent = replace(payment, scheme=known["scheme"])
        change = payment_posting.settle(sent, party, stamp, original=original, **known, **ANSWERED, sequences=sequences)
        of_original: dict[str, Any] = {"state": RETURNED}
    else:
        reason = receipt.reason and receipt.reason[:LONGEST_WORDS]
        change = payment_posting.reject(payment, party, stamp, reason=reason, **ANSWERED)
        of_original = {"returned_by": None}
    events = change_events(payment, change.payment)
    if original is None:
        return ProviderOutcome(change.operations, change.payment, events)
    events += change_events(original, original.with_changes(**of_original))
    with_original = [*change.operations, original.update(stamp.write_id, **of_original)]
    return ProviderOutcome(with_original, change.payment, events)


def _read_parties(
    payment: ExternalPayment, programmes: Programmes, store: Store
) -> tuple[PostingContext, ExternalPayment | None]:
    account_ref = AccountRef.of(payment)
    others = [ExternalPayment.key(payment.returns)] if payment.returns is not None else []
    items = store.batch_get([*others, *account_ref.keys])
    original = ExternalPayment.from_item(items[0]) if others and items[0] else None
    return account_ref.posting_context(programmes.catalogue(payment.manager_id), items[len(others) :]), original


def _finish_address(address: ExternalAddress, reply: Reply, stamp: WriteStamp, store: Store) -> ProviderOutcome:
    """Store the numbers of the address.

    If the provider refused the address or a number is already in use, remove the address from the account.
    """
    reason = str(reply)[:LONGEST_WORDS] if isinstance(reply, ProviderRefused) else _TAKEN
    if isinstance(reply, OpenedAddress):
        numbers = {name: getattr(reply, name) for name in ("account_number", "sort_code", "iban", "bic", "country")}
        opened = numbers | {"assignment_state": ASSIGNED, **ANSWERED}
        after = address.with_changes(**opened)
        if all(item is None or item["address_id"] == address.id for item in store.batch_get(number_keys(after))):
            return ProviderOutcome(
                [address.update(stamp.write_id, **opened), *put_numbers(after, stamp.write_id)], after
            )
    account_ref = AccountRef.of(address)
    account = account_ref.account(store.get(*account_ref.account_key))
    members = {"assignment_state": ASSIGNMENT_REFUSED, "note": reason, **ANSWERED}
    left = (account.address_ids or frozenset()) - {address.id}
    gone = account.update(stamp.write_id, address_ids=left or None)
    return ProviderOutcome([address.update(stamp.write_id, **members), gone], address.with_changes(**members))


def _payment_instruction(payment: ExternalPayment) -> ProviderOrder:
    """Return the order for the provider. If a direct debit is returned, the amount is reclaimed from the creditor."""
    to = payment.destination or {}
    numbers = (to.get(name) for name in ("account_number", "sort_code", "iban", "bic"))
    return ProviderOrder(
        payment_id=payment.id,
        kind=payment.order_kind,
        method=payment.method,
        currency=payment.instructed_currency,
        amount=payment.instructed_amount,
        schemes=tuple(payment.schemes or ()),
        destination=BankAccount(to.get("account_name", ""), *numbers),
        reference=payment.reference,
        original_reference=payment.original_reference,
        reason=payment.reason,
    )
