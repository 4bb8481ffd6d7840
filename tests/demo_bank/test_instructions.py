"""Money is read from messages exactly and written with two decimals."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from chalicelib.demo_bank.instructions import UnpayableAmount, decimal_amount, to_minor_units
from chalicelib.foundation import jsontext


@pytest.mark.parametrize(
    ("amount", "minor"),
    [
        ("12.50", 1250),
        ("12.5", 1250),
        ("12", 1200),
        (7, 700),
        ("0.01", 1),
        ("007.10000", 710),
        (Decimal("0.29"), 29),
        (jsontext.loads("1234567890123.45"), 123456789012345),
    ],
)
def test_amounts_become_minor_units_without_rounding(amount: Any, minor: int) -> None:
    assert to_minor_units(amount) == minor


@pytest.mark.parametrize("amount", ["0.001", "1.999", "12345678901234", "9" * 70])
def test_what_cannot_be_paid_exactly_or_at_all_is_refused(amount: str) -> None:
    with pytest.raises(UnpayableAmount):
        to_minor_units(amount)


def test_amounts_are_written_with_two_decimals() -> None:
    assert [str(decimal_amount(minor)) for minor in (1250, 5, 0, -1, 100)] == ["12.50", "0.05", "0.00", "-0.01", "1.00"]
