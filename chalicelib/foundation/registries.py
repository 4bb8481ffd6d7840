"""Codes of ISO 4217 and ISO 3166-1, from pycountry, and minor units of currencies, from iso4217.

Both registries are large and few requests need them. Only the second has ISO's own table with its minor units.
"""

from __future__ import annotations

from functools import cache
from typing import Literal


@cache
def currencies() -> frozenset[str]:
    """The alphabetic codes of ISO 4217."""
    import pycountry

    return frozenset(currency.alpha_3 for currency in pycountry.currencies)


@cache
def countries(letters: Literal[2, 3]) -> frozenset[str]:
    """The codes of ISO 3166-1, alpha-2 or alpha-3."""
    import pycountry

    return frozenset(getattr(country, f"alpha_{letters}") for country in pycountry.countries)


@cache
def currency_numbers() -> dict[int, str]:
    """The numeric codes of ISO 4217 with their alphabetic ones."""
    import pycountry

    return {int(currency.numeric): currency.alpha_3 for currency in pycountry.currencies}


@cache
def minor_units() -> dict[int, int]:
    """How many decimals the currencies of ISO 4217 have, by numeric code: 2 for 978, the euro.

    What has no minor units, such as gold and the code for tests, is left out: amounts of it cannot be written down.
    """
    from iso4217 import Currency

    decimals = ((currency.number, currency.exponent) for currency in Currency)
    return {number: exponent for number, exponent in decimals if exponent is not None}


@cache
def decimals() -> dict[str, int]:
    """The same by alphabetic code: 2 for EUR."""
    from iso4217 import Currency

    return {currency.code: currency.exponent for currency in Currency if currency.exponent is not None}


@cache
def country_numbers() -> dict[int, str]:
    """The numeric codes of ISO 3166-1 with their alpha-2 ones."""
    import pycountry

    return {int(country.numeric): country.alpha_2 for country in pycountry.countries}


@cache
def country_letters() -> dict[int, str]:
    """The numeric codes of ISO 3166-1 with their alpha-3 ones."""
    import pycountry

    return {int(country.numeric): country.alpha_3 for country in pycountry.countries}
