"""Amounts of money as people write them: whole units of a currency with its decimals, and its code.

Currencies are numeric codes of ISO 4217, amounts inside the service are in minor units.
"""

from __future__ import annotations

import re
from decimal import Decimal

from chalicelib.foundation.fields.registries import currency_numbers, minor_units

_WRITTEN = re.compile(r"(?:[0-9]{1,13}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,3}|[1-9](?:,[0-9]{3}){4})(?:\.[0-9]{1,4})?")
"""At most 13 digits before the point, and commas as marks of thousands only."""
_MINUS = "\u2212"


class InvalidAmount(ValueError):
    """What somebody wrote is no amount of the currency; the message says what would be."""


def amount_text(amount: int, currency: int) -> str:
    """``1,234.50`` for 123450 euro cents."""
    decimals = minor_units().get(currency, 0)
    text = f"{Decimal(abs(amount)).scaleb(-decimals):,.{decimals}f}"
    return f"{_MINUS}{text}" if amount < 0 else text


def currency_code(currency: int) -> str:
    """``EUR`` for 978."""
    return currency_numbers().get(currency, str(currency))


def money(amount: int, currency: int) -> str:
    """``1,234.50 EUR`` for 123450 euro cents."""
    return f"{amount_text(amount, currency)} {currency_code(currency)}"


def parse_amount(written: str, currency: int) -> int:
    """What somebody wrote, ``1234.5`` or ``1,234.50``, in minor units. Raises: InvalidAmount."""
    decimals = minor_units().get(currency, 0)
    text = written.strip()
    if not _WRITTEN.fullmatch(text) or len(text.partition(".")[2]) > decimals:
        example = f"{Decimal(2500).scaleb(-decimals):.{decimals}f}"
        raise InvalidAmount(f"Write an amount of {currency_code(currency)} like {example}.")
    return int(Decimal(text.replace(",", "")).scaleb(decimals))
