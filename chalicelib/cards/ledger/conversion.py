"""Percentages, currency conversions and the cleared amounts that a refund returns, computed exactly and rounded once.

Amounts are non-negative integers in minor units. Currencies are numeric ISO 4217 codes and differ in their decimal
places: the yen has none, the Kuwaiti dinar has three.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation
from typing import Self

from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.programs.catalogue import Catalogue, Rate
from chalicelib.cards.protocol.values import EXTERNAL_TYPES
from chalicelib.foundation.fields.registries import minor_units
from chalicelib.foundation.lazy_dataclasses import dataclass

_EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])
"""The decimal context for exact products of amount, rate and percentage. An error is raised if a digit would be lost.
"""
_ONE = Decimal(1)
NEAREST, UP, DOWN = ROUND_HALF_UP, ROUND_CEILING, ROUND_FLOOR
"""Rounding modes for minor units. ``NEAREST`` rounds halves away from zero. ``UP`` and ``DOWN`` ensure that rounding is
never in the holder's favour.
"""


class NoRate(Exception):
    """There is no exchange rate from the currency ``of`` to the currency ``to``."""

    def __init__(self, of: int, to: int) -> None:
        super().__init__(f"there is no exchange rate from {of} to {to}")


@dataclass(frozen=True, slots=True)
class Conversion:
    """An amount converted into an account's currency.

    ``base_amount`` is ``amount`` at the base rate. ``holder_amount`` is the amount that the holder pays or receives, at
    the base rate plus or minus the programme's markup. ``fee`` is the difference between these two amounts.
    """

    amount: int
    currency: int
    base_amount: int
    holder_amount: int
    holder_currency: int
    base_rate: Decimal
    holder_rate: Decimal
    fee: int


def round_exact(exact: Decimal, rounding: str = NEAREST) -> int:
    """Round a number to an integer. The mode is ``NEAREST`` (halves away from zero), ``UP`` or ``DOWN``."""
    return int(exact.to_integral_value(rounding))


def percentage(amount: int, percent: Decimal) -> int:
    """Return ``percent`` per cent of ``amount``, rounded to the nearest minor unit."""
    return round_exact(_EXACT.scaleb(_EXACT.multiply(amount, percent), -2))


def portion(whole: int, part: int, of: int) -> int:
    """Return ``whole * part / of``, rounded half up and limited to ``whole``."""
    if part >= of:
        return whole
    return (2 * whole * part + of) // (2 * of)


def convert(amount: int, rate: Decimal, of: int, to: int, rounding: str = NEAREST) -> int:
    """Convert an amount at ``rate``, the price of one major unit of the currency ``of`` in major units of the currency
    ``to``.

    ISO 4217 must define minor units for both currencies.
    """
    digits = minor_units()
    return round_exact(_EXACT.scaleb(_EXACT.multiply(amount, rate), digits[to] - digits[of]), rounding)


def convert_at_base_rate(catalogue: Catalogue, amount: int, of: int, to: int) -> int:
    """Convert an amount from the currency ``of`` to the currency ``to`` without markup. Raises: NoRate."""
    if of == to:
        return amount
    rate = _rate(catalogue, of, to)
    if rate is None:
        raise NoRate(of, to)
    return convert(amount, rate.base, of, to)


def conversion(
    catalogue: Catalogue, amount: int, currency: int, to: int, *, debit: bool, rounding: str = NEAREST
) -> Conversion | None:
    """Return an amount's conversion for an account in the currency ``to``, or ``None`` if there is no rate.

    The account pays the amount if ``debit`` is true. Otherwise the account receives the amount.
    """
    if currency == to:
        return Conversion(amount, currency, amount, amount, to, _ONE, _ONE, 0)
    rate = _rate(catalogue, currency, to)
    if rate is None:
        return None
    markup = _EXACT.scaleb(rate.markup_percent, -2)
    holder_rate = _EXACT.multiply(rate.base, _EXACT.add(_ONE, markup if debit else -markup))
    base_amount = convert(amount, rate.base, currency, to, rounding)
    holder_amount = convert(amount, holder_rate, currency, to, rounding)
    fee = abs(holder_amount - base_amount)
    return Conversion(amount, currency, base_amount, holder_amount, to, rate.base, holder_rate, fee)


def _rate(catalogue: Catalogue, of: int, to: int) -> Rate | None:
    """Return the rate between two different currencies.

    Return ``None`` if there is no rate, or if ISO 4217 defines no minor units for a currency.
    """
    return catalogue.rates.get((of, to)) if {of, to} <= minor_units().keys() else None


@dataclass(frozen=True, slots=True)
class ClearedAmount:
    """The clearings of one ``trans_link`` in one currency, in minor units.

    Attributes:
        amount: the cleared amount in that currency. ``given_back`` is the refunded or disputed part.
        debited: the amount debited from the account, in its currency, with the conversion fee but no other fees.
        credited: the part of ``debited`` that was returned to the account.
        rate: the base rate of all conversions, or ``None`` if the rates differ or are unknown.
    """

    amount: int
    debited: int
    rate: Decimal | None
    given_back: int = 0
    credited: int = 0

    @classmethod
    def of_clearing(cls, conversion: Conversion) -> Self:
        return cls(conversion.amount, conversion.holder_amount, conversion.base_rate)

    @property
    def left(self) -> int:
        """The amount that can still be refunded."""
        return self.amount - self.given_back

    def covers(self, credit: int) -> bool:
        """Whether ``credit`` can be returned to the account without exceeding ``debited``."""
        return self.credited + credit <= self.debited

    def add_clearing(self, conversion: Conversion) -> Self:
        return replace(
            self,
            amount=self.amount + conversion.amount,
            debited=self.debited + conversion.holder_amount,
            rate=self._common_rate(conversion),
        )

    def add_refund(self, conversion: Conversion) -> Self:
        after = self.give_back(conversion.amount, conversion.holder_amount)
        return replace(after, rate=self._common_rate(conversion))

    def give_back(self, amount: int, credit: int) -> Self:
        """Return the cleared amount after a dispute credit. For a lost dispute, pass negative values of ``amount`` and
        ``credit``.
        """
        return replace(self, given_back=self.given_back + amount, credited=self.credited + credit)

    def share(self, whole: int, part: int) -> int:
        """Return ``whole`` times the ratio of ``part`` to the cleared amount, rounded down."""
        return whole * part // self.amount

    def convert_refund(self, amount: int, debit: Conversion, credit: Conversion) -> Conversion:
        """Return the converted refund of ``amount``. ``debit`` and ``credit`` convert the whole cleared amount at
        today's rates.

        A refund credits the rounded-down share of all refunds to date, minus the amount already credited. As a result,
        many small refunds credit no more than one large refund, and the last refund credits the remainder. If the rate
        has changed, a refund credits its own share at today's rate. In total, refunds never credit more than their
        share of ``debited``.
        """
        if credit.currency == credit.holder_currency:
            return replace(credit, amount=amount, base_amount=amount, holder_amount=amount)
        whole, given_back = credit.holder_amount, self.given_back + amount
        before = self.share(whole, self.given_back)
        if self.rate == credit.base_rate:
            whole = max(0, self.debited - debit.fee - credit.fee)
            before = min(self.share(whole, self.given_back), self.credited)
        most = max(0, self.share(self.debited, given_back) - self.credited)
        holder_amount = min(self.share(whole, given_back) - before, most)
        fee = self.share(credit.fee, given_back) - self.share(credit.fee, self.given_back)
        return replace(credit, amount=amount, base_amount=holder_amount + fee, holder_amount=holder_amount, fee=fee)

    def _common_rate(self, conversion: Conversion) -> Decimal | None:
        return self.rate if self.rate == conversion.base_rate else None


def convert_movement(
    catalogue: Catalogue,
    facts: TransactionAttributes,
    to: int,
    amount: int,
    *,
    debit: bool,
    cleared: ClearedAmount | None = None,
) -> Conversion:
    """Convert a movement's amount into the currency ``to``. External payments are rounded in the programme's favour.

    ``cleared`` is the cleared amount that a refund returns, in part or in full, if known. Raises: NoRate.
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
