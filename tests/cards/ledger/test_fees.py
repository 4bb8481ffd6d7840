"""Tests of fees: the first matching entry of each code, fixed and percentage parts, minimum, maximum and conversion."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.cards.ledger.charges import Fee, entry_of, fees_of, price_of
from chalicelib.cards.ledger.conversion import NoRate
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.programs.catalogue import Catalogue, FeeEntry, FeeGroup, Rate, Region

EUR, GBP, USD, JPY, KWD = 978, 826, 840, 392, 414
DE, FR, US = 276, 250, 840
MARKED_UP = Decimal(10)
CATALOGUE = Catalogue(
    1,
    "",
    rates={
        (USD, EUR): Rate(Decimal("0.925"), MARKED_UP),
        (EUR, USD): Rate(Decimal("1.08"), MARKED_UP),
        (EUR, JPY): Rate(Decimal("161.25"), MARKED_UP),
        (JPY, EUR): Rate(Decimal("0.0062"), MARKED_UP),
        (EUR, KWD): Rate(Decimal("0.333"), MARKED_UP),
    },
    regions={1: Region(1, "Europe", (DE, FR))},
)
PURCHASE = TransactionAttributes(0, EUR, entry_mode=7, mcc=5411, country=FR, holder_country=DE)


def entry(code: str = "POS", **members: Any) -> FeeEntry:
    return FeeEntry(code, f"Fee {code}", **{"currency": EUR, **members})


def group(*entries: FeeEntry) -> FeeGroup:
    return FeeGroup(3, "Fees", entries)


def charged(amount: int, *entries: FeeEntry, currency: int = EUR, account: int = EUR) -> list[int]:
    facts = replace(PURCHASE, currency=currency)
    return [fee.amount for fee in fees_of(CATALOGUE, group(*entries), facts, amount, currency, account)]


def test_a_fee_has_its_code_description_amount_and_blended_flag() -> None:
    entries = [entry("POS", fixed=25), entry("FX", percent=Decimal(1), blended=True)]

    assert fees_of(CATALOGUE, group(*entries), PURCHASE, 10_00, EUR, EUR) == [
        Fee("POS", "Fee POS", 25, blended=False),
        Fee("FX", "Fee FX", 10, blended=True),
    ]


def test_no_fee_is_charged_without_a_fee_group_or_entries() -> None:
    assert fees_of(CATALOGUE, None, PURCHASE, 10_00, EUR, EUR) == []
    assert charged(10_00) == []


def test_the_first_matching_entry_of_each_code_is_charged() -> None:
    entries = [
        entry("ATM", fixed=1, transaction_type=1),
        entry("POS", fixed=2, entry_mode=5),
        entry("POS", fixed=3, entry_mode=7),
        entry("POS", fixed=4),
        entry("ALL", fixed=5),
    ]

    assert charged(10_00, *entries) == [3, 5]
    assert charged(10_00, *reversed(entries)) == [5, 4]


def test_a_matching_free_entry_prevents_charges_by_later_entries_with_the_same_code() -> None:
    assert charged(10_00, entry(fixed=0, entry_mode=7), entry(fixed=50)) == []


@pytest.mark.parametrize(
    ("asked", "falls"),
    [
        ({"transaction_type": 0}, True),
        ({"transaction_type": 1}, False),
        ({"entry_mode": 7}, True),
        ({"entry_mode": 5}, False),
        ({"mcc_low": 5411, "mcc_high": 5411}, True),
        ({"mcc_low": 5412}, False),
        ({"mcc_high": 5410}, False),
        ({"country": FR}, True),
        ({"country": DE}, False),
        ({"region": 1}, True),
        ({"region": 2}, False),
    ],
)
def test_an_entry_charges_only_matching_transactions(asked: dict[str, Any], falls: bool) -> None:
    assert charged(10_00, entry(fixed=50, **asked)) == ([50] if falls else [])


@pytest.mark.parametrize(("amount", "price"), [(99, []), (100, [1]), (299, [1]), (300, [2])])
def test_a_percentage_fee_is_rounded_half_up(amount: int, price: list[int]) -> None:
    assert charged(amount, entry(percent=Decimal("0.5"))) == price


def test_the_fixed_part_of_a_fee_is_added_to_the_percentage() -> None:
    assert charged(10_00, entry(fixed=30, percent=Decimal("1.5"))) == [45]
    assert charged(0, entry(fixed=30, percent=Decimal("1.5"))) == [30]


@pytest.mark.parametrize(("amount", "price"), [(0, 50), (49_00, 50), (50_00, 50), (51_00, 51)])
def test_a_price_below_the_minimum_is_raised_to_the_minimum(amount: int, price: int) -> None:
    assert charged(amount, entry(percent=Decimal(1), minimum=50)) == [price]


@pytest.mark.parametrize(("amount", "price"), [(199_00, 199), (200_00, 200), (201_00, 200), (9_999_999_00, 200)])
def test_a_price_above_the_maximum_is_lowered_to_the_maximum(amount: int, price: int) -> None:
    assert charged(amount, entry(percent=Decimal(1), maximum=200)) == [price]


@pytest.mark.parametrize(
    ("fixed", "price"), [(49, [50]), (50, [50]), (51, [51]), (99, [99]), (100, [100]), (101, [100])]
)
def test_the_minimum_and_the_maximum_of_a_fee_apply_to_its_fixed_part(fixed: int, price: list[int]) -> None:
    assert charged(10_00, entry(fixed=fixed, minimum=50, maximum=100)) == price


def test_a_maximum_of_zero_charges_nothing() -> None:
    assert charged(10_00, entry(fixed=50, maximum=0)) == []


def test_the_minimum_and_the_maximum_apply_to_the_sum_of_the_fixed_part_and_the_percentage() -> None:
    assert charged(10_00, entry(fixed=30, percent=Decimal(3), maximum=50)) == [50]
    assert charged(10_00, entry(fixed=30, percent=Decimal(3), minimum=60)) == [60]


def test_a_percentage_applies_to_the_amount_in_the_entrys_currency() -> None:
    """100.00 dollars equal 92.50 euros."""
    assert charged(100_00, entry(percent=Decimal(2)), currency=USD) == [1_85]


def test_the_minimum_and_the_maximum_apply_in_the_entrys_currency_before_the_conversion() -> None:
    """The maximum of 2.00 euros equals 322.5 yen."""
    assert charged(1_000_00, entry(percent=Decimal(1), maximum=200), account=JPY) == [323]
    assert charged(1_000_00, entry(percent=Decimal(1), maximum=200), account=KWD) == [666]


def test_each_step_of_a_fee_calculation_is_rounded_once() -> None:
    """1.50 USD is 138.75 euro cents, which is rounded to 139. The fee of 50 % is 69.5 cents, which is rounded to 70. 70
    euro cents are 112.875 yen, which is rounded to 113.
    """
    assert charged(1_50, entry(percent=Decimal(50)), currency=USD, account=JPY) == [113]


def test_a_fee_that_rounds_to_zero_in_the_account_currency_is_omitted() -> None:
    """A fee of one euro cent is 1.61 yen, which is rounded to two yen. A fee of one yen is 0.62 euro cents, which is
    rounded to one cent. A fee below half a cent is omitted.
    """
    assert charged(10_00, entry(fixed=1), account=JPY) == [2]
    assert charged(100, entry(fixed=1, currency=JPY), account=EUR) == [1]
    assert (
        fees_of(
            Catalogue(1, "", rates={(JPY, EUR): Rate(Decimal("0.0049"), MARKED_UP)}),
            group(entry(fixed=1, currency=JPY)),
            PURCHASE,
            100,
            JPY,
            EUR,
        )
        == []
    )


@pytest.mark.parametrize(
    ("members", "currency", "account"), [({"percent": Decimal(1)}, GBP, EUR), ({"fixed": 1}, EUR, GBP)]
)
def test_a_price_without_an_exchange_rate_raises_the_no_rate_error(
    members: dict[str, Any], currency: int, account: int
) -> None:
    with pytest.raises(NoRate):
        charged(10_00, entry(**members), currency=currency, account=account)


def test_a_fixed_price_needs_no_rate_for_the_movements_currency() -> None:
    assert charged(10_00, entry(fixed=25), currency=GBP) == [25]


@settings(max_examples=100)
@given(
    st.integers(0, 10**12),
    st.integers(0, 10**6),
    st.decimals(0, 100, places=4),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)
def test_a_price_is_always_between_its_minimum_and_maximum(
    amount: int, fixed: int, percent: Decimal, one_bound: int, other_bound: int
) -> None:
    minimum, maximum = sorted((one_bound, other_bound))
    made = price_of(
        CATALOGUE, entry(fixed=fixed, percent=percent, minimum=minimum, maximum=maximum), EUR, (amount, EUR)
    )
    exact = fixed + amount * Fraction(percent) / 100

    assert made is not None
    assert made.amount == min(max(int(exact + Fraction(1, 2)), minimum), maximum)


CUSTOM = group(
    entry("STMT", fixed=1),
    entry("CARD", fixed=500, currency=USD, country=US),
    entry("CARD", fixed=400, country=DE),
    entry("CARD", fixed=450),
)


@pytest.mark.parametrize(
    ("currency", "country", "fixed"),
    [(EUR, DE, 400), (EUR, FR, 450), (EUR, None, 450), (USD, US, 500), (USD, DE, 500), (GBP, DE, 500)],
)
def test_a_custom_fee_uses_the_matching_entry_or_the_first_entry_with_the_code(
    currency: int, country: int | None, fixed: int
) -> None:
    found = entry_of(CUSTOM, "CARD", currency, country)

    assert found is not None
    assert found.fixed == fixed


def test_an_unknown_fee_code_has_no_entry() -> None:
    assert entry_of(CUSTOM, "card", EUR) is None
    assert entry_of(group(), "CARD", EUR) is None


@pytest.mark.parametrize(
    ("members", "price"),
    [
        ({"fixed": 400}, 400),
        ({"fixed": 400, "percent": Decimal(5)}, 400),
        ({"fixed": 400, "percent": Decimal(5), "maximum": 399}, 399),
        ({"fixed": 400, "minimum": 401}, 401),
        ({"fixed": 0}, 0),
        ({"percent": Decimal(5)}, None),
        ({"percent": Decimal(5), "minimum": 100}, None),
    ],
)
def test_a_custom_fee_without_a_transaction_is_the_fixed_price(members: dict[str, Any], price: int | None) -> None:
    made = price_of(CATALOGUE, entry(**members), EUR)

    assert (made and made.amount) == price


def test_a_custom_fee_for_a_transaction_includes_the_percentage_of_the_amount() -> None:
    both = entry(fixed=400, percent=Decimal(5))

    assert price_of(CATALOGUE, both, EUR, (10_00, EUR)) == Fee("POS", "Fee POS", 450, blended=False)
    assert price_of(CATALOGUE, both, EUR, (10_00, USD)) == Fee("POS", "Fee POS", 446, blended=False)
    assert price_of(CATALOGUE, replace(both, fixed=None), EUR, (10_00, EUR)) == Fee("POS", "Fee POS", 50, blended=False)


def test_a_custom_fee_is_charged_in_the_accounts_currency() -> None:
    made = price_of(CATALOGUE, entry(fixed=2_00), JPY)

    assert made is not None
    assert made.amount == 323
    with pytest.raises(NoRate):
        price_of(CATALOGUE, entry(fixed=2_00), GBP)
