"""External payments: incoming and outgoing payments, direct debits, and their returns.

A mandate allows a creditor to collect from an address by direct debit.
"""

from __future__ import annotations

from typing import Any, ClassVar

from chalicelib.cards.ledger.charges import Charge
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.pending_index import TABLE, PendingRecord
from chalicelib.cards.payments.provider import OrderKind
from chalicelib.cards.protocol.payment_states import LIVE, MANDATE_RULES, PAYMENT_RULES, PENDING, PaymentKind
from chalicelib.cards.protocol.status_codes import Refused, Status, require_permitted
from chalicelib.cards.storage.record import Record, without_none
from chalicelib.foundation.lazy_dataclasses import dataclass

_OF_COUNTERPARTY = {
    "counterparty_name": "account_name",
    "counterparty_iban": "iban",
    "counterparty_sort_code": "sort_code",
    "counterparty_account_number": "account_number",
}


@dataclass(frozen=True, kw_only=True)
class ExternalPayment(PendingRecord):
    """One payment. Amounts are in minor units and times in Unix seconds.

    Attributes:
        payment: the kind: outgoing, incoming, direct debit, or return.
        account_id: a holder's account or, depending on ``account_type``, a special account.
        instructed_amount: the amount in ``instructed_currency``, the address's currency.
        settlement_amount: the amount without fees, in ``settlement_currency``, the account's currency.
        charge: the amounts in detail, a ``Charge`` as a dict.
        held: the amount held on the account while the payment is pending.
        counted: the counts of the payment in limits, by owner of the counters.
        source: the bank account that sends the payment, with all known members.
        destination: the bank account that receives the payment, with all known members. For a direct debit and its
            return, ``destination`` is the creditor's account.
        country: the other bank's country if known, otherwise the address's country, as a numeric ISO 3166-1 code.
        provider_reference: the provider's reference. ``original_reference`` belongs to the returned payment.
        returns: the payment that this payment returns.
        returned_by: the payment that returns this payment.
        counterpart: the same payment at the other party's address, if this service also manages that address.
        other_side: identifies the other party's records.
        should_pay: whether a direct debit will be paid at its ``cut_off``.
    """

    kind: ClassVar = "external_payment"
    missing: ClassVar = Status.NO_EXTERNAL_TRANSACTION

    payment: PaymentKind
    state: str
    method: int
    transaction_type: int
    address_id: int
    account_id: int
    account_type: int
    instructed_amount: int
    instructed_currency: int
    settlement_amount: int
    settlement_currency: int
    created_at: int
    holder_id: int | None = None
    card_id: int | None = None
    charge: dict[str, Any] | None = None
    held: int = 0
    counted: dict[str, list[dict[str, Any]]] | None = None
    source: dict[str, Any] | None = None
    destination: dict[str, Any] | None = None
    country: int | None = None
    scheme: str | None = None
    schemes: list[str] | None = None
    reference: str | None = None
    details: dict[str, Any] | None = None
    provider_reference: int | None = None
    original_reference: int | None = None
    transaction_id: int | None = None
    return_transaction_id: int | None = None
    returns: int | None = None
    returned_by: int | None = None
    counterpart: int | None = None
    other_side: dict[str, Any] | None = None
    mandate_id: int | None = None
    cut_off: int | None = None
    should_pay: int = 1
    reason: str | None = None

    @property
    def trans_link(self) -> str:
        """The ``trans_link`` of the payment's transactions. A return has the original payment's ``trans_link``."""
        return f"E{self.returns or self.id:011}"

    @property
    def counterparty(self) -> dict[str, Any]:
        """The known details of the counterparty and the payment scheme, keyed by API member."""
        other = (self.source if self.payment == "in" else self.destination) or {}
        known = {name: other.get(stored_name) or None for name, stored_name in _OF_COUNTERPARTY.items()}
        return without_none({**known, "scheme": self.scheme})

    @property
    def remittance(self) -> str | None:
        """The remittance information. A return has the original payment's information."""
        if self.payment in ("in", "debit"):
            return self.reference
        return (self.details or {}).get("description")

    @property
    def charge_details(self) -> Charge:
        """The charge of a booked payment."""
        assert self.charge is not None, "what is booked has a charge"
        return Charge.from_dict(self.charge)

    @property
    def order_kind(self) -> OrderKind:
        if self.payment != "return":
            return "payment"
        return "debit return" if self.mandate_id is not None else "return"

    @property
    def is_pending(self) -> bool:
        return self.state == PENDING

    def require(self, action: str) -> None:
        """Check that the payment's kind and state allow the action, and that no return is in progress. Raises:
        Refused.
        """
        require_permitted(PAYMENT_RULES[action][self.payment, self.state])
        if self.returned_by is not None:
            raise Refused(Status.ALREADY_RETURNED)


@dataclass(frozen=True, kw_only=True)
class Mandate(Record):
    """A direct debit mandate. ``reason`` is the reason for its cancellation."""

    kind: ClassVar = "mandate"
    missing: ClassVar = Status.NO_EXTERNAL_TRANSACTION
    table: ClassVar = TABLE

    address_id: int
    creditor_name: str
    reference: str
    created_at: int
    state: str = LIVE
    reason: int | None = None

    @property
    def is_live(self) -> bool:
        return self.state == LIVE

    def require(self, action: str) -> None:
        """Check that the mandate's state allows the action. Raises: Refused."""
        require_permitted(MANDATE_RULES[action][self.state])


def address_members(address: ExternalAddress) -> dict[str, Any]:
    """Return the payment members that are determined by the payment's address."""
    same = ("manager_id", "access_level", "method", "account_id", "account_type", "holder_id", "card_id")
    return {"address_id": address.id, **{name: getattr(address, name) for name in same}}


def instructed_members(amount: int, currency: int) -> dict[str, Any]:
    """Return the amounts of a payment before its charge is computed."""
    return {
        "instructed_amount": amount,
        "instructed_currency": currency,
        "settlement_amount": 0,
        "settlement_currency": currency,
    }
