"""Tests of currency conversion: the exact result is rounded once, and halves are rounded away from zero."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.cards.ledger.conversion import (
    DOWN,
    NEAREST,
    UP,
    NoRate,
    conversion,
    convert,
    convert_at_base_rate,
    percentage,
    round_exact,
)
from chalicelib.cards.programs.catalogue import Catalogue, Rate

EUR, GBP, USD, JPY, KWD, CLF, XAU = 978, 826, 840, 392, 414, 990, 959
SIX_FIGURES = {
    "ATS": "13.7603",
    "BEF": "40.3399",
    "CYP": "0.585274",
    "DEM": "1.95583",
    "EEK": "15.6466",
    "ESP": "166.386",
    "FIM": "5.94573",
    "FRF": "6.55957",
    "GRD": "340.750",
    "HRK": "7.53450",
    "IEP": "0.787564",
    "ITL": "1936.27",
    "LTL": "3.45280",
    "LVL": "0.702804",
    "MTL": "0.429300",
    "NLG": "2.20371",
    "PTE": "200.482",
    "SIT": "239.640",
    "SKK": "30.1260",
}
"""The value of one euro in each currency that the euro replaced (Council Regulation 2866/98 and its successors)."""
AMOUNTS = st.integers(0, 10**15 - 1)
RATES = st.decimals("0.000000001", "999999999.999999999", places=9, allow_nan=False)
CURRENCIES = st.sampled_from([EUR, USD, JPY, KWD, CLF])


def catalogue(markup: str = "0", **rates: str) -> Catalogue:
    """Return a catalogue with exchange rates, which are named by currency pair, such as ``EUR_USD``."""
    numbers = {"EUR": EUR, "USD": USD, "JPY": JPY, "KWD": KWD, "CLF": CLF, "XAU": XAU}
    pairs = {pair: Rate(Decimal(rate), Decimal(markup)) for pair, rate in rates.items()}
    return Catalogue(1, "", rates={(numbers[pair[:3]], numbers[pair[4:]]): rate for pair, rate in pairs.items()})


@pytest.mark.parametrize(
    ("exact", "whole"),
    [
        ("0", 0),
        ("0.4999999999999999999999999999999999", 0),
        ("0.5", 1),
        ("1.4", 1),
        ("1.5", 2),
        ("2.5", 3),
        ("2.499999999999999999999999999999999999999", 2),
        ("-0.5", -1),
        ("-2.5", -3),
        ("123456789012345678901234567890123456.5", 123456789012345678901234567890123457),
    ],
)
def test_half_a_minor_unit_is_rounded_away_from_zero(exact: str, whole: int) -> None:
    assert round_exact(Decimal(exact)) == whole


@pytest.mark.parametrize(
    ("amount", "percent", "part"),
    [
        (0, "50", 0),
        (99, "0.5", 0),
        (100, "0.5", 1),
        (299, "0.5", 1),
        (300, "0.5", 2),
        (10_000, "1.25", 125),
        (10_039, "1.25", 125),
        (10_040, "1.25", 126),
        (999_999_999_999_999, "99.99999999", 999_999_999_899_999),
        (1, "100", 1),
    ],
)
def test_a_percentage_of_an_amount_is_rounded_only_once(amount: int, percent: str, part: int) -> None:
    assert percentage(amount, Decimal(percent)) == part


@pytest.mark.parametrize(
    ("currency", "amount", "euro_cents"),
    [
        ("DEM", 1000, 511_29),
        ("FRF", 100, 15_24),
        ("BEF", 1000, 24_79),
        ("ITL", 10_000, 5_16),
        ("ESP", 1000, 6_01),
        ("IEP", 100, 126_97),
        ("ATS", 1000, 72_67),
        ("NLG", 100, 45_38),
        ("PTE", 1000, 4_99),
        ("FIM", 100, 16_82),
        ("GRD", 1000, 2_93),
        ("SIT", 10_000, 41_73),
        ("CYP", 100, 170_86),
        ("MTL", 100, 232_94),
        ("SKK", 1000, 33_19),
        ("EEK", 1000, 63_91),
        ("LVL", 100, 142_29),
        ("LTL", 1000, 289_62),
        ("HRK", 1000, 132_72),
    ],
)
def test_national_currencies_convert_to_euros_by_regulation_1103_97(
    currency: str, amount: int, euro_cents: int
) -> None:
    """The test uses pounds for the old currencies, which ISO 4217 no longer lists."""
    rate = 1 / Decimal(SIX_FIGURES[currency])

    assert convert(amount * 100, rate, GBP, EUR) == euro_cents


@pytest.mark.parametrize(
    ("euros", "currency", "stand_in", "minor"),
    [
        (1, "DEM", GBP, 1_96),
        (1000, "DEM", GBP, 1955_83),
        (100, "FRF", GBP, 655_96),
        (100, "IEP", GBP, 78_76),
        (100, "BEF", JPY, 4034),
        (10, "ITL", JPY, 19_363),
        (100, "ESP", JPY, 16_639),
        (5, "ESP", JPY, 832),
    ],
)
def test_euros_convert_to_national_currencies_at_the_irrevocable_rates(
    euros: int, currency: str, stand_in: int, minor: int
) -> None:
    """Yen represent old currencies without minor units, and pounds represent old currencies with hundredths."""
    assert convert(euros * 100, Decimal(SIX_FIGURES[currency]), EUR, stand_in) == minor


@pytest.mark.parametrize(
    ("amount", "rate", "of", "to", "result"),
    [
        (100, "1", EUR, JPY, 1),
        (149, "1", EUR, JPY, 1),
        (150, "1", EUR, JPY, 2),
        (1, "1", JPY, EUR, 100),
        (1, "1", JPY, KWD, 1000),
        (1004, "1", KWD, EUR, 100),
        (1005, "1", KWD, EUR, 101),
        (1, "1", EUR, KWD, 10),
        (1, "1", JPY, CLF, 10_000),
        (4999, "1", CLF, JPY, 0),
        (5000, "1", CLF, JPY, 1),
        (1_00, "161.25", EUR, JPY, 161),
        (2_00, "161.25", EUR, JPY, 323),
        (1_000_00, "0.333", EUR, KWD, 333_000),
        (0, "161.25", EUR, JPY, 0),
    ],
)
def test_a_conversion_respects_the_minor_units_of_both_currencies(
    amount: int, rate: str, of: int, to: int, result: int
) -> None:
    assert convert(amount, Decimal(rate), of, to) == result


def test_a_conversion_of_the_longest_amount_and_rate_is_exact() -> None:
    rate = Decimal("123456789.123456789")
    exact = Fraction(999_999_999_999_999) * Fraction(rate)

    assert convert(999_999_999_999_999, rate, EUR, USD) == int(exact + Fraction(1, 2))


@settings(max_examples=100)
@given(AMOUNTS, RATES, CURRENCIES, CURRENCIES)
def test_a_conversion_equals_the_exact_fraction_rounded_half_up(amount: int, rate: Decimal, of: int, to: int) -> None:
    digits = {EUR: 2, USD: 2, JPY: 0, KWD: 3, CLF: 4}
    exact = Fraction(amount) * Fraction(rate) * Fraction(10) ** (digits[to] - digits[of])

    assert convert(amount, rate, of, to) == (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)


@settings(max_examples=100)
@given(AMOUNTS, AMOUNTS, RATES, CURRENCIES, CURRENCIES)
def test_a_larger_amount_never_converts_to_a_smaller_amount(
    one: int, other: int, rate: Decimal, of: int, to: int
) -> None:
    less, more = sorted((one, other))

    assert 0 <= convert(less, rate, of, to) <= convert(more, rate, of, to)


@pytest.mark.parametrize(
    ("debit", "holder_amount", "holder_rate", "fee"), [(True, 110_70, "1.107", 2_70), (False, 105_30, "1.053", 2_70)]
)
def test_the_markup_raises_debits_and_lowers_credits(
    debit: bool, holder_amount: int, holder_rate: str, fee: int
) -> None:
    made = conversion(catalogue(markup="2.5", EUR_USD="1.08"), 100_00, EUR, USD, debit=debit)

    assert made is not None
    assert made.amount == 100_00
    assert made.currency == EUR
    assert made.holder_currency == USD
    assert (made.base_amount, made.base_rate) == (108_00, Decimal("1.08"))
    assert (made.holder_amount, made.holder_rate) == (holder_amount, Decimal(holder_rate))
    assert made.fee == fee


@pytest.mark.parametrize(
    ("amount", "debit", "base_amount", "holder_amount"),
    [
        (33, True, 17, 17),
        (33, False, 17, 16),
        (49, True, 25, 25),
        (50, True, 25, 26),
        (1, True, 1, 1),
        (1, False, 1, 0),
    ],
)
def test_the_base_amount_and_the_holder_amount_are_rounded_from_the_exact_rates(
    amount: int, debit: bool, base_amount: int, holder_amount: int
) -> None:
    """At a rate of 0.5 with a mark-up of 2 %, 33 converts to 16.5. For the holder, 33 converts to 16.83 or 16.17."""
    made = conversion(catalogue(markup="2", EUR_USD="0.5"), amount, EUR, USD, debit=debit)

    assert made is not None
    assert (made.base_amount, made.holder_amount) == (base_amount, holder_amount)
    assert made.fee == abs(holder_amount - base_amount)


@pytest.mark.parametrize(
    ("rounding", "debit", "base_amount", "holder_amount"),
    [(UP, True, 17, 17), (DOWN, False, 16, 16), (NEAREST, True, 17, 17), (NEAREST, False, 17, 16)],
)
def test_the_base_amount_and_the_holder_amount_are_rounded_in_the_same_direction(
    rounding: str, debit: bool, base_amount: int, holder_amount: int
) -> None:
    """The amount 33 converts to 16.5. For the holder, 33 converts to 16.83 or 16.17."""
    made = conversion(catalogue(markup="2", EUR_USD="0.5"), 33, EUR, USD, debit=debit, rounding=rounding)

    assert made is not None
    assert (made.base_amount, made.holder_amount) == (base_amount, holder_amount)


@settings(max_examples=100)
@given(st.lists(AMOUNTS, min_size=1, max_size=9), RATES)
def test_partial_payments_never_gain_from_rounding(amounts: list[int], rate: Decimal) -> None:
    """The sum of partial credits never exceeds one debit of the total amount.

    The sum of partial debits is never less than one credit of the total amount.
    """
    rates = Catalogue(1, "", rates={(EUR, JPY): Rate(rate, Decimal(0))})

    def moved(amount: int, *, debit: bool) -> int:
        made = conversion(rates, amount, EUR, JPY, debit=debit, rounding=UP if debit else DOWN)
        assert made is not None
        return made.holder_amount

    assert sum(moved(each, debit=False) for each in amounts) <= moved(sum(amounts), debit=True)
    assert moved(sum(amounts), debit=False) <= sum(moved(each, debit=True) for each in amounts)


def test_a_conversion_to_the_same_currency_is_free_of_charge() -> None:
    made = conversion(catalogue(), 12_345, EUR, EUR, debit=True)

    assert made is not None
    assert made.base_amount == 12_345
    assert made.holder_amount == 12_345
    assert made.fee == 0
    assert made.base_rate == made.holder_rate == 1
    assert convert_at_base_rate(catalogue(), 12_345, EUR, EUR) == 12_345


def test_a_rate_applies_only_in_its_direction() -> None:
    there = catalogue(markup="2", EUR_USD="1.08")

    assert convert_at_base_rate(there, 100_00, EUR, USD) == 108_00
    assert conversion(there, 100_00, USD, EUR, debit=True) is None
    with pytest.raises(NoRate) as missing:
        convert_at_base_rate(there, 100_00, USD, EUR)
    assert str(missing.value) == f"there is no exchange rate from {USD} to {EUR}"


def test_a_currency_without_minor_units_is_not_converted() -> None:
    gold = catalogue(EUR_XAU="0.0004", XAU_EUR="2500")

    assert conversion(gold, 100, EUR, XAU, debit=True) is None
    assert conversion(gold, 100, XAU, EUR, debit=True) is None
    with pytest.raises(NoRate):
        convert_at_base_rate(gold, 100, XAU, EUR)


@settings(max_examples=100)
@given(AMOUNTS, RATES, st.decimals(0, 100, places=4), st.booleans())
def test_the_rate_of_a_conversion_is_never_better_for_the_holder_than_the_base_rate(
    amount: int, rate: Decimal, markup: Decimal, debit: bool
) -> None:
    made = conversion(Catalogue(1, "", rates={(EUR, JPY): Rate(rate, markup)}), amount, EUR, JPY, debit=debit)

    assert made is not None
    assert made.base_amount == int(amount * Fraction(rate) / 100 + Fraction(1, 2))
    assert made.holder_amount - made.base_amount == (made.fee if debit else -made.fee)
    assert made.holder_amount >= 0
