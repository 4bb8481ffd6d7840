"""Tests of the modulus check for British account numbers: published examples and edge cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.cards.payments.modulus_check import is_valid, with_check_digit

MOD_10, MOD_11, MOD_11_AND_DOUBLE_ALTERNATE = "089999", "107999", "202959"
DIGITS = "0123456789"


@pytest.mark.parametrize(
    ("sort_code", "account_number", "expected"),
    [
        ("089999", "66374958", True),
        ("107999", "88837491", True),
        ("202959", "63748472", True),
        ("203099", "66831036", False),
        ("203099", "58716970", False),
        ("089999", "66374959", False),
        ("107999", "88837493", False),
    ],
    ids=[
        "passes modulus 10",
        "passes modulus 11",
        "passes modulus 11 and double alternate",
        "passes modulus 11, fails double alternate",
        "fails modulus 11, passes double alternate",
        "fails modulus 10",
        "fails modulus 11",
    ],
)
def test_the_published_examples_of_the_modulus_check_have_the_published_results(
    sort_code: str, account_number: str, expected: bool
) -> None:
    assert is_valid(sort_code, account_number) == expected


@pytest.mark.parametrize(
    ("first", "last", "wrong"),
    [("089000", "089999", "66374959"), ("102400", "107999", "88837493"), ("202700", "203239", "12345678")],
)
def test_a_range_includes_both_ends_and_excludes_neighbouring_sort_codes(first: str, last: str, wrong: str) -> None:
    before, behind = f"{int(first) - 1:06}", f"{int(last) + 1:06}"

    assert [is_valid(code, wrong) for code in (before, first, last, behind)] == [True, False, False, True]


@pytest.mark.parametrize("sort_code", ["601613", "ABC123", "08999", "٠٨٩٩٩٩"])
def test_any_account_number_at_a_sort_code_without_weights_is_valid(sort_code: str) -> None:
    assert is_valid(sort_code, "12345678")
    assert is_valid(sort_code, "1234")


@pytest.mark.parametrize("account_number", ["", "6637495", "066374958", "6637495A", "٦٦٣٧٤٩٥٨"])
def test_a_checked_account_number_without_eight_digits_is_invalid(account_number: str) -> None:
    assert not is_valid("089999", account_number)


@pytest.mark.parametrize(
    ("account_number", "expected"),
    [("31011166", False), ("41011166", True), ("81011166", True), ("91011166", False), ("41011167", False)],
)
def test_exception_6_accepts_foreign_currency_accounts_without_a_check(account_number: str, expected: bool) -> None:
    """Exception 6 applies if the first digit is 4 to 8 and the last two digits are equal."""
    assert is_valid(MOD_11_AND_DOUBLE_ALTERNATE, account_number) == expected
    assert not is_valid(MOD_10, "41011166")


@given(st.text(DIGITS, min_size=7, max_size=7))
def test_modulus_10_has_one_check_digit_for_every_seven_digits(digits: str) -> None:
    number = with_check_digit(MOD_10, digits)

    assert number is not None
    assert [last for last in DIGITS if is_valid(MOD_10, digits + last)] == [number[-1]]


@given(st.text(DIGITS, min_size=7, max_size=7))
def test_modulus_11_has_at_most_one_check_digit_for_every_seven_digits(digits: str) -> None:
    number = with_check_digit(MOD_11, digits)

    assert number == next((digits + last for last in DIGITS if is_valid(MOD_11, digits + last)), None)


def test_modulus_11_has_no_check_digit_for_some_seven_digits() -> None:
    assert with_check_digit(MOD_11, "8883749") == "88837491"
    assert with_check_digit(MOD_11, "0000006") is None


def test_a_sort_code_without_weights_has_the_check_digit_0() -> None:
    assert with_check_digit("601613", "1234567") == "12345670"
