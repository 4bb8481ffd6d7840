"""Tests that compare verification values with published examples and with the psec package."""

import psec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.cards.card_data import verification_values

pytestmark = pytest.mark.filterwarnings("ignore:.*TripleDES:cryptography.utils.CryptographyDeprecationWarning")
"""Ignore the warning that psec imports triple DES from a deprecated module."""

COUNTED = "0123456789ABCDEFFEDCBA9876543210"
CARD_VALUES = [
    (COUNTED, "4123456789012345", "8701", "101", "561"),
    (COUNTED, "1234567890123456", "9912", "220", "170"),
    ("99999999999999998888888888888888", "2222222222222222", "3333", "111", "361"),
    ("4C37C8319D76ADAB58D9431543C2165B", "4433678298261175", "0916", "101", "478"),
    ("D676DCF3AFB7350532EAF00EA253D875", "4123450990122129", "0721", "202", "241"),
]
PIN_VALUES = [
    (COUNTED, "4321000000001234", 1, "1234", "6629"),
    (COUNTED, "1122334455667788", 1, "4524", "8523"),
    (COUNTED, "1122334455667788", 2, "1912", "3244"),
    (COUNTED, "1122334455667788", 3, "4524", "4021"),
    (COUNTED, "1122334455667718", 1, "0570", "3144"),
    (COUNTED, "1122334455667708", 1, "8299", "4422"),
    ("5CA64B3C22BEC347CA7E6609904BAAED", "4564320000980369", 1, "2205", "3856"),
    ("5CA64B3C22BEC347CA7E6609904BAAED", "4564320000980369", 1, "0654", "0885"),  # the last digit was a letter
]
KEYS = st.binary(min_size=16, max_size=16)
PANS = st.text("0123456789", min_size=16, max_size=19)
PINS = st.text("0123456789", min_size=4, max_size=4)


@pytest.mark.parametrize(("key", "pan", "expiry", "service_code", "value"), CARD_VALUES)
def test_card_verification_values_match_published_examples(
    key: str, pan: str, expiry: str, service_code: str, value: str
) -> None:
    assert verification_values.card_verification_value(bytes.fromhex(key), pan, expiry, service_code) == value


@pytest.mark.parametrize(("key", "pan", "index", "pin", "value"), PIN_VALUES)
def test_pin_verification_values_match_published_examples(key: str, pan: str, index: int, pin: str, value: str) -> None:
    assert verification_values.pvv(bytes.fromhex(key), pan, pin, index) == value


@given(KEYS, PANS, st.integers(2026, 2099), st.integers(1, 12))
def test_a_cvc2_begins_with_the_digits_that_psec_computes_for_service_code_000(
    key: bytes, pan: str, year: int, month: int
) -> None:
    """If the ciphertext has too few decimal digits, the service also uses hexadecimal letters, as the card schemes
    require.

    The psec package does not use letters.
    """
    value = verification_values.cvc2(key, pan, year, month)

    expected = psec.cvv.generate_cvv(key, pan, f"{year}{month:02}"[2:], "000")
    assert value.startswith(expected)
    assert len(value) == 3
    assert value.isdigit()


@given(KEYS, PANS, PINS, st.integers(1, 6))
def test_a_pin_verification_value_agrees_with_the_value_of_the_psec_library(
    key: bytes, pan: str, pin: str, index: int
) -> None:
    assert verification_values.pvv(key, pan, pin, index) == psec.pin.generate_visa_pvv(key, str(index), pin, pan)


def test_decimalization_converts_letters_to_digits_if_there_are_too_few_decimal_digits() -> None:
    assert verification_values.decimal_digits(bytes.fromhex("abcdefabcdef1abc"), 3) == "101"
    assert verification_values.decimal_digits(bytes.fromhex("feedfacecafebabe"), 4) == "5443"


def test_cvc2s_of_different_expiry_dates_or_cards_are_different() -> None:
    key = bytes.fromhex(COUNTED)
    months = {verification_values.cvc2(key, "4123456789012345", 2026, month) for month in range(1, 13)}
    cards = {verification_values.cvc2(key, f"412345678901{number:04}", 2026, 1) for number in range(100)}

    assert len(months) > 10
    assert len(cards) > 85
