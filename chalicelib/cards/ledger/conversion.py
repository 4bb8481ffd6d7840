"""Percentages and currency conversions, computed exactly and rounded once.

Amounts are non-negative integers in minor units. Currencies are numeric ISO 4217 codes and differ in their decimal
places: the yen has none, the Kuwaiti dinar has three.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation

from chalicelib.cards.programs.catalogue import Catalogue, Rate
from chalicelib.foundation.fields.registries import minor_units
from chalicelib.foundation.lazy_dataclasses import dataclass

_EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])
"""Keeps every digit of amount times rate times percentage; raises an error if a digit would be lost."""
_ONE = Decimal(1)
NEAREST, UP, DOWN = ROUND_HALF_UP, ROUND_CEILING, ROUND_FLOOR
"""Rounding to minor units: half away from zero, or never in the holder's favour."""


class NoRate(Exception):
    """There is no exchange rate from the currency ``of`` to the currency ``to``."""

    def __init__(self, of: int, to: int) -> None:
        super().__init__(f"there is no exchange rate from {of} to {to}")


@dataclass(frozen=True, slots=True)
class Conversion:
    """An amount converted into an account's currency.

    ``base_amount`` is ``amount`` at the base rate. ``holder_amount`` is the amount that the holder pays or receives, at
    the base rate plus or minus the programme's markup. ``fee`` is the difference.
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
    """Round to an integer: ``NEAREST`` (halves away from zero), ``UP`` or ``DOWN``."""
    return int(exact.to_integral_value(rounding))


def percentage(amount: int, percent: Decimal) -> int:
    """``percent`` per cent of ``amount``, rounded to the nearest minor unit."""
    return round_exact(_EXACT.scaleb(_EXACT.multiply(amount, percent), -2))


def portion(whole: int, part: int, of: int) -> int:
    """``whole`` times the ratio of ``part`` to ``of``, rounded half up; at most ``whole``."""
    if part >= of:
        return whole
    return (2 * whole * part + of) // (2 * of)


def convert(amount: int, rate: Decimal, of: int, to: int, rounding: str = NEAREST) -> int:
    """Convert an amount at ``rate``, the price of one major unit of ``of`` in major units of ``to``.

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
    """Convert an amount for an account in currency ``to`` that pays (``debit``) or receives it.

    Returns ``None`` if there is no rate.
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
    """The rate between two different currencies; ``None`` if there is none or one has no ISO 4217 minor units."""
    return catalogue.rate(of, to) if {of, to} <= minor_units().keys() else None
