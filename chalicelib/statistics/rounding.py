"""How figures are rounded: to a number of decimal places, halves away from zero."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def round_half_up(number: Decimal, places: int) -> Decimal:
    """With so many decimal places."""
    return number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def percent(part: int, whole: int) -> Decimal | None:
    """With three decimal places; ``None`` of nothing."""
    return round_half_up(Decimal(100 * part) / whole, 3) if whole else None
