"""ISO 4217 codes from iso4217, and ISO 3166-1 codes from pycountry.

Both registries are large and few requests need them, so they are loaded on first use. Only codes with minor units in
ISO 4217 count as currencies. This excludes metals, most units of account, bond markets, XTS (testing) and XXX (no
currency). The Arab Monetary Fund's unit of account has minor units, but is excluded too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal

_UNIT_OF_ACCOUNT = "XAD"


@cache
def currencies() -> frozenset[str]:
    """Return the alphabetic currency codes."""
    return frozenset(currency_numbers().values())


@cache
def currency_numbers() -> dict[int, str]:
    """Map numeric currency codes to alphabetic codes."""
    return {number: code for number, code, _ in _currencies()}


@cache
def minor_units() -> dict[int, int]:
    """Map numeric currency codes to decimal places, for example 978 (EUR) to 2."""
    return {number: decimals for number, _, decimals in _currencies()}


@cache
def decimals() -> dict[str, int]:
    """Map alphabetic currency codes to decimal places, for example EUR to 2."""
    return {letters: minor_units()[number] for number, letters in currency_numbers().items()}


def _currencies() -> Iterator[tuple[int, str, int]]:
    from iso4217 import Currency

    for currency in Currency:
        if currency.exponent is not None and currency.code != _UNIT_OF_ACCOUNT:
            yield currency.number, currency.code, currency.exponent


@cache
def countries(letters: Literal[2, 3]) -> frozenset[str]:
    """Return the ISO 3166-1 country codes with two or three ``letters`` (alpha-2 or alpha-3)."""
    import pycountry

    return frozenset(getattr(country, f"alpha_{letters}") for country in pycountry.countries)


@cache
def alpha_3_countries() -> dict[str, str]:
    """Map alpha-2 country codes to alpha-3 codes (ISO 3166-1)."""
    import pycountry

    return {country.alpha_2: country.alpha_3 for country in pycountry.countries}


@cache
def country_names() -> dict[str, str]:
    """Map alpha-2 country codes to English names. The common name is preferred to the official name."""
    import pycountry

    return {country.alpha_2: getattr(country, "common_name", None) or country.name for country in pycountry.countries}


@cache
def country_numbers() -> dict[int, str]:
    """Map numeric country codes to alpha-2 codes (ISO 3166-1)."""
    import pycountry

    return {int(country.numeric): country.alpha_2 for country in pycountry.countries}


@cache
def country_letters() -> dict[int, str]:
    """Map numeric country codes to alpha-3 codes (ISO 3166-1)."""
    import pycountry

    return {int(country.numeric): country.alpha_3 for country in pycountry.countries}
