"""Amounts are parsed without rounding and formatted with the decimals of their currency."""

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
def test_amounts_are_parsed_to_minor_units_without_rounding(amount: Any, minor: int) -> None:
    assert to_minor_units(amount, "EUR") == minor


@pytest.mark.parametrize("amount", ["0.001", "1.999", "12345678901234", "9" * 70])
def test_an_inexact_or_excessive_amount_is_rejected(amount: str) -> None:
    with pytest.raises(UnpayableAmount):
        to_minor_units(amount, "EUR")


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [("12", "JPY", 12), ("12.0", "JPY", 12), ("1.2", "KWD", 1200), ("1.002", "KWD", 1002)],
)
def test_minor_units_depend_on_the_currency(amount: str, currency: str, minor: int) -> None:
    assert to_minor_units(amount, currency) == minor


@pytest.mark.parametrize(("amount", "currency", "most"), [("1.5", "JPY", 0), ("1.2345", "KWD", 3)])
def test_an_amount_with_more_decimals_than_its_currency_is_rejected(amount: str, currency: str, most: int) -> None:
    with pytest.raises(UnpayableAmount, match=f"an amount in {currency} must have at most {most} decimal places"):
        to_minor_units(amount, currency)


@pytest.mark.parametrize(
    ("currency", "written"),
    [
        ("EUR", ["12.50", "0.05", "0.00", "-0.01", "1.00"]),
        ("JPY", ["1250", "5", "0", "-1", "100"]),
        ("KWD", ["1.250", "0.005", "0.000", "-0.001", "0.100"]),
    ],
)
def test_amounts_are_formatted_with_the_decimals_of_their_currency(currency: str, written: list[str]) -> None:
    assert [str(decimal_amount(minor, currency)) for minor in (1250, 5, 0, -1, 100)] == written
