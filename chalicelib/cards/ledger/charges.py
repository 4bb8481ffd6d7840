"""Charges: a movement's amount and fees on an account, and their entries.

The prices are in fee groups. A price is a fixed part and a percentage of the movement's amount, together at least the
minimum and at most the maximum. It is found in the currency of the entry, and then converted into the account's.
Conversions are at the base rate, and every conversion and percentage is rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any, Literal

from chalicelib.cards.issuing.account_record import LedgerAccount
from chalicelib.cards.ledger.cleared_amounts import ClearedAmount
from chalicelib.cards.ledger.conversion import (
    DOWN,
    NEAREST,
    UP,
    Conversion,
    NoRate,
    conversion,
    convert_at_base_rate,
    percentage,
    portion,
)
from chalicelib.cards.ledger.entries import CONVERSION, FEES, Movement
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes, in_country, is_charged
from chalicelib.cards.ledger.transaction_record import Transaction
from chalicelib.cards.programs.catalogue import MOST_FEE_CODES, Catalogue, FeeEntry, FeeGroup
from chalicelib.cards.protocol.values import EXTERNAL_TYPES, FEE, FEE_COLLECTION
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Charge:
    """A movement's amount and fees in the account's currency.

    ``blends_conversion``: whether the conversion fee is part of the transaction's amount. A charge that ``reverses``
    another movement moves the same amounts back, with the conversion fee.
    """

    conversion: Conversion
    blends_conversion: bool
    fees: Sequence[Fee]
    debit: bool
    reverses: bool = False

    @property
    def direction(self) -> Literal["debit", "credit"]:
        return "debit" if self.debit else "credit"

    @property
    def blended_fee(self) -> int:
        """The blended fees, which are part of the transaction's amount."""
        return sum(fee.amount for fee in self.fees if fee.blended)

    @property
    def cost(self) -> int:
        """The programme manager's income."""
        return self.conversion.fee + sum(fee.amount for fee in self.fees)

    @property
    def holder_amount(self) -> int:
        """The transaction's amount in the account's currency."""
        blended = self.blended_fee + (self.conversion.fee if self.blends_conversion else 0)
        return self.conversion.base_amount + (blended if self._adds_cost else -blended)

    @property
    def settlement_amount(self) -> int:
        """The transaction's amount without fees other than the conversion's."""
        return self.holder_amount - (self.blended_fee if self._adds_cost else -self.blended_fee)

    @property
    def total(self) -> int:
        """The total amount debited from or credited to the account."""
        return self.conversion.base_amount + (self.cost if self._adds_cost else -self.cost)

    def share(self, amount: int) -> Charge:
        """The charge for a part of the amount, at the same rates, with a proportional share of the fees."""
        whole = self.conversion
        base, holder = (portion(each, amount, whole.amount) for each in (whole.base_amount, whole.holder_amount))
        part = replace(whole, amount=amount, base_amount=base, holder_amount=holder, fee=abs(holder - base))
        shares = [replace(fee, amount=portion(fee.amount, amount, whole.amount)) for fee in self.fees]
        return replace(self, conversion=part, fees=[fee for fee in shares if fee.amount])

    def increase_over(self, before: Charge) -> Charge:
        """The charge for the increase over ``before``: the additional amount and fees."""
        paid = {fee.code: fee.amount for fee in before.fees}
        fees = [replace(fee, amount=fee.amount - paid.get(fee.code, 0)) for fee in self.fees]
        rest = self.share(self.conversion.amount - before.conversion.amount)
        return replace(rest, fees=[fee for fee in fees if fee.amount > 0])

    @property
    def reversal(self) -> Charge:
        """The reversal; only the conversion fee is returned."""
        return replace(self, fees=(), debit=not self.debit, reverses=True)

    @property
    def _adds_cost(self) -> bool:
        """Whether fees are added to the amount: for debits, and for reversals of debits."""
        return self.debit != self.reverses

    @property
    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Charge:
        kept = plain["conversion"]
        rates = {name: Decimal(kept[name]) for name in ("base_rate", "holder_rate")}
        made = {"conversion": Conversion(**{**kept, **rates}), "fees": [Fee(**each) for each in plain["fees"]]}
        return cls(**{**plain, **made})

    def book(self, movement: Movement, account: LedgerAccount, against: str) -> None:
        """Book the base amount against ``against``, in that book's own currency, and the fees."""
        converted = self.conversion
        sign = -1 if self.debit else 1
        if converted.currency == account.currency:
            movement.book(account, sign * converted.base_amount, against)
        else:
            movement.book(account, sign * converted.base_amount, CONVERSION)
            movement.exchange(converted.currency, -sign * converted.amount, against)
        if self.cost:
            movement.book(account, self.cost if self.reverses else -self.cost, FEES)

    def list_transactions(
        self, movement: Movement, account: LedgerAccount, main: Transaction, fee_ids: Sequence[int]
    ) -> None:
        """Add the transactions to the account's list: the main one, and one for each fee that is not blended."""
        movement.list_transaction(account, main)
        for number, fee in zip(fee_ids, self.separate_fees, strict=True):
            movement.list_transaction(account, fee_transaction(number, fee, account, main))

    @property
    def separate_fees(self) -> list[Fee]:
        """The fees that are separate transactions."""
        return [fee for fee in self.fees if not fee.blended]

    @property
    def transaction_members(self) -> dict[str, Any]:
        """The members of the main transaction that this charge determines."""
        return {
            "direction": self.direction,
            "amount": self.conversion.amount,
            "currency": self.conversion.currency,
            "holder_amount": self.holder_amount,
            "base_rate": self.conversion.base_rate,
            "holder_rate": self.conversion.holder_rate,
            "conversion_fee": self.conversion.fee,
            "conversion_fee_blended": self.blends_conversion,
            "fee": self.blended_fee,
        }


def convert_movement(
    catalogue: Catalogue,
    facts: TransactionAttributes,
    to: int,
    amount: int,
    *,
    debit: bool,
    cleared: ClearedAmount | None = None,
) -> Conversion:
    """An amount in the currency ``to``; of an external payment never rounded in the holder's favour. Raises: NoRate.

    ``cleared``: the clearing that a refund returns a part of, if it names one.
    """
    if cleared is not None:
        pay, get = (convert_movement(catalogue, facts, to, cleared.amount, debit=each) for each in (True, False))
        return cleared.convert_refund(amount, pay, get)
    rounding = NEAREST
    if facts.transaction_type in EXTERNAL_TYPES:
        rounding = UP if debit else DOWN
    converted = conversion(catalogue, amount, facts.currency, to, debit=debit, rounding=rounding)
    if converted is None:
        raise NoRate(facts.currency, to)
    return converted


def fee_transaction(number: int, fee: Fee, account: LedgerAccount, main: Transaction) -> Transaction:
    return Transaction(
        id=number,
        transaction_type=FEE,
        direction="debit",
        mti=FEE_COLLECTION,
        trans_link=main.trans_link,
        amount=fee.amount,
        currency=account.currency,
        holder_amount=fee.amount,
        parent_id=main.id,
        card_id=main.card_id,
        country=main.country,
        fee_code=fee.code,
        description=fee.title,
        epm_transaction_id=main.epm_transaction_id,
        epm_mandate_id=main.epm_mandate_id,
        authorization_id=main.authorization_id,
    )


def fees_within(fees: Sequence[Fee], left: int) -> list[Fee]:
    """The fees in order, capped at a total of ``left``."""
    borne = []
    for fee in fees:
        amount = min(fee.amount, left)
        left -= amount
        borne += [replace(fee, amount=amount)] if amount else []
    return borne


@dataclass(frozen=True, slots=True)
class Fee:
    """A price in minor units of the account's currency.

    ``blended``: part of the transaction's amount; otherwise a transaction of its own.
    """

    code: str
    title: str
    amount: int
    blended: bool


def fees_of(
    catalogue: Catalogue,
    group: FeeGroup | None,
    facts: TransactionAttributes,
    amount: int,
    currency: int,
    account_currency: int,
) -> list[Fee]:
    """The fees for a movement of ``amount`` in ``currency``: for each code, the first matching entry.

    Raises: NoRate.
    """
    charged: dict[str, FeeEntry] = {}
    for entry in group.entries if group else ():
        if len(charged) < MOST_FEE_CODES and entry.code not in charged and is_charged(catalogue, entry, facts):
            charged[entry.code] = entry
    fees = [_price_entry(catalogue, entry, (amount, currency), account_currency) for entry in charged.values()]
    return [fee for fee in fees if fee.amount]


def entry_of(group: FeeGroup, code: str, currency: int, country: int | None = None) -> FeeEntry | None:
    """The entry of a custom fee: the first of the code in this currency for this country.

    Otherwise the first of the code; ``None`` for an unknown code.
    """
    entries = [entry for entry in group.entries if entry.code == code]
    fitting = (entry for entry in entries if entry.currency == currency and in_country(entry, country))
    return next(fitting, entries[0] if entries else None)


def price_of(
    catalogue: Catalogue, entry: FeeEntry, account_currency: int, linked: tuple[int, int] | None = None
) -> Fee | None:
    """The price of a custom fee, which may be 0; ``linked`` is amount and currency of the transaction that it is for.

    Without such a transaction it is the fixed part, and ``None`` for an entry that has none. Raises: NoRate.
    """
    if linked is None and entry.fixed is None:
        return None
    return _price_entry(catalogue, entry, linked, account_currency)


def _price_entry(catalogue: Catalogue, entry: FeeEntry, base: tuple[int, int] | None, account_currency: int) -> Fee:
    """The price by an entry; ``base`` is the amount, with its currency, that the percentage is of."""
    price = entry.fixed or 0
    if entry.percent and base is not None:
        amount, currency = base
        price += percentage(convert_at_base_rate(catalogue, amount, currency, entry.currency), entry.percent)
    price = max(price, entry.minimum or 0)
    if entry.maximum is not None:
        price = min(price, entry.maximum)
    return Fee(
        entry.code, entry.title, convert_at_base_rate(catalogue, price, entry.currency, account_currency), entry.blended
    )
