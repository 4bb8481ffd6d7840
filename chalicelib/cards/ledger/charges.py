"""Charges: a movement's amount and fees on an account, and their ledger entries.

Fee groups define prices. A price is a fixed part plus a percentage of the movement's amount, limited by a minimum and a
maximum. The price is computed in the fee entry's currency and then converted into the account's currency. Conversions
use the base rate. Every conversion and percentage is rounded once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from chalicelib.cards.ledger.account_record import LedgerAccount
from chalicelib.cards.ledger.conversion import (
    ClearedAmount,
    Conversion,
    NoRate,
    conversion,
    convert_at_base_rate,
    convert_movement,
    percentage,
    portion,
)
from chalicelib.cards.ledger.entries import CONVERSION, FEES, Movement
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes, charged_entries, in_country
from chalicelib.cards.ledger.transaction_record import Transaction
from chalicelib.cards.ledger.usage_counters import CounterChanges, Counters, Usage, WindowUsage
from chalicelib.cards.programs.catalogue import MOST_FEE_CODES, Catalogue, FeeEntry, FeeGroup
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import FEE, FEE_COLLECTION
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class Charge:
    """A movement's amount and fees in the account's currency.

    If ``blends_conversion`` is true, the transaction's amount includes the conversion fee. If ``reverses`` is true, the
    charge returns the amounts of another movement, including that movement's conversion fee.
    """

    conversion: Conversion
    blends_conversion: bool
    fees: Sequence[Fee]
    debit: bool
    reverses: bool = False

    @property
    def direction(self) -> Literal["debit", "credit"]:
        return "debit" if self.debit else "credit"

    @cached_property
    def blended_fee(self) -> int:
        """The sum of the fees that the transaction's amount includes, without the conversion fee."""
        return sum(fee.amount for fee in self.fees if fee.blended)

    @cached_property
    def cost(self) -> int:
        """The sum of the conversion fee and all other fees, which is the programme manager's income."""
        return self.conversion.fee + sum(fee.amount for fee in self.fees)

    @cached_property
    def holder_amount(self) -> int:
        """The transaction's amount in the account's currency, including the fees that are not separate transactions."""
        blended = self.blended_fee + (self.conversion.fee if self.blends_conversion else 0)
        return self.conversion.base_amount + (blended if self._adds_cost else -blended)

    @property
    def settlement_amount(self) -> int:
        """The transaction's amount without fees. A conversion fee that the amount includes is not deducted."""
        return self.holder_amount - (self.blended_fee if self._adds_cost else -self.blended_fee)

    @cached_property
    def total(self) -> int:
        """The total amount that is debited from or credited to the account."""
        return self.conversion.base_amount + (self.cost if self._adds_cost else -self.cost)

    def share(self, amount: int) -> Charge:
        """Return the charge for a part of the amount, at the same rates, with a proportional share of the fees."""
        whole = self.conversion
        base, holder = (portion(each, amount, whole.amount) for each in (whole.base_amount, whole.holder_amount))
        part = replace(whole, amount=amount, base_amount=base, holder_amount=holder, fee=abs(holder - base))
        shares = [replace(fee, amount=portion(fee.amount, amount, whole.amount)) for fee in self.fees]
        return replace(self, conversion=part, fees=[fee for fee in shares if fee.amount])

    def increase_over(self, before: Charge) -> Charge:
        """Return the amount and fees of this charge that exceed ``before``, as a charge."""
        paid = {fee.code: fee.amount for fee in before.fees}
        fees = [replace(fee, amount=fee.amount - paid.get(fee.code, 0)) for fee in self.fees]
        rest = self.share(self.conversion.amount - before.conversion.amount)
        return replace(rest, fees=[fee for fee in fees if fee.amount > 0])

    @property
    def reversal(self) -> Charge:
        """Return the charge that reverses this charge. It returns the amount and the conversion fee, but no other
        fees.
        """
        return replace(self, fees=(), debit=not self.debit, reverses=True)

    @cached_property
    def _adds_cost(self) -> bool:
        """Whether fees are added to the amount: for debits, and for reversals of debits."""
        return self.debit != self.reverses

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Charge:
        """Return a charge from its stored members, which are the result of ``dataclasses.asdict``."""
        conversion = plain["conversion"]
        rates = {name: Decimal(conversion[name]) for name in ("base_rate", "holder_rate")}
        made = {"conversion": Conversion(**{**conversion, **rates}), "fees": [Fee(**each) for each in plain["fees"]]}
        return cls(**{**plain, **made})

    def book(self, movement: Movement, account: LedgerAccount, against: str) -> None:
        """Book the base amount on the account, the counter-entry in ``against`` in the movement's currency, and the
        fees.
        """
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
        """Add the main transaction and a transaction for each separate fee to the account's list."""
        movement.list_transaction(account, main)
        for number, fee in zip(fee_ids, self.separate_fees, strict=True):
            movement.list_transaction(account, fee_transaction(number, fee, account, main))

    @property
    def separate_fees(self) -> list[Fee]:
        """The fees that are recorded as separate transactions and are not included in the transaction's amount."""
        return [fee for fee in self.fees if not fee.blended]

    @property
    def transaction_members(self) -> dict[str, Any]:
        """Return the members of the main transaction that this charge determines."""
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


NO_CHARGE = Charge(Conversion(0, 0, 0, 0, 0, Decimal(0), Decimal(0), 0), blends_conversion=False, fees=(), debit=True)
"""The charge in a message if the charge could not be computed. All amounts are zero."""


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
    """Return the fees in order, capped at a total of ``left``."""
    borne = []
    for fee in fees:
        amount = min(fee.amount, left)
        left -= amount
        borne += [replace(fee, amount=amount)] if amount else []
    return borne


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee in minor units of the account's currency.

    A ``blended`` fee is included in the transaction's amount. Otherwise the fee is a separate transaction.
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
    """Return the non-zero fees for a movement of ``amount`` in ``currency``.

    Each fee code uses its first matching entry. Raises: NoRate.
    """
    charged: dict[str, FeeEntry] = {}
    for entry in charged_entries(catalogue, group.entries if group else (), facts):
        if len(charged) < MOST_FEE_CODES and entry.code not in charged:
            charged[entry.code] = entry
    fees = [_price_entry(catalogue, entry, (amount, currency), account_currency) for entry in charged.values()]
    return [fee for fee in fees if fee.amount]


def entry_of(group: FeeGroup, code: str, currency: int, country: int | None = None) -> FeeEntry | None:
    """Return the entry for a custom fee: the first entry with this code that matches the currency and country.

    If no entry matches, return the first entry with this code. Return ``None`` if the code is unknown.
    """
    entries = [entry for entry in group.entries if entry.code == code]
    fitting = (entry for entry in entries if entry.currency == currency and in_country(entry, country))
    return next(fitting, entries[0] if entries else None)


def price_of(
    catalogue: Catalogue, entry: FeeEntry, account_currency: int, linked: tuple[int, int] | None = None
) -> Fee | None:
    """Return the price of a custom fee, possibly 0. ``linked`` has the amount and currency of the linked transaction.

    Without ``linked``, no percentage is charged, and the result is ``None`` if the entry has no fixed price. Raises:
    NoRate.
    """
    if linked is None and entry.fixed is None:
        return None
    return _price_entry(catalogue, entry, linked, account_currency)


def _price_entry(catalogue: Catalogue, entry: FeeEntry, base: tuple[int, int] | None, account_currency: int) -> Fee:
    """Return the price for an entry. The entry's percentage applies to ``base``, an amount and its currency. Raises:
    NoRate.
    """
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


_NO_RATE = "there is no exchange rate for this currency"


@dataclass(frozen=True, slots=True)
class PostingContext:
    """An account with its limit counters and configuration, as read from storage.

    Attributes:
        counters: the counters of the account, and of its holder and the card if present.
        limit_group_ids: the limit groups of the holder and the card.
        holder_country: the holder's numeric country code.
        fee_group_id: the fee group of card use, by default the account's group.
    """

    catalogue: Catalogue
    account: LedgerAccount
    counters: Sequence[Counters]
    limit_group_ids: Mapping[str, int | None] = field(default_factory=dict)
    holder_country: int | None = None
    fee_group_id: int | None = None

    def attributes(self, transaction_type: int, currency: int, country: int | None) -> TransactionAttributes:
        """Return an external payment's attributes for fees and limits. ``country`` is the country of the counterparty's
        bank.
        """
        return TransactionAttributes(transaction_type, currency, country=country, holder_country=self.holder_country)

    def charge(
        self, facts: TransactionAttributes, amount: int, *, debit: bool, cleared: ClearedAmount | None = None
    ) -> Charge:
        """Return the charge for ``amount`` in ``facts.currency`` on the account. Raises: Refused.

        Fees on a credit never exceed the credited amount. ``cleared`` is the cleared amount that a refund returns, in
        part or in full, if known.
        """
        catalogue, account = self.catalogue, self.account
        group = catalogue.fee_groups.get(self.fee_group_id or account.fee_group_id or 0)
        try:
            converted = convert_movement(catalogue, facts, account.currency, amount, debit=debit, cleared=cleared)
            fees = fees_of(catalogue, group, facts, amount, facts.currency, account.currency)
        except NoRate:
            raise Refused(Status.CURRENCY_NOT_SUPPORTED, _NO_RATE) from None
        programme = catalogue.account_programmes.get(account.program_id or 0)
        blends = programme is None or programme.conversion_fee_blended
        return Charge(converted, blends, fees if debit else fees_within(fees, converted.holder_amount), debit)

    def purchase_amount(self, currency: int, amount: int) -> int:
        """Return the amount that a purchase debits, with the conversion fee but no other fees. Raises: Refused."""
        taken = conversion(self.catalogue, amount, currency, self.account.currency, debit=True)
        if taken is None:
            raise Refused(Status.CURRENCY_NOT_SUPPORTED, _NO_RATE)
        return taken.holder_amount

    def require_funds(self, amount: int) -> None:
        """Check that ``amount`` is available. Raises: Refused."""
        if self.account.available < amount:
            raise Refused(Status.NO_FUNDS)

    def count(
        self,
        facts: TransactionAttributes,
        amount: int,
        now: int,
        tally: CounterChanges,
        *,
        forced: bool = False,
        further: int | None = None,
    ) -> Usage:
        """Count a movement in all limits, or in none, and return the movement's counts. Raises: OverLimit, Refused.

        A movement is never refused if ``forced`` is true. ``further`` is an amount of the same transaction that was
        already counted. If the holder or card is assigned a different limit group after the read, the new group applies
        from the next movement.
        """
        catalogue = self.catalogue
        group_ids: dict[str, int | None] = {"account": self.account.limit_group_id, **self.limit_group_ids}
        groups = [
            catalogue.limit_groups.get(group_ids[counters.owner.partition("#")[0]] or 0) for counters in self.counters
        ]
        limits = zip(self.counters, groups, strict=True)
        try:
            return tally.count(catalogue, limits, facts, amount, now, forced=forced, further=further)
        except NoRate:
            raise Refused(Status.CURRENCY_NOT_SUPPORTED, "there is no exchange rate for a limit") from None

    def release(self, usage: Usage | None, tally: CounterChanges) -> None:
        """Subtract the counts of a movement from the limits."""
        for counters in self.counters:
            if counted := (usage or {}).get(counters.owner):
                tally.give_back(counters, (WindowUsage(**each) for each in counted))

    @property
    def card_counters(self) -> list[Counters]:
        """Return the counters of the movement's card, or an empty list if the movement has no card."""
        return [counters for counters in self.counters if counters.owner.startswith("card#")]
