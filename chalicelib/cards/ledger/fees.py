"""What movements of money cost: the prices in fee groups.

A price is a fixed part and a percentage of the movement's amount, together at least the minimum and at most the
maximum. It is found in the currency of the entry, and then converted into the account's. Conversions are at the base
rate, and every conversion and percentage is rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.cards.ledger.conversion import convert_at_base_rate, percentage
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes, in_country, is_charged
from chalicelib.cards.programs.catalogue import MOST_FEE_CODES, Catalogue, FeeEntry, FeeGroup


@dataclass(frozen=True, slots=True)
class Fee:
    """A price to be paid, in minor units of the account's currency.

    ``blended`` says whether it is part of the transaction's amount, or a transaction of its own.
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
    """What a movement of ``amount`` in ``currency`` costs: for each code the first entry that it falls under.

    Raises: NoRate.
    """
    charged: dict[str, FeeEntry] = {}
    for entry in group.entries if group else ():
        if len(charged) < MOST_FEE_CODES and entry.code not in charged and is_charged(catalogue, entry, facts):
            charged[entry.code] = entry
    fees = [_fee(catalogue, entry, (amount, currency), account_currency) for entry in charged.values()]
    return [fee for fee in fees if fee.amount]


def entry_of(group: FeeGroup, code: str, currency: int, country: int | None = None) -> FeeEntry | None:
    """The entry that a custom fee is charged by: the first of the code in this currency for this country.

    Where there is none, the first of the code; ``None`` for a code that the group does not have.
    """
    entries = [entry for entry in group.entries if entry.code == code]
    fitting = (entry for entry in entries if entry.currency == currency and in_country(entry, country))
    return next(fitting, entries[0] if entries else None)


def price_of(
    catalogue: Catalogue, entry: FeeEntry, account_currency: int, linked: tuple[int, int] | None = None
) -> Fee | None:
    """The price of a custom fee, which may be 0; ``linked`` is amount and currency of the transaction that it is for.

    Without such a transaction it is the fixed part, and ``None`` for an entry that has none.

    Raises: NoRate.
    """
    if linked is None and entry.fixed is None:
        return None
    return _fee(catalogue, entry, linked, account_currency)


def _fee(catalogue: Catalogue, entry: FeeEntry, base: tuple[int, int] | None, account_currency: int) -> Fee:
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
