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
    """Alphabetic currency codes."""
    return frozenset(currency_numbers().values())


@cache
def currency_numbers() -> dict[int, str]:
    """Alphabetic currency codes by numeric code."""
    return {number: code for number, code, _ in _currencies()}


@cache
def minor_units() -> dict[int, int]:
    """Decimal places by numeric currency code, for example 2 for 978 (EUR)."""
    return {number: decimals for number, _, decimals in _currencies()}


@cache
def decimals() -> dict[str, int]:
    """Decimal places by alphabetic currency code, for example 2 for EUR."""
    return {letters: minor_units()[number] for number, letters in currency_numbers().items()}


def _currencies() -> Iterator[tuple[int, str, int]]:
    """The numeric code, alphabetic code and decimal places of each currency."""
    from iso4217 import Currency

    for currency in Currency:
        if currency.exponent is not None and currency.code != _UNIT_OF_ACCOUNT:
            yield currency.number, currency.code, currency.exponent


@cache
def countries(letters: Literal[2, 3]) -> frozenset[str]:
    """ISO 3166-1 country codes, alpha-2 or alpha-3."""
    import pycountry

    return frozenset(getattr(country, f"alpha_{letters}") for country in pycountry.countries)


@cache
def country_names() -> dict[str, str]:
    """English names by alpha-2 country code; the common name where it differs from the official one."""
    import pycountry

    return {country.alpha_2: getattr(country, "common_name", None) or country.name for country in pycountry.countries}


@cache
def country_numbers() -> dict[int, str]:
    """Alpha-2 country codes by numeric code (ISO 3166-1)."""
    import pycountry

    return {int(country.numeric): country.alpha_2 for country in pycountry.countries}


@cache
def country_letters() -> dict[int, str]:
    """Alpha-3 country codes by numeric code (ISO 3166-1)."""
    import pycountry

    return {int(country.numeric): country.alpha_3 for country in pycountry.countries}
