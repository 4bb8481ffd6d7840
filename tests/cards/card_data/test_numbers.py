"""Tests of card numbers, which consist of the programme's BIN, unpredictable digits and a check digit."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import luhn

from chalicelib.cards.card_data import numbers

BINS = st.text("0123456789", min_size=6, max_size=8)
LENGTHS = st.integers(16, 19)


@given(BINS, LENGTHS)
def test_a_new_card_number_has_the_configured_bin_and_length_and_a_valid_check_digit(bin: str, length: int) -> None:
    pan = numbers.new_pan(bin, length)

    assert pan.startswith(bin)
    assert len(pan) == length
    assert luhn.is_valid(pan)
    assert numbers.is_valid(pan)


@given(st.text("0123456789", min_size=16, max_size=19))
def test_a_card_number_is_valid_only_with_a_correct_luhn_check_digit(pan: str) -> None:
    assert numbers.is_valid(pan) == luhn.is_valid(pan)


@given(BINS, LENGTHS, st.data())
def test_a_card_number_with_one_wrong_digit_is_invalid(bin: str, length: int, data: st.DataObject) -> None:
    pan = numbers.new_pan(bin, length)
    place = data.draw(st.integers(0, length - 1))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != pan[place]]))

    assert not numbers.is_valid(pan[:place] + other + pan[place + 1 :])


@pytest.mark.parametrize("text", ["", "4111 1111 1111 1111", "411111111111111x", "٤١١١١١١١١١١١١١١١"])
def test_text_other_than_ascii_digits_is_an_invalid_card_number(text: str) -> None:
    assert not numbers.is_valid(text)


def test_every_digit_between_the_bin_and_the_check_digit_is_random(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []

    def drawn(limit: int) -> int:
        limits.append(limit)
        return 42

    monkeypatch.setattr(secrets, "randbelow", drawn)

    assert numbers.new_pan("411111", 16)[:-1] == "411111000000042"
    assert limits == [10**9]


def test_500_new_card_numbers_have_almost_no_duplicates() -> None:
    assert len({numbers.new_pan("41111111", 16) for _ in range(500)}) > 495


@pytest.mark.parametrize(
    ("pan", "shown"), [("4111111111111111", "411111******1111"), ("4111111111111111113", "411111*********1113")]
)
def test_a_masked_number_shows_its_first_six_and_last_four_digits(pan: str, shown: str) -> None:
    assert numbers.mask(pan) == shown
