"""Money in minor units: read from a message exactly, and written with its two decimals. Never a binary float."""

from __future__ import annotations

from decimal import Decimal

from chalicelib.demo_bank.customers import MINOR_DIGITS

_WHOLE_DIGITS = 13


class Unpayable(ValueError):
    """An amount that these banks cannot pay; the message says why."""


def minor_units(amount: object) -> int:
    """An accepted ``Amount`` in minor units. Raises: Unpayable."""
    whole, _, fraction = str(amount).partition(".")
    fraction = fraction.rstrip("0")
    if len(fraction) > MINOR_DIGITS:
        raise Unpayable(f"an amount must have at most {MINOR_DIGITS} decimals")
    if len(whole.lstrip("0")) > _WHOLE_DIGITS:
        raise Unpayable(f"an amount must have at most {_WHOLE_DIGITS} digits before the dot")
    return int(whole + fraction.ljust(MINOR_DIGITS, "0"))


def decimal_amount(minor: int) -> Decimal:
    """An amount in minor units as it is written in messages: ``1250`` as ``12.50``."""
    return Decimal(minor).scaleb(-MINOR_DIGITS)
