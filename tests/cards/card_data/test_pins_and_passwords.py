"""Tests of PINs: the rules that define simple PINs, and generated PINs."""

import secrets
from collections.abc import Iterator

import pytest

from chalicelib.cards.card_data import pins_and_passwords

SIMPLE = {
    *(digit * 4 for digit in "0123456789"),
    *("0123456789"[start : start + 4] for start in range(7)),
    *("9876543210"[start : start + 4] for start in range(7)),
}


@pytest.mark.parametrize("pin", sorted(SIMPLE))
def test_a_pin_of_one_repeated_digit_or_of_consecutive_digits_is_simple(pin: str) -> None:
    assert pins_and_passwords.is_simple(pin)


def test_only_pins_of_one_repeated_digit_or_of_consecutive_digits_are_simple() -> None:
    assert {pin for number in range(10_000) if pins_and_passwords.is_simple(pin := f"{number:04}")} == SIMPLE


def test_a_generated_pin_is_never_trivial_and_may_have_leading_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: Iterator[int] = iter([1111, 123, 4321, 7])
    monkeypatch.setattr(secrets, "randbelow", lambda limit: next(drawn))

    assert pins_and_passwords.random_pin() == "0007"


def test_new_pins_have_four_digits_and_are_different() -> None:
    made = {pins_and_passwords.random_pin() for _ in range(200)}

    assert all(len(pin) == 4 and pin.isdigit() and not pins_and_passwords.is_simple(pin) for pin in made)
    assert len(made) > 150
