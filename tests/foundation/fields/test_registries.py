"""The registries of currency codes (ISO 4217) and country codes (ISO 3166-1)."""

import pycountry
import pytest

from chalicelib.foundation.fields.registries import countries, currencies, currency_numbers, decimals, minor_units


def test_the_accepted_currency_codes_are_the_codes_of_iso_4217() -> None:
    assert {"EUR", "GBP", "USD", "JPY", "KWD"} <= currencies()
    assert currencies() is currencies()


NO_MONEY = {"XAD", "XAG", "XAU", "XBA", "XBB", "XBC", "XBD", "XDR", "XPD", "XPT", "XSU", "XTS", "XUA", "XXX"}
"""Codes that are not currencies: metals, units of account, the code for tests, and the code for no currency."""


def test_metals_and_units_of_account_are_not_currencies() -> None:
    """The codes XTS and XXX are also excluded. The codes XAF, XCD, XCG, XOF and XPF are included."""
    assert not NO_MONEY & currencies()
    assert {code for code in currencies() if code.startswith("X")} == {"XAF", "XCD", "XCG", "XOF", "XPF"}
    assert {*currency_numbers().values()} == currencies()
    assert not {396, 959, 960, 963, 994, 999} & currency_numbers().keys()


def test_currency_codes_equal_pycountry_without_metals_and_units_of_account() -> None:
    assert currencies() == {each.alpha_3 for each in pycountry.currencies} - NO_MONEY
    assert currency_numbers().keys() == minor_units().keys()


def test_the_accepted_country_codes_are_the_codes_of_iso_3166() -> None:
    assert {"DE", "GB", "LT", "US"} <= countries(2)
    assert {"DEU", "GBR", "LTU", "USA"} <= countries(3)
    assert len(countries(2)) == len(countries(3))
    assert countries(2) is countries(2)


@pytest.mark.parametrize(
    ("code", "digits"),
    [("JPY", 0), ("ISK", 0), ("HUF", 2), ("EUR", 2), ("GBP", 2), ("KWD", 3), ("BHD", 3), ("CLF", 4), ("UYW", 4)],
)
def test_the_minor_units_of_currencies_are_the_minor_units_of_iso_4217(code: str, digits: int) -> None:
    number = next(number for number, letters in currency_numbers().items() if letters == code)

    assert minor_units()[number] == digits
    assert minor_units() is minor_units()
    assert decimals()[code] == digits
