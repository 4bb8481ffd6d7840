"""Codes of ISO 4217, from iso4217, and of ISO 3166-1, from pycountry.

Both registries are large and few requests need them. A currency here is a code with minor units in ISO. Codes that are
no money have none: metals, most units of account, bond markets, XTS for tests and XXX for no currency. The Arab
Monetary Fund's unit of account has minor units and is no money either.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal

_UNIT_OF_ACCOUNT = "XAD"


@cache
def currencies() -> frozenset[str]:
    """The alphabetic codes of currencies."""
    return frozenset(currency_numbers().values())


@cache
def currency_numbers() -> dict[int, str]:
    """The numeric codes of currencies with their alphabetic ones."""
    return {number: code for number, code, _ in _currencies()}


@cache
def minor_units() -> dict[int, int]:
    """The decimals of currencies by numeric code: 2 for 978, the euro."""
    return {number: decimals for number, _, decimals in _currencies()}


@cache
def decimals() -> dict[str, int]:
    """The same by alphabetic code: 2 for EUR."""
    return {letters: minor_units()[number] for number, letters in currency_numbers().items()}


def _currencies() -> Iterator[tuple[int, str, int]]:
    """Number, letters and decimals of each currency."""
    from iso4217 import Currency

    for currency in Currency:
        if currency.exponent is not None and currency.code != _UNIT_OF_ACCOUNT:
            yield currency.number, currency.code, currency.exponent


@cache
def countries(letters: Literal[2, 3]) -> frozenset[str]:
    """The codes of ISO 3166-1, alpha-2 or alpha-3."""
    import pycountry

    return frozenset(getattr(country, f"alpha_{letters}") for country in pycountry.countries)


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
