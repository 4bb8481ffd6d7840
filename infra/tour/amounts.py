"""Amounts as people read them: 45.90 EUR."""

from __future__ import annotations

from chalicelib.foundation.fields.registries import currency_numbers, minor_units


def major(amount: int, currency: int, *, signed: bool = False) -> str:
    """An amount in minor units of a currency (ISO 4217, numeric) in whole ones, with its decimals and its letters."""
    digits = minor_units()[currency]
    whole, rest = divmod(abs(amount), 10**digits)
    sign = "-" if amount < 0 else "+" if signed else ""
    decimals = f".{rest:0{digits}}" if digits else ""
    return f"{sign}{whole:,}{decimals} {currency_numbers()[currency]}"
