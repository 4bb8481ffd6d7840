"""Amounts are displayed and parsed in whole units with the currency's decimals, without rounding."""

import pytest

from chalicelib.website.cards.card_text import InvalidAmount, money, parse_amount

EUR, JPY, KWD = 978, 392, 414


@pytest.mark.parametrize(
    ("amount", "currency", "read"),
    [
        (123_450, EUR, "1,234.50 EUR"),
        (0, EUR, "0.00 EUR"),
        (-5, EUR, "\u22120.05 EUR"),
        (1_500, JPY, "1,500 JPY"),
        (1_500, KWD, "1.500 KWD"),
    ],
)
def test_an_amount_is_shown_with_the_decimals_of_its_currency(amount: int, currency: int, read: str) -> None:
    assert money(amount, currency) == read


@pytest.mark.parametrize(
    ("written", "currency", "amount"),
    [
        ("25", EUR, 2_500),
        (" 25.5 ", EUR, 2_550),
        ("1,234.50", EUR, 123_450),
        ("0.001", KWD, 1),
        ("1500", JPY, 1_500),
        ("1,500", JPY, 1_500),
        ("1,234,567,890,123.45", EUR, 123_456_789_012_345),
        ("1234.56", EUR, 123_456),
        ("9999999999999", EUR, 999_999_999_999_900),
    ],
)
def test_an_entered_amount_is_parsed_without_rounding(written: str, currency: int, amount: int) -> None:
    assert parse_amount(written, currency) == amount


NO_AMOUNTS = ["", "a lot", "-5", "1.234", "1e3", "٣", ".5", "5.", "1" * 14, "NaN", "1 000"]
MISPLACED = ["1,50", "12,34", "0,500", "1234,567", "1,2345", ",500", "1,234,56", "1,,234", "1,234.5,0", "1.234,50"]
"""Invalid amounts with misplaced commas. A comma separates thousands and is not a decimal separator."""


@pytest.mark.parametrize("written", [*NO_AMOUNTS, *MISPLACED, "12,345,678,901,234"])
def test_an_invalid_amount_is_rejected_with_an_example_of_the_format(written: str) -> None:
    with pytest.raises(InvalidAmount, match=r"Enter an amount of EUR such as 25\.00"):
        parse_amount(written, EUR)


def test_a_currency_without_decimals_rejects_decimals() -> None:
    with pytest.raises(InvalidAmount, match="of JPY such as 2500"):
        parse_amount("10.5", JPY)
