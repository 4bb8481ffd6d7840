"""External payments: incoming, outgoing, direct debits, and their returns.

A mandate lets a creditor collect from an address by direct debit.
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
"""The interface's members for the other side of a payment, and the payment's members for it."""


@dataclass(frozen=True, kw_only=True)
class ExternalPayment(PendingRecord):
    """One payment; amounts are in minor units, times in Unix seconds.

    Attributes:
        payment: its kind: out, in, a direct debit, or a return.
        account_id: of a holder's or, by ``account_type``, a special account.
        instructed_amount: in ``instructed_currency``, that of the address.
        settlement_amount: its value for the account, in ``settlement_currency``, without fees.
        charge: the amounts in detail, as ``Charge.as_dict`` gives them.
        held: what is held of the account as long as the payment is pending.
        counted: what was counted in which limits, by the owner of the counters.
        source, destination: the bank accounts, with the members that are known of them; of a direct debit and its
            return, ``destination`` is the creditor's.
        country: the other bank's, as far as it is known, else the address's; a numeric code of ISO 3166-1.
        provider_reference: the provider's number of it, ``original_reference`` that of the one that it sends back.
        returns: the payment that this one sends back, ``returned_by`` the one that sends this back.
        counterpart: the same payment on its other side, if that is an address of this service, too; ``other_side`` says
            whom it concerns there.
        should_pay: of a direct debit, whether it is to be paid at its ``cut_off``.
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
        """Common members of its transactions and those of its return."""
        return f"E{self.returns or self.id:011}"

    @property
    def counterparty(self) -> dict[str, Any]:
        """The other side, as far as it is known, and the scheme, by the interface's names."""
        other = (self.source if self.payment == "in" else self.destination) or {}
        known = {name: other.get(kept) or None for name, kept in _OF_COUNTERPARTY.items()}
        return without_none({**known, "scheme": self.scheme})

    @property
    def remittance(self) -> str | None:
        """The remittance information, of a return the original's."""
        if self.payment in ("in", "debit"):
            return self.reference
        return (self.details or {}).get("description")

    @property
    def charge_details(self) -> Charge:
        """Its charge, once computed."""
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
        """Raises: Refused, when its kind or state does not let the action pass, or it is being returned already."""
        require_permitted(PAYMENT_RULES[action][self.payment, self.state])
        if self.returned_by is not None:
            raise Refused(Status.ALREADY_RETURNED)


@dataclass(frozen=True, kw_only=True)
class Mandate(Record):
    """A mandate; ``reason`` is why it was cancelled."""

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
        """Raises: Refused, when its state does not let the action pass."""
        require_permitted(MANDATE_RULES[action][self.state])


def address_members(address: ExternalAddress) -> dict[str, Any]:
    """The members of a payment that follow from the address that it comes or goes by."""
    same = ("manager_id", "access_level", "method", "account_id", "account_type", "holder_id", "card_id")
    return {"address_id": address.id, **{name: getattr(address, name) for name in same}}


def instructed_members(amount: int, currency: int) -> dict[str, Any]:
    """The amounts of a payment before its charge on the account is known."""
    return {
        "instructed_amount": amount,
        "instructed_currency": currency,
        "settlement_amount": 0,
        "settlement_currency": currency,
    }
