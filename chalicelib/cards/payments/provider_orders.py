"""Provider calls and their effects: opening addresses, payments and returns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chalicelib.cards.ledger.posting_context import PostingContext
from chalicelib.cards.payments.account_ref import AccountRef
from chalicelib.cards.payments.address_record import ExternalAddress, number_keys, put_numbers
from chalicelib.cards.payments.payment_posting import PaymentPosting
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
from chalicelib.cards.payments.provider_completion import ProviderOutcome
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
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.lazy_dataclasses import dataclass

_WITHOUT_DATA = ("directCreditReturn", "directDebitReturn")
"""Actions with empty response data."""


@dataclass(frozen=True, slots=True)
class PaymentOrders:
    """Payments at the provider; each is submitted only once."""

    store: Store
    programmes: Programmes
    payment_provider: Provider
    posting: PaymentPosting

    def ask(self, payment: ExternalPayment, /) -> Receipt:
        return self.payment_provider.submit(_payment_instruction(payment))

    def ask_again(self, payment: ExternalPayment, /) -> Receipt:
        """Submit a payment that the provider has not received, unless its end was reported meanwhile."""
        known = self.payment_provider.find(payment.id)
        if known is not None or not payment.is_pending:
            return known or Receipt(accepted=False)
        return self.ask(payment)

    def outcome(
        self, payment: ExternalPayment, receipt: Receipt, stamp: WriteStamp, /
    ) -> ProviderOutcome[ExternalPayment]:
        known: dict[str, Any] = {"provider_reference": receipt.reference, "scheme": receipt.scheme or payment.scheme}
        was_reported = not payment.is_pending  # settled or rejected, before the answer came
        if was_reported or (payment.payment == "out" and receipt.accepted):
            members = known | ANSWERED
            return ProviderOutcome([payment.update(stamp.write_id, **members)], payment.with_changes(**members))
        party, original = self._read_parties(payment)
        if receipt.accepted:
            sent = replace(payment, scheme=known["scheme"])
            change = self.posting.settle(sent, party, stamp, original=original, **known, **ANSWERED)
            of_original: dict[str, Any] = {"state": RETURNED}
        else:
            reason = receipt.reason and receipt.reason[:LONGEST_WORDS]
            change = self.posting.reject(payment, party, stamp, reason=reason, **ANSWERED)
            of_original = {"returned_by": None}
        events = change_events(payment, change.payment)
        if original is None:
            return ProviderOutcome(change.operations, change.payment, events)
        events += change_events(original, original.with_changes(**of_original))
        with_original = [*change.operations, original.update(stamp.write_id, **of_original)]
        return ProviderOutcome(with_original, change.payment, events)

    def answer(self, payment: ExternalPayment, action: str, /) -> TransferWithDestination | None:
        if payment.state == REJECTED:
            raise refused_by_provider(payment.reason)
        return None if action in _WITHOUT_DATA else serialize_payment(payment)

    def _read_parties(self, payment: ExternalPayment) -> tuple[PostingContext, ExternalPayment | None]:
        """The account's records, and the payment that this one returns, if any."""
        account_ref = AccountRef.of(payment)
        others = [ExternalPayment.key(payment.returns)] if payment.returns is not None else []
        items = self.store.batch_get([*others, *account_ref.keys])
        original = ExternalPayment.from_item(items[0]) if others and items[0] else None
        return account_ref.posting_context(
            self.programmes.catalogue(payment.manager_id), items[len(others) :]
        ), original


@dataclass(frozen=True, slots=True)
class AddressOpening:
    """Addresses at the provider; repeating a call opens the same one."""

    store: Store
    payment_provider: Provider

    def ask(self, address: ExternalAddress, /) -> OpenedAddress | ProviderRefused:
        opening = AddressRequest(address.id, address.method, address.currency, address.country, address.account_name)
        try:
            return self.payment_provider.open_address(opening)
        except ProviderRefused as refusal:
            return refusal

    ask_again = ask

    def outcome(
        self, address: ExternalAddress, reply: OpenedAddress | ProviderRefused, stamp: WriteStamp, /
    ) -> ProviderOutcome[ExternalAddress]:
        if isinstance(reply, ProviderRefused):
            return self._refuse(address, str(reply)[:LONGEST_WORDS], stamp)
        numbers = {name: getattr(reply, name) for name in ("account_number", "sort_code", "iban", "bic", "country")}
        members = numbers | {"assignment_state": ASSIGNED, **ANSWERED}
        after = address.with_changes(**members)
        if any(item and item["address_id"] != address.id for item in self.store.batch_get(number_keys(after))):
            return self._refuse(address, "the provider returned a number that belongs to another address", stamp)
        return ProviderOutcome([address.update(stamp.write_id, **members), *put_numbers(after, stamp.write_id)], after)

    def answer(self, address: ExternalAddress, _: str, /) -> list[AddressRecord]:
        if address.assignment_state == ASSIGNMENT_REFUSED:
            raise refused_by_provider(address.note)
        return [serialize_address(address)]

    def _refuse(self, address: ExternalAddress, reason: str, stamp: WriteStamp) -> ProviderOutcome[ExternalAddress]:
        """Mark the address as refused and remove it from the account."""
        account_ref = AccountRef.of(address)
        account = account_ref.account(self.store.get(*account_ref.account_key))
        members = {"assignment_state": ASSIGNMENT_REFUSED, "note": reason, **ANSWERED}
        left = (account.address_ids or frozenset()) - {address.id}
        gone = account.update(stamp.write_id, address_ids=left or None)
        return ProviderOutcome([address.update(stamp.write_id, **members), gone], address.with_changes(**members))


def _payment_instruction(payment: ExternalPayment) -> ProviderOrder:
    """The order for the provider. For a direct debit's return, the amount is reclaimed from the creditor."""
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
