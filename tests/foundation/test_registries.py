"""Registries: the codes of ISO 4217 and ISO 3166-1."""

from __future__ import annotations

import pytest

from chalicelib.foundation.registries import countries, currencies, currency_numbers, decimals, minor_units


def test_currencies_are_those_of_iso_4217() -> None:
    assert {"EUR", "GBP", "USD", "JPY", "KWD"} <= currencies()
    assert currencies() is currencies()


def test_countries_are_those_of_iso_3166() -> None:
    assert {"DE", "GB", "LT", "US"} <= countries(2)
    assert {"DEU", "GBR", "LTU", "USA"} <= countries(3)
    assert len(countries(2)) == len(countries(3))
    assert countries(2) is countries(2)


@pytest.mark.parametrize(
    ("code", "digits"),
    [
        ("JPY", 0),
        ("ISK", 0),
        ("HUF", 2),
        ("EUR", 2),
        ("GBP", 2),
        ("KWD", 3),
        ("BHD", 3),
        ("CLF", 4),
        ("UYW", 4),
    ],
)
def test_minor_units_are_those_that_iso_publishes(code: str, digits: int) -> None:
    number = next(number for number, letters in currency_numbers().items() if letters == code)

    assert minor_units()[number] == digits
    assert minor_units() is minor_units()
    assert decimals()[code] == digits


def test_only_what_is_no_money_has_no_minor_units() -> None:
    without = {letters for number, letters in currency_numbers().items() if number not in minor_units()}

    assert {"XAU", "XAG", "XTS", "XXX", "XDR"} <= without
    assert all(letters.startswith("X") for letters in without)
    assert minor_units().keys() <= currency_numbers().keys()
